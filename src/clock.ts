/** Time and chance as rooms, gates and stores see them: handed in, so that a test can own both. */
import { uptime } from "node:os";

export interface Clock {
  /** Wall time in milliseconds since 1970: for what is shown, stored or compared with the outside. */
  now(): number;
  /** Milliseconds on a clock that never jumps, and stands still while a computer sleeps: for durations and due times. */
  monotonic(): number;
  /** Milliseconds since the computer started, its sleep included; setting the wall clock does not move it. */
  uptime(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

/** When a call went out and when its answer came, on the monotonic clock. */
export interface CallTimes {
  startedAt: number;
  answeredAt: number;
  /** The computer's uptime at the answer, in milliseconds: it goes on while the computer sleeps. */
  uptimeAt: number;
  /** The wall time of the answer, in milliseconds since 1970, to be shown. */
  wallAt: number;
}

/** The times of a call that went out at `startedAt` and is answered just now. */
export function answeredNow(startedAt: number, clock: Clock): CallTimes {
  return { startedAt, answeredAt: clock.monotonic(), uptimeAt: clock.uptime(), wallAt: clock.now() };
}

/** Calls `act` after `ms`, unless the signal aborts before. */
export function after(clock: Clock, ms: number, signal: AbortSignal, act: () => void): void {
  clock.sleep(ms, signal).then(act, () => {});
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: () => 1000 * uptime(),
  // Node's own makes an error with a stack for each sleep that is cut short: one for each call to the upstream.
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
  random: () => Math.random(),
};
