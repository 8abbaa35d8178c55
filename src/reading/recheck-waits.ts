/**
 * The waits between two checks whether a chat that is off or hidden is back. After an hour they grow, unless
 * somebody watches: a recording waits for as long as it takes.
 */
import type { Clock } from "../base/clock.ts";

export interface RecheckSettings {
  /** The interval of checks, in milliseconds. */
  recheckMs: number;
}

const STEADY_MS = 3_600_000;
const GROWTH = 1.5;
const MAX_MS = 600_000;

export class RecheckWaits {
  readonly #recheckMs: number;
  readonly #clock: Clock;
  readonly #steadyUntil: number;
  #waitMs: number;

  constructor({ recheckMs }: RecheckSettings, clock: Clock) {
    this.#recheckMs = recheckMs;
    this.#clock = clock;
    this.#steadyUntil = clock.monotonic() + STEADY_MS;
    this.#waitMs = recheckMs;
  }

  /** The wait until the next check, in milliseconds. */
  next(isWatched: boolean): number {
    if (isWatched || this.#clock.monotonic() < this.#steadyUntil) this.#waitMs = this.#recheckMs;
    else this.#waitMs = Math.max(this.#recheckMs, Math.min(MAX_MS, this.#waitMs * GROWTH));
    return this.#waitMs;
  }
}
