/** Makes a promise abortable, and computes the waits before retries. No listener outlives its work. */
import type { Clock } from "./clock.ts";
import { type ChatError, isFinal } from "./error.ts";
import type { RetryOptions } from "./types.ts";

/** This many failures in a row are final where the caller waits for a single answer. */
export const MAX_FAILURES = 5;
const DEFAULT_BASE_MS = 3000;
const DEFAULT_MAX_MS = 30_000;

/** Settles like `work`, or rejects with the signal's reason as soon as it aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Decides after each failure in a row whether to retry, and when. */
export class Retries {
  readonly #options: RetryOptions;
  readonly #clock: Clock;
  readonly #maxFailures: number;
  #failures = 0;

  /** The last of `maxFailures` failures in a row is final. */
  constructor(options: RetryOptions, clock: Clock, maxFailures = Number.POSITIVE_INFINITY) {
    this.#options = options;
    this.#clock = clock;
    this.#maxFailures = maxFailures;
  }

  succeed(): void {
    this.#failures = 0;
  }

  /** The wait before the next attempt in milliseconds; undefined to give up. */
  fail(error: ChatError, baseMs = DEFAULT_BASE_MS): number | undefined {
    const { backoff = {}, retry } = this.#options;
    const attempt = this.#failures++;
    const answer = retry?.(error, attempt);
    if (answer === false) return undefined;
    let waitMs = answer ?? Number.NaN;
    if (!(waitMs >= 0)) {
      if (isFinal(error) || this.#failures >= this.#maxFailures) return undefined;
      // Jitter: clients that were disconnected together must not all come back at once.
      const fullMs = (backoff.baseMs ?? baseMs) * 2 ** Math.min(attempt, 30);
      waitMs = Math.min(fullMs, backoff.maxMs ?? DEFAULT_MAX_MS) * (1 - this.#clock.random() / 2);
    }
    return Math.max(waitMs, error.retryAfterMs ?? 0);
  }
}
