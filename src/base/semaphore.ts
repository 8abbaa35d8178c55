/** Limits concurrent work; further work waits in order. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs `act` when there is capacity. Settles as `act` does; rejects with the signal's reason if that aborts
   * before it runs.
   */
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
