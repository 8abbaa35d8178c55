/** Reads that wait for an unavailable store. */
import type { Clock } from "../base/clock.ts";
import { retry } from "../base/retry.ts";
import { isUnavailable } from "./port.ts";

const WAITS = { firstMs: 100, maxMs: 5000 };

/**
 * The result of a read, once the store is available. Rejects with the signal's reason, and at once with any
 * other error of the read.
 */
export function retryRead<T>(clock: Clock, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  return retry(WAITS, clock, signal, isUnavailable, read);
}
