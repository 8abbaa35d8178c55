/**
 * How lively a chat is: by the new messages of the last minute, and by how close together a page's messages were said. So
 * a room can tell how many messages it is likely to have missed in a short time that it did not read.
 */
import type { Item } from "../upstream/readers/reader.ts";
import { isSaid } from "./log/gap.ts";

const MINUTE_MS = 60_000;
/** A rate of a shorter time is noise. */
const MIN_OBSERVED_MS = 1000;

export class RecentRate {
  readonly #beganAt: number;
  #answers: { at: number; added: number }[] = [];
  #isKnown: boolean;

  /** `isKnown`: whether an answer was just read; else nothing is known of the chat until one comes. */
  constructor(isKnown: boolean, now: number) {
    this.#isKnown = isKnown;
    this.#beganAt = now;
  }

  /** An answer brought so many new messages. */
  observe(added: number, now: number): void {
    this.#isKnown = true;
    this.#answers = this.#answers.filter(({ at }) => now - at < MINUTE_MS);
    this.#answers.push({ at: now, added });
  }

  /** How many messages the `ms` before the page are expected to have had; infinite where nothing is known. */
  expectedIn(ms: number, now: number, page: readonly Item[]): number {
    if (!this.#isKnown) return Number.POSITIVE_INFINITY;
    const recent = this.#answers.filter(({ at }) => now - at < MINUTE_MS);
    const added = recent.reduce((sum, answer) => sum + answer.added, 0);
    const observedMs = Math.min(MINUTE_MS, Math.max(MIN_OBSERVED_MS, now - this.#beganAt));
    return ms * Math.max(added / observedMs, perMs(page));
  }
}

/** How many messages a millisecond a page shows, from the first to the last of them that were said. */
function perMs(page: readonly Item[]): number {
  const times = page
    .filter(isSaid)
    .flatMap(({ message }) => Date.parse(message.details.publishedAt ?? "") || []);
  const spanMs = Math.max(...times) - Math.min(...times);
  return times.length < 2 ? 0 : (times.length - 1) / Math.max(1, spanMs);
}
