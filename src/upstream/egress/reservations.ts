/** The pace of an address that several instances share, as the gate of one of them uses it. */
import type { Clock } from "../../clock.ts";
import type { Reservation, SharedPace } from "../../shared-pace.ts";

/** One reservation at a time: for the call that would start now if this instance had the address to itself. */
export class Reservations {
  readonly #pace: SharedPace;
  readonly #clock: Clock;
  readonly #onReserved: (reservation: Reservation | undefined) => void;
  #startAt: number | undefined;
  #isAsking = false;

  /** `onReserved` is called when the time of the next call is known; undefined where the place cannot be reached. */
  constructor(pace: SharedPace, clock: Clock, onReserved: (reservation: Reservation | undefined) => void) {
    this.#pace = pace;
    this.#clock = clock;
    this.#onReserved = onReserved;
  }

  /** When the next call may start, on the monotonic clock; undefined until `onReserved` is called. */
  next(spacingMs: number, pollsPerSecond: number): number | undefined {
    const now = this.#clock.monotonic();
    // The time after it may be another instance's.
    const lateMs = this.#startAt === undefined ? 0 : now - this.#startAt;
    if (lateMs > Math.max(1, spacingMs / 2)) this.#startAt = undefined;
    if (this.#startAt === undefined && !this.#isAsking) void this.#ask(spacingMs, pollsPerSecond);
    return this.#startAt;
  }

  /** The call has started. */
  taken(): void {
    this.#startAt = undefined;
  }

  async #ask(spacingMs: number, pollsPerSecond: number): Promise<void> {
    this.#isAsking = true;
    // Without the place every instance keeps the spacing by itself.
    const reservation = await this.#pace.reserve(spacingMs, pollsPerSecond).catch(() => undefined);
    this.#isAsking = false;
    this.#startAt = this.#clock.monotonic() + (reservation?.waitMs ?? 0);
    this.#onReserved(reservation);
  }
}
