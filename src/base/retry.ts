/** Retries with backoff, until the attempt succeeds or the signal aborts. */
import type { Clock } from "./clock.ts";

/** The wait after the first failure, and the maximum wait. Each wait is twice the one before. */
export interface RetryWaits {
  firstMs: number;
  maxMs: number;
}

/**
 * Runs `attempt` at least once, until it succeeds; resolves to its result. Rejects with the signal's reason,
 * or at once with an error that `isTransient` does not accept.
 */
export async function retry<T>(
  { firstMs, maxMs }: RetryWaits,
  clock: Clock,
  signal: AbortSignal | undefined,
  isTransient: (error: unknown) => boolean,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let waitMs = firstMs; ; waitMs = Math.min(maxMs, waitMs * 2)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    await clock.sleep(waitMs, signal);
  }
}
