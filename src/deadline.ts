/** Limits on how long something may take: on the clock that was handed in (`using` ends it with its scope), or by a signal. */
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
    this.#disposed.abort("done"); // without a reason one would be made, with a stack
  }
}

/** The promise's outcome, or the signal's reason if that comes first; the promise itself goes on. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
