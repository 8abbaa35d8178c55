/**
 * Notices when the time between two answers (a restart, a cooldown, an outage, a computer that slept) is long
 * enough for messages to be in neither, and permits one page a minute to complete such an answer. The
 * upstream keeps the last seconds of a live chat; its page shows the newest messages, regardless of their
 * age. One of the reasons for a gap; `gap.ts` lists them all.
 */
import { answeredNow, type CallTimes, type Clock, startedNow } from "../base/clock.ts";
import { TOLERANCE } from "../upstream/egress/chat-load.ts";

/** A page costs a call: a room that is late because there are too few calls must not keep asking for more. */
const PAGE_INTERVAL_MS = 60_000;

/**
 * The longest time that may be unread between two answers, in milliseconds. An answer shows the chat at
 * some moment between its call and its arrival: at worst, `earlier` at its call and `later` at its arrival.
 */
export function unreadBetween(earlier: CallTimes, later: CallTimes): number {
  return Math.max(
    later.answeredAt - earlier.startedAt,
    later.answeredUptime - earlier.startedUptime, // includes sleep of the computer
  );
}

interface UnreadSpan {
  ms: number;
  /** Wall time of the last good answer before it, in milliseconds since 1970. */
  sinceMs: number;
}

export class UnreadTime {
  readonly #windowMs: number;
  readonly #clock: Clock;
  #last: CallTimes;
  #pageAskedAt = Number.NEGATIVE_INFINITY;

  /** `last`: the times of the answer from which reading continues. */
  constructor(windowMs: number, clock: Clock, last: CallTimes) {
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#last = last;
  }

  /** The times of the last good answer, or of a page that counts as one. */
  get last(): CallTimes {
    return this.#last;
  }

  /** The chat was read: later answers are measured from this one. */
  answered(answer: CallTimes): void {
    this.#last = answer;
  }

  /**
   * The unread time before an answer if messages may be missing in it, else undefined. `intervalMs`: the
   * interval of the polls if calls are fast.
   */
  lateBy(answer: CallTimes, intervalMs: number): UnreadSpan | undefined {
    const last = this.#last;
    const ms = unreadBetween(last, answer);
    return ms > this.#tolerated(intervalMs) ? { ms, sinceMs: last.wallAt } : undefined;
  }

  /**
   * Whether an answer that came now would be late behind this one. `intervalMs`: the interval of the polls,
   * if there are any.
   */
  isLate(intervalMs = 0, last = this.#last): boolean {
    const now = answeredNow(startedNow(this.#clock), this.#clock);
    return unreadBetween(last, now) > this.#tolerated(intervalMs);
  }

  #tolerated(intervalMs: number): number {
    return Math.max(this.#windowMs, intervalMs + TOLERANCE * this.#windowMs);
  }

  /** Permits a page now, unless it permitted one within the last minute. */
  permitPage(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#pageAskedAt < PAGE_INTERVAL_MS) return false;
    this.#pageAskedAt = now;
    return true;
  }
}
