/** Waits that grow with each failure. Its callers count the failures, and wait. */
import type { Clock } from "./clock.ts";

/** The wait after the first failure, and the maximum wait, in milliseconds. */
export interface BackoffWaits {
  firstMs: number;
  maxMs: number;
}

/** The wait after a failure, if `before` others came in a row before it: each is twice the one before. */
export function backoffMs({ firstMs, maxMs }: BackoffWaits, before: number): number {
  return Math.min(maxMs, firstMs * 2 ** before);
}

/** A random time between half of a wait and all of it: what failed together does not try again together. */
export function jitteredMs(waitMs: number, clock: Pick<Clock, "random">): number {
  return waitMs * (0.5 + clock.random() / 2);
}
