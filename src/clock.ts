/**
 * Time and randomness. Rooms, gates and stores get a `Clock` as a parameter, so that tests can control both.
 */
import { uptime } from "node:os";

export interface Clock {
  /**
   * Wall time in milliseconds since 1970, for times that are shown, stored or compared with other machines.
   */
  now(): number;
  /** Milliseconds for durations and due times. Never jumps; stops while the computer sleeps. */
  monotonic(): number;
  /**
   * Milliseconds since the computer started, including its sleep. Setting the wall clock does not change it.
   */
  uptime(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

/** When an upstream call started. */
export interface CallStart {
  /** On the monotonic clock. */
  startedAt: number;
  /** The computer's uptime at the start, in milliseconds. It also advances while the computer sleeps. */
  startedUptime: number;
}

/** The times of one upstream call. */
export interface CallTimes extends CallStart {
  /** On the monotonic clock. */
  answeredAt: number;
  /** The computer's uptime at the answer, in milliseconds. */
  answeredUptime: number;
  /** The wall time of the answer, in milliseconds since 1970, for display. */
  wallAt: number;
}

/** The start of a call that starts at this moment. */
export function startedNow(clock: Clock): CallStart {
  return { startedAt: clock.monotonic(), startedUptime: clock.uptime() };
}

/** The times of a call that is answered at this moment. */
export function answeredNow(start: CallStart, clock: Clock): CallTimes {
  return {
    ...start,
    answeredAt: clock.monotonic(),
    answeredUptime: clock.uptime(),
    wallAt: clock.now(),
  };
}

/** Calls `act` after `ms`, unless the signal aborts first. */
export function after(clock: Clock, ms: number, signal: AbortSignal, act: () => void): void {
  clock.sleep(ms, signal).then(act, () => {});
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: () => 1000 * uptime(),
  // Node's promise timer creates an error with a stack for each aborted sleep: one for each upstream call.
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
