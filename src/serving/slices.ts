/** Long work on the event loop, in slices with pauses in which everything else runs. */
import type { Clock } from "../base/clock.ts";

/** Maximum time between two pauses, in milliseconds, and the number of items between two checks of it. */
const SLICE_MS = 10;
const ITEMS = 8;

/** A time budget that several pieces of work share: between two pauses, they take one slice together. */
export class Slices {
  readonly #clock: Clock;
  /** The time that the work has taken since the last pause. */
  #spentMs = 0;
  #pause: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `act` for each item. Items may be added and removed meanwhile. */
  async each<T>(items: Iterable<T>, act: (item: T) => void): Promise<void> {
    while (this.#spentMs >= SLICE_MS) await this.#rest();
    let since = this.#clock.monotonic();
    let done = 0;
    for (const item of items) {
      act(item);
      done += 1;
      if (done % ITEMS !== 0) continue;
      this.#spentMs += this.#clock.monotonic() - since;
      while (this.#spentMs >= SLICE_MS) await this.#rest();
      since = this.#clock.monotonic();
    }
    this.#spentMs += this.#clock.monotonic() - since;
  }

  #rest(): Promise<void> {
    this.#pause ??= this.#clock.sleep(0).then(() => {
      this.#spentMs = 0;
      this.#pause = undefined;
    });
    return this.#pause;
  }
}

/** Calls `act` for each item, with pauses of its own. */
export function inSlices<T>(items: Iterable<T>, clock: Clock, act: (item: T) => void): Promise<void> {
  return new Slices(clock).each(items, act);
}
