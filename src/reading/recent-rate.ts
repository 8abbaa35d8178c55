/**
 * Estimates how lively a chat is, from the new messages of the last minute and from the distance of a page's
 * messages. A room uses it to estimate how many messages it has missed in a short unread time.
 */
import type { Item } from "../upstream/readers/reader.ts";
import { isChatInPlace } from "./gap.ts";

const MINUTE_MS = 60_000;
/** A rate over a shorter time is noise. */
const MIN_OBSERVED_MS = 1000;

export class RecentRate {
  readonly #beganAt: number;
  /** The answers of the last minute, oldest first, and the sum of their new messages. */
  readonly #answers: { at: number; added: number }[] = [];
  #added = 0;

  /** `hasAnswer`: whether an answer was just read; otherwise the rate is unknown until one comes. */
  constructor(hasAnswer: boolean, now: number) {
    this.#beganAt = now;
    if (hasAnswer) this.observe(0, now);
  }

  /** An answer brought `added` new messages. */
  observe(added: number, now: number): void {
    this.#forgetBefore(now - MINUTE_MS);
    this.#answers.push({ at: now, added });
    this.#added += added;
  }

  /** Expected messages in the `ms` before the page; infinite without an answer for a minute. */
  expectedIn(ms: number, now: number, page: readonly Item[]): number {
    this.#forgetBefore(now - MINUTE_MS);
    if (this.#answers.length === 0) return Number.POSITIVE_INFINITY;
    const observedMs = Math.min(MINUTE_MS, Math.max(MIN_OBSERVED_MS, now - this.#beganAt));
    return ms * Math.max(this.#added / observedMs, perMs(page));
  }

  #forgetBefore(time: number): void {
    for (let oldest = this.#answers[0]; oldest && oldest.at <= time; oldest = this.#answers[0]) {
      this.#answers.shift();
      this.#added -= oldest.added;
    }
  }
}

/** Messages per millisecond on a page, from its first to its last chat message. */
function perMs(page: readonly Item[]): number {
  const times = page
    .filter(isChatInPlace)
    .flatMap(({ message }) => Date.parse(message.details.publishedAt ?? "") || []);
  const spanMs = Math.max(...times) - Math.min(...times);
  return times.length < 2 ? 0 : (times.length - 1) / Math.max(MIN_OBSERVED_MS, spanMs);
}
