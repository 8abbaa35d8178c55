/**
 * Estimates how lively a chat is, from the new messages of the last minute and from the distance of a page's
 * messages. A room uses it to estimate how many messages it has missed in a short unread time.
 */
import type { Item } from "../upstream/readers/reader.ts";
import { isSaid } from "./batch/gap.ts";

const MINUTE_MS = 60_000;
/** A rate over a shorter time is noise. */
const MIN_OBSERVED_MS = 1000;

export class RecentRate {
  readonly #beganAt: number;
  #answers: { at: number; added: number }[] = [];

  /** `hasAnswer`: whether an answer was just read; otherwise the rate is unknown until one comes. */
  constructor(hasAnswer: boolean, now: number) {
    this.#beganAt = now;
    if (hasAnswer) this.observe(0, now);
  }

  /** An answer brought `added` new messages. */
  observe(added: number, now: number): void {
    this.#answers = this.#answers.filter(({ at }) => now - at < MINUTE_MS);
    this.#answers.push({ at: now, added });
  }

  /** Expected messages in the `ms` before the page; infinite without an answer for a minute. */
  expectedIn(ms: number, now: number, page: readonly Item[]): number {
    const recent = this.#answers.filter(({ at }) => now - at < MINUTE_MS);
    if (recent.length === 0) return Number.POSITIVE_INFINITY;
    const added = recent.reduce((sum, answer) => sum + answer.added, 0);
    const observedMs = Math.min(MINUTE_MS, Math.max(MIN_OBSERVED_MS, now - this.#beganAt));
    return ms * Math.max(added / observedMs, perMs(page));
  }
}

/** Messages per millisecond on a page, from its first to its last chat message. */
function perMs(page: readonly Item[]): number {
  const times = page
    .filter(isSaid)
    .flatMap(({ message }) => Date.parse(message.details.publishedAt ?? "") || []);
  const spanMs = Math.max(...times) - Math.min(...times);
  return times.length < 2 ? 0 : (times.length - 1) / Math.max(MIN_OBSERVED_MS, spanMs);
}
