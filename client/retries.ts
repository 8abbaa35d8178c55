/** Decides after each failure whether to retry, and when. */

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

  /** The wait before the next attempt in milliseconds. Throws the error if it is final. */
  fail(error: unknown, baseMs = 3000): number {
    if (!(error instanceof ChatError)) throw error;
    const { backoff = {}, retry } = this.#options;
    const attempt = this.#failures++;
    let waitMs = retry?.(error, attempt) ?? -1;
    if (waitMs === false) throw error;
    if (!(waitMs >= 0)) {
      if (error.isFinal || this.#failures >= this.#maxFailures) throw error;
      // Jitter: clients that were disconnected together must not all come back at once.
      const fullMs = (backoff.baseMs ?? baseMs) * 2 ** attempt || 0; // 0 * Infinity is NaN
      waitMs = Math.min(fullMs, backoff.maxMs ?? 30_000) * (1 - this.#clock.random() / 2);
    }
    return Math.max(waitMs, error.retryAfterMs || 0);
  }
}
