/**
 * The pace of an address that several instances share, as the gate of one of them uses it. A time that is reserved
 * holds for as long as the instance is usually late; one that has passed, as its answer came too late or the instance
 * was busy, is given up, because the time after it is another's, and another one is reserved.
 */
import type { Clock } from "../../clock.ts";
import type { Reservation, SharedPace } from "../../shared-pace.ts";
import { PlaceClock } from "./place-clock.ts";

/** How late an instance may be: what timers are, at least. Whoever was later than the most had no call to start. */
const LATE_MS = { least: 3, most: 200 };
/** What is left of it after each call that was in time. */
const CALMING = 0.9;

/** One reservation at a time: for the call that would start now if this instance had the address to itself. */
export class Reservations {
  readonly #pace: SharedPace;
  readonly #clock: Clock;
  readonly #onReserved: (reservation: Reservation | undefined) => void;
  readonly #placeClock = new PlaceClock();
  #startAt: number | undefined;
  #isAsking = false;
  /** How late a call may start: the spacing that is reserved is longer by it. */
  #lateMs = LATE_MS.least;

  /** `onReserved` is called when the place has answered; with undefined where it cannot be reached. */
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
      if (lateMs < LATE_MS.most) this.#lateMs = 2 * lateMs;
    }
    if (this.#startAt === undefined && !this.#isAsking) void this.#ask(spacingMs, pollsPerSecond);
    return this.#startAt;
  }

  /** The call has started. */
  taken(): void {
    this.#startAt = undefined;
    this.#lateMs = Math.max(LATE_MS.least, CALMING * this.#lateMs);
  }

  async #ask(spacingMs: number, pollsPerSecond: number): Promise<void> {
    this.#isAsking = true;
    const sentAt = this.#clock.monotonic();
    const wish = {
      spacingMs: spacingMs + this.#lateMs,
      aheadMs: this.#placeClock.tripMs / 2 + this.#lateMs, // else it has passed when the answer comes
      pollsPerSecond,
    };
    const reservation = await this.#pace.reserve(wish).catch(() => undefined);
    this.#isAsking = false;
    const now = this.#clock.monotonic();
    // Without the place every instance keeps the spacing by itself.
    if (!reservation) this.#startAt = now;
    else if (this.#placeClock.heard(reservation.now, sentAt, now))
      this.#startAt = this.#placeClock.whenItShows(reservation.startAt);
    this.#onReserved(reservation);
  }
}
