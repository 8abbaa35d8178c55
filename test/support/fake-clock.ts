/** The clock of a computer that a test owns: time moves only by `advance`. */

import { Random } from "../../simulator/random.ts";
import { MortalClock, Scheduler } from "../harness/scheduler.ts";

export class FakeClock extends MortalClock {
  readonly #scheduler: Scheduler;
  #setBackMs = 0;
  /** What `random` gives. */
  chance = 0.5;

  constructor() {
    const scheduler = new Scheduler(new Random(1, "time"));
    super(scheduler);
    this.#scheduler = scheduler;
  }

  override monotonic(): number {
    return super.monotonic() - this.#setBackMs;
  }

  override random(): number {
    return this.chance;
  }

  /** Sets the wall clock forward, or back. */
  jump(ms: number): void {
    this.aheadMs += ms;
  }

  /** The computer sleeps: the wall clock and the uptime continue, the monotonic clock does not. */
  fallAsleep(ms: number): void {
    this.sleptMs += ms;
  }

  /** Sets the monotonic clock back, as only a fault of the machine does. */
  setBack(ms: number): void {
    this.#setBackMs += ms;
  }

  /** Moves time on, stopping at each timer on the way until all it set off has settled. */
  advance(ms: number): Promise<void> {
    return this.#scheduler.advance(ms);
  }
}
