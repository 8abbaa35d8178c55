/** Waits that a signal ends, and how long to wait before the next try. No timer or listener outlives its wait. */
import { type ChatError, isFinal } from "./error.ts";
import type { RetryOptions } from "./types.ts";

/** The longest that a timer can be set to. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const DEFAULT_BASE_MS = 3000;
const DEFAULT_MAX_MS = 30_000;

/** Settles as the work does, or rejects with the signal's reason as soon as that aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Calls back after `ms`, however long that is, unless the returned function is called first. */
export function after(ms: number, callback: () => void): () => void {
  const next = Math.min(ms, MAX_TIMER_MS);
  let cancel = () => clearTimeout(timer);
  const timer = setTimeout(() => {
    if (next < ms) cancel = after(ms - next, callback);
    else callback();
  }, next);
  return () => cancel();
}

export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let cancel = () => {};
  const slept = new Promise<void>((resolve) => {
    cancel = after(ms, resolve);
  });
  await unlessAborted(slept, signal).finally(cancel);
}

/** Decides after each failure in a row whether and when to try again. */
export class Retries {
  readonly #options: RetryOptions;
  readonly #maxFailures: number;
  #failures = 0;

  /** The last of `maxFailures` in a row is final. */
  constructor(options: RetryOptions, maxFailures = Number.POSITIVE_INFINITY) {
    this.#options = options;
    this.#maxFailures = maxFailures;
  }

  succeed(): void {
    this.#failures = 0;
  }

  /** How long to wait in milliseconds; undefined to give up. */
  fail(error: ChatError, baseMs = DEFAULT_BASE_MS): number | undefined {
    const { backoff = {}, retry } = this.#options;
    const attempt = this.#failures++;
    const answer = retry?.(error, attempt);
    if (answer === false) return undefined;
    let waitMs = answer ?? Number.NaN;
    if (!(waitMs >= 0)) {
      if (isFinal(error) || this.#failures >= this.#maxFailures) return undefined;
      // Jitter: many that were cut off together must not come back together.
      const fullMs = (backoff.baseMs ?? baseMs) * 2 ** Math.min(attempt, 30);
      waitMs = Math.min(fullMs, backoff.maxMs ?? DEFAULT_MAX_MS) * (1 - Math.random() / 2);
    }
    return Math.max(waitMs, error.retryAfterMs ?? 0);
  }
}
