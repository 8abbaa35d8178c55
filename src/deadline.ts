/** A limit on how long something may take, on the clock that was handed in; `using` ends it with its scope. */
import type { Clock } from "./clock.ts";

export class Deadline implements Disposable {
  readonly #passed = new AbortController();
  readonly #disposed = new AbortController();

  constructor(clock: Clock, ms: number) {
    clock.sleep(ms, this.#disposed.signal).then(
      () => this.#passed.abort(new Error(`not done within ${ms} ms`)),
      () => {},
    );
  }

  /** Aborts once the time is over. */
  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  [Symbol.dispose](): void {
    this.#disposed.abort();
  }
}
