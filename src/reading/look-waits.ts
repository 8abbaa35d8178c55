/**
 * The waits between two looks whether a chat that is off or hidden is back. After an hour they grow, unless
 * somebody watches: a recording waits for as long as it takes.
 */
import type { Clock } from "../base/clock.ts";

export interface LookSettings {
  /** The interval of looks, in milliseconds. */
  lookMs: number;
}

/** How long looks keep their interval; then each wait is longer than the last one, up to a maximum. */
const STEADY_MS = 3_600_000;
const GROWTH = 1.5;
const MAX_MS = 600_000;

export class LookWaits {
  readonly #lookMs: number;
  readonly #clock: Clock;
  readonly #steadyUntil: number;
  #waitMs: number;

  constructor({ lookMs }: LookSettings, clock: Clock) {
    this.#lookMs = lookMs;
    this.#clock = clock;
    this.#steadyUntil = clock.monotonic() + STEADY_MS;
    this.#waitMs = lookMs;
  }

  /** The wait until the next look, in milliseconds. */
  next(isWatched: boolean): number {
    if (isWatched || this.#clock.monotonic() < this.#steadyUntil) this.#waitMs = this.#lookMs;
    else this.#waitMs = Math.max(this.#lookMs, Math.min(MAX_MS, this.#waitMs * GROWTH));
    return this.#waitMs;
  }
}
