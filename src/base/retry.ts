/**
 * Waits that grow with each failure up to a maximum, and retries with them until an attempt succeeds or fails
 * for good, or the signal aborts.
 */
import type { Clock } from "./clock.ts";

/** The wait after the first failure, and the maximum wait, in milliseconds. */
export interface BackoffWaits {
  firstMs: number;
  maxMs: number;
}

/**
 * The wait after a failure, if `before` others came in a row before it: each is twice the one before, up to
 * the maximum.
 */
export function backoffMs({ firstMs, maxMs }: BackoffWaits, before: number): number {
  return Math.min(maxMs, firstMs * 2 ** before);
}

/** A random time between half of a wait and all of it: what failed together does not try again together. */
export function jitteredMs(waitMs: number, clock: Pick<Clock, "random">): number {
  return waitMs * (0.5 + clock.random() / 2);
}

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
