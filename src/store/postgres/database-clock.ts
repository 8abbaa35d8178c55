/**
 * The database's clock, as far as this instance knows it. A statement can arrive seconds after it was written
 * (a frozen process, a silent line), so what it stores as a time must be the time at which it was written.
 */
import type { Clock } from "../../base/clock.ts";

export class DatabaseClock {
  readonly #clock: Clock;
  #heard: { time: number; at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An answer has just come, with the database's time in wall milliseconds. */
  hear(time: number): void {
    this.#heard = { time, at: this.#clock.uptime() };
  }

  /**
   * The database's time now, in wall milliseconds, or earlier by as much as the answer took to come. Null
   * before the first answer.
   */
  now(): number | null {
    return this.#heard ? this.#heard.time + this.#clock.uptime() - this.#heard.at : null;
  }
}
