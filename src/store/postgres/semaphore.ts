/**
 * How many statements run at a time, the others waiting in order. A pool's own queue will not do: what waits there
 * when the pool is given up is forgotten until its time is over, and keeps nothing alive meanwhile.
 */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs it once there is room. Rejects as it does, and with the signal's reason where that aborts before it runs. */
  async run<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      return await act();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#free += 1;
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const take = () => {
      this.#waiting.delete(take);
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = () => {
      this.#waiting.delete(take);
      reject(signal.reason);
    };
    this.#waiting.add(take);
    signal.addEventListener("abort", leave, { once: true });
    await promise;
  }
}
