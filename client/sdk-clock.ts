/** Time and randomness for the SDK, passed in so that a test can control both. */

import { unlessAborted } from "./abortable.ts";

export interface Clock {
  /** Wall time in milliseconds since 1970, to compare with dates in answers. */
  now(): number;
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number;
  /**
   * Resolves after `ms`, which may exceed a timer's maximum. Rejects with the signal's reason when it aborts.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A uniform random number in [0, 1). */
  random(): number;
}

/** Below the maximum delay of a timer, 2^31 - 1. */
const MAX_TIMER_MS = 2e9;

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  sleep: (ms, signal) => {
    let timer: ReturnType<typeof setTimeout>;
    const over = new Promise<void>((resolve) => {
      const wait = (leftMs: number) => {
        const next = () => (leftMs > MAX_TIMER_MS ? wait(leftMs - MAX_TIMER_MS) : resolve());
        timer = setTimeout(next, Math.min(leftMs, MAX_TIMER_MS));
      };
      wait(ms);
    });
    return unlessAborted(over, signal).finally(() => clearTimeout(timer));
  },
  random: Math.random,
};
