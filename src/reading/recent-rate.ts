/**
 * Estimates how lively a chat is, from the messages of the last minute, including those that its opening
 * showed, and from the distance of a page's messages. A room uses it to estimate how many messages it has
 * missed in a short unread time.
 */
import type { CallTimes } from "../base/clock.ts";
import type { PollAnswer } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { isChatInPlace } from "./gap.ts";
import { timesOf } from "./interval-rules.ts";

const MINUTE_MS = 60_000;
/** A rate over a shorter time is noise. */
const MIN_OBSERVED_MS = 1000;

/** The minimum number of messages of an opening for a rate: fewer, said within a second, are noise. */
const MIN_SHOWN = 5;

/** What the page of an opening and its answer show, and when the upstream sent the answer. */
export type Shown = Pick<PollAnswer, "items" | "sentAt">;

export class RecentRate {
  readonly #beganAt: number;
  /**
   * The answers of the last minute, oldest first, and the sum of their new messages. Each message of the
   * opening counts as an answer that came when it was said.
   */
  readonly #answers: { at: number; added: number }[] = [];
  #added = 0;

  /**
   * `saidAt`: when the messages of the opening that has just ended were said, on the monotonic clock. They
   * give a rate, all but the first one by the time since that, if there are at least `MIN_SHOWN`. Undefined
   * if the chat was not just opened: the rate is unknown until an answer comes.
   */
  constructor(now: number, saidAt: readonly number[] | undefined) {
    const shown = saidAt && saidAt.length >= MIN_SHOWN ? saidAt.toSorted((one, other) => one - other) : [];
    const [first = now, ...later] = shown;
    this.#beganAt = first;
    for (const at of later) this.observe(1, at);
    if (saidAt) this.observe(0, now);
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

/**
 * When the chat messages of an opening were said, on the monotonic clock. Their age is that by the upstream's
 * clock, because the local wall clock may be wrong.
 */
export function openingTimes({ items, sentAt }: Shown, { answeredAt }: CallTimes): number[] {
  return timesOf(items.filter(isChatInPlace)).map((time) => answeredAt - Math.max(0, sentAt - time));
}

/** Messages per millisecond on a page, from its first to its last chat message. */
function perMs(page: readonly Item[]): number {
  const times = timesOf(page.filter(isChatInPlace));
  const spanMs = Math.max(...times) - Math.min(...times);
  return times.length < 2 ? 0 : (times.length - 1) / Math.max(MIN_OBSERVED_MS, spanMs);
}
