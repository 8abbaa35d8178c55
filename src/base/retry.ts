/** Retries with backoff, until the attempt succeeds or the signal aborts. */
import { type BackoffWaits, backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";

/**
 * Runs `attempt` at least once, until it succeeds; resolves to its result. Rejects with the signal's reason,
 * or at once with an error that `isTransient` does not accept.
 */
export async function retry<T>(
  waits: BackoffWaits,
  clock: Clock,
  signal: AbortSignal | undefined,
  isTransient: (error: unknown) => boolean,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    await clock.sleep(backoffMs(waits, failures), signal);
  }
}
