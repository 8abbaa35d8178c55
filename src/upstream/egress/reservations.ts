/**
 * Reserves the times of calls on an egress that several instances share. A reserved time remains valid for
 * the instance's usual lateness. If it is missed (the answer was late, or the instance was busy), a new one
 * is reserved, because the time after it is another instance's. No instance can call while a reserved time is
 * valid, so the lateness shrinks soon. Test: "is left to all once an instance that was blocked for six
 * seconds is in time again".
 */
import type { Clock } from "../../base/clock.ts";
import type { Reservation, SharedPace } from "../../base/shared-pace.ts";
import { ClockOffset } from "./clock-offset.ts";

/**
 * Bounds of an instance's lateness. Timers are at least `min` late. An instance that is once later than `max`
 * had no call to start; one that is so again and again is busy, and counts as late by up to `busiest`.
 */
const LATE_MS = { min: 3, max: 200, busiest: 1000 };
/** Factor by which the lateness shrinks after each call, at most to twice that of the call. */
const CALMING = 0.5;

/** One reservation at a time: for the call that would start now if this instance had the egress to itself. */
export class Reservations {
  readonly #pace: SharedPace;
  readonly #clock: Clock;
  readonly #onReserved: (reservation: Reservation | undefined) => void;
  readonly #clockOffset = new ClockOffset();
  #startAt: number | undefined;
  #isAsking = false;
  /** How late a call may start. The reserved spacing is longer by this. */
  #lateMs = LATE_MS.min;
  /** How many reserved times were missed since a call last started. */
  #missed = 0;

  /** `onReserved` is called with the answer of `pace`, or with undefined if there is none. */
  constructor(pace: SharedPace, clock: Clock, onReserved: (reservation: Reservation | undefined) => void) {
    this.#pace = pace;
    this.#clock = clock;
    this.#onReserved = onReserved;
  }

  /** When the next call may start, on the monotonic clock; undefined until `onReserved` is called. */
  next(spacingMs: number, pollsPerSecond: number): number | undefined {
    const lateMs = this.#clock.monotonic() - (this.#startAt ?? Number.POSITIVE_INFINITY);
    if (lateMs > this.#lateMs) {
      this.#startAt = undefined;
      this.#missed += 1;
      if (lateMs < LATE_MS.max || this.#missed > 1) this.#lateMs = 2 * Math.min(lateMs, LATE_MS.busiest);
    }
    if (this.#startAt === undefined && !this.#isAsking) void this.#ask(spacingMs, pollsPerSecond);
    return this.#startAt;
  }

  /** The call has started. */
  taken(): void {
    const lateMs = this.#clock.monotonic() - (this.#startAt ?? Number.POSITIVE_INFINITY);
    this.#startAt = undefined;
    this.#missed = 0;
    this.#lateMs = Math.max(LATE_MS.min, CALMING * this.#lateMs, 2 * lateMs);
  }

  async #ask(spacingMs: number, pollsPerSecond: number): Promise<void> {
    this.#isAsking = true;
    const sentAt = this.#clock.monotonic();
    const request = {
      spacingMs: spacingMs + this.#lateMs,
      // So that it is not past at the answer. A later answer counts as lateness.
      aheadMs: this.#clockOffset.roundTripMs / 2 + LATE_MS.min,
      pollsPerSecond,
    };
    const reservation = await this.#pace.reserve(request).catch(() => undefined);
    this.#isAsking = false;
    const now = this.#clock.monotonic();
    // Without the database, each instance keeps the spacing by itself.
    if (!reservation) this.#startAt = now;
    else if (this.#clockOffset.observe(reservation.now, sentAt, now))
      this.#startAt = this.#clockOffset.localTimeOf(reservation.startAt);
    this.#onReserved(reservation);
  }
}
