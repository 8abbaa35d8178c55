/** Decides after each failure whether to retry, and when; `chat-error.ts` says which errors are final. */

import { ChatError } from "./chat-error.ts";
import type { Clock } from "./sdk-clock.ts";
import type { RetryOptions } from "./types.ts";

/** This many failures in a row are final where the caller waits for a single answer. */
export const MAX_FAILURES = 5;

export class Retries {
  readonly #options: RetryOptions;
  readonly #clock: Clock;
  readonly #maxFailures: number;
  #failures = 0;

  /** The last of `maxFailures` failures in a row is final; by default, none is. */
  constructor(options: RetryOptions, clock: Clock, maxFailures = Infinity) {
    this.#options = options;
    this.#clock = clock;
    this.#maxFailures = maxFailures;
  }

  succeed(): void {
    this.#failures = 0;
  }

  /**
   * The wait before the next attempt in milliseconds. Throws the error if it is final, or if `retry` returns
   * false.
   */
  fail(error: unknown, baseMs = 3000): number {
    if (!(error instanceof ChatError)) throw error;
    let waitMs = this.#options.retry?.(error, this.#failures) ?? -1;
    if (waitMs === false) throw error;
    const { baseMs: firstMs = baseMs, maxMs = 30_000 } = this.#options.backoff ?? {};
    const fullMs = firstMs * 2 ** this.#failures++ || 0; // 0 * Infinity is NaN
    if (!(waitMs >= 0)) {
      if (error.isFinal || this.#failures >= this.#maxFailures) throw error;
      // Jitter: clients that were disconnected together must not all come back at once.
      waitMs = Math.min(fullMs, maxMs) * (1 - this.#clock.random() / 2);
    }
    return Math.max(waitMs, error.retryAfterMs || 0);
  }
}
