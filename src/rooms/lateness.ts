/**
 * Notices when so much time lies between two answers (a restart, a cooldown, an outage, a computer that slept) that
 * something said between them may be in neither: the upstream holds the last seconds of a live chat, its page the
 * newest messages whatever their age.
 */
import { type CallTimes, type Clock, wallTimeOf } from "../clock.ts";

/** How long the upstream holds what was said in a live chat, in milliseconds. */
export const WINDOW_MS = 10_000;
/** What a slow interval may be exceeded by, as a part of the window. */
const TOLERANCE = 0.05;
/** A page costs a call: a room that is late for want of calls must not ask for more of them each time. */
const PAGE_INTERVAL_MS = 60_000;

/** How long nothing was read between two answers, in milliseconds: each shows what was said before its call or its coming. */
export function silenceBetween(earlier: CallTimes, later: CallTimes): number {
  return Math.max(later.startedAt - earlier.startedAt, later.answeredAt - earlier.answeredAt);
}

export interface LongSilence {
  ms: number;
  /** Wall time of the last good answer before it, in milliseconds since 1970. */
  sinceMs: number;
}

export class Lateness {
  readonly #windowMs: number;
  readonly #clock: Clock;
  /** Of the last good answer, and the wall time at which it came. */
  #last: CallTimes & { wallAt: number };
  #pageAskedAt = Number.NEGATIVE_INFINITY;

  /** The times are those of the answer that the reading goes on from. */
  constructor(windowMs: number, clock: Clock, { startedAt, answeredAt }: CallTimes) {
    this.#windowMs = windowMs;
    this.#clock = clock;
    const wallAt = wallTimeOf(answeredAt, clock);
    this.#last = { startedAt, answeredAt, wallAt };
  }

  /** The last good answer's times, and the wall time at which it came, in milliseconds since 1970. */
  get last(): CallTimes & { wallAt: number } {
    return this.#last;
  }

  /**
   * An answer came, whose call went out at `startedAt`. The silence before it, where something may have been missed in
   * it; else undefined. The wall clock counts too: the other one stands still while a computer sleeps.
   */
  observe(startedAt: number, intervalMs: number): LongSilence | undefined {
    const last = this.#last;
    this.#last = { startedAt, answeredAt: this.#clock.monotonic(), wallAt: this.#clock.now() };
    const ms = Math.max(silenceBetween(last, this.#last), this.#last.wallAt - last.wallAt);
    const tolerated = Math.max(this.#windowMs, intervalMs + TOLERANCE * this.#windowMs);
    return ms > tolerated ? { ms, sinceMs: last.wallAt } : undefined;
  }

  /** Whether the page may be asked for now; whoever is allowed asks. */
  takePage(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#pageAskedAt < PAGE_INTERVAL_MS) return false;
    this.#pageAskedAt = now;
    return true;
  }
}
