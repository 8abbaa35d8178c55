/**
 * Time limits: a `Deadline` on the given clock, which `using` ends with its scope, and a wait for a promise
 * that a signal ends.
 */
import { after, type Clock } from "./clock.ts";

/**
 * A timer that fires this late shows that the process was frozen. Timers fire before the network is read, so
 * what the deadline limits may have come meanwhile.
 */
const FROZEN_MS = 100;
/** The time to read it. */
const GRACE_MS = 1000;

export class Deadline implements Disposable {
  readonly #passed = new AbortController();
  readonly #disposed = new AbortController();

  constructor(clock: Clock, ms: number) {
    const end = () => this.#passed.abort(new Error(`not done within ${ms} ms`));
    const dueAt = clock.monotonic() + ms;
    after(clock, ms, this.#disposed.signal, () => {
      if (clock.monotonic() - dueAt < FROZEN_MS) end();
      else after(clock, GRACE_MS, this.#disposed.signal, end);
    });
  }

  /** Aborts when the time is over. */
  get signal(): AbortSignal {
    return this.#passed.signal;
  }

  /**
   * The deadline's signal, which from now on also aborts with `signal`. Nothing removes the listener from
   * `signal`, so it must not outlive the deadline. `AbortSignal.any` would cost twice as much as all the rest
   * of a call's limit.
   */
  or(signal: AbortSignal): AbortSignal {
    const end = () => this.#passed.abort(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    return this.signal;
  }

  [Symbol.dispose](): void {
    this.#disposed.abort("done"); // without a reason, `abort` creates an error with a stack
  }
}

/**
 * Settles as the promise does, or rejects with the signal's reason if that comes first. The promise
 * continues.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
