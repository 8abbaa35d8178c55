/**
 * Notices when so much time lies between two answers (a restart, a cooldown, an outage, a computer that slept) that
 * something said between them may be in neither: the upstream holds the last seconds of a live chat, its page the
 * newest messages whatever their age.
 */
import type { CallTimes, Clock } from "../clock.ts";

/** How long the upstream holds what was said in a live chat, in milliseconds. */
export const WINDOW_MS = 10_000;
/** Tolerated overrun of a slow interval, as a fraction of the window. */
const TOLERANCE = 0.05;
/** A page costs a call: a room that is late for want of calls must not ask for more of them each time. */
const PAGE_INTERVAL_MS = 60_000;

/** How long nothing was read between two answers, in milliseconds: each shows what was said before its call or its coming. */
export function unreadBetween(earlier: CallTimes, later: CallTimes): number {
  return Math.max(
    later.startedAt - earlier.startedAt,
    later.answeredAt - earlier.answeredAt,
    later.uptimeAt - earlier.uptimeAt,
  );
}

export interface UnreadSpan {
  ms: number;
  /** Wall time of the last good answer before it, in milliseconds since 1970. */
  sinceMs: number;
}

export class Lateness {
  readonly #windowMs: number;
  readonly #clock: Clock;
  #last: CallTimes;
  #pageAskedAt = Number.NEGATIVE_INFINITY;

  /** `last`: of the answer that the reading goes on from. */
  constructor(windowMs: number, clock: Clock, last: CallTimes) {
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#last = last;
  }

  /** Of the last good answer. */
  get last(): CallTimes {
    return this.#last;
  }

  /** An answer came. The time before it in which nothing was read, if messages may have been missed in it; else undefined. */
  observe(answer: CallTimes, intervalMs: number): UnreadSpan | undefined {
    const last = this.#last;
    this.#last = answer;
    const ms = unreadBetween(last, answer);
    const tolerated = Math.max(this.#windowMs, intervalMs + TOLERANCE * this.#windowMs);
    return ms > tolerated ? { ms, sinceMs: last.wallAt } : undefined;
  }

  /** Whether the page may be asked for now; a permit is used up. */
  mayAskForPage(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#pageAskedAt < PAGE_INTERVAL_MS) return false;
    this.#pageAskedAt = now;
    return true;
  }
}
