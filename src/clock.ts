/**
 * Time and chance as everything in the service sees them: handed in, never taken from globals, so that a
 * test can own both.
 */
import { setTimeout as delay } from "node:timers/promises";

export interface Clock {
  /** Wall time in milliseconds since 1970: for what is shown, stored or compared with the outside. */
  now(): number;
  /** Milliseconds on a clock that never jumps: for durations and due times. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
  random: () => Math.random(),
};
