/**
 * How many statements run at a time, the others waiting their turn. A pool's own queue will not do: what waits there
 * when the pool is given up is forgotten until its time is over, and keeps nothing alive meanwhile.
 */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";

export class Turns {
  readonly #clock: Clock;
  readonly #limitMs: number;
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** `limitMs`: how long a turn may be waited for. */
  constructor(count: number, limitMs: number, clock: Clock) {
    this.#free = count;
    this.#limitMs = limitMs;
    this.#clock = clock;
  }

  /** Runs it once there is a turn. Rejects as it does, and with an error where that takes too long. */
  async run<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn();
    try {
      return await act();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#free += 1;
    }
  }

  async #turn(): Promise<void> {
    using limit = new Deadline(this.#clock, this.#limitMs);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const take = () => {
      this.#waiting.delete(take);
      resolve();
    };
    this.#waiting.add(take);
    limit.signal.addEventListener("abort", () => {
      if (this.#waiting.delete(take)) reject(new Error("all connections are busy"));
    });
    await promise;
  }
}
