/**
 * Time and randomness. Rooms, gates and stores get a `Clock` as a parameter, so that tests can control both.
 */
import { uptime } from "node:os";

export interface Clock {
  /**
   * Wall time in milliseconds since 1970, for times that are shown, stored or compared with other machines.
   */
  now(): number;
  /** Milliseconds for durations and due times. Never jumps; may stop while the computer sleeps. */
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

/** The wall time of a call's start, in milliseconds since 1970. */
export function startedWallAt({ startedUptime }: CallStart, clock: Clock): number {
  return clock.now() - (clock.uptime() - startedUptime);
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

/** How far the wall clock may move against the monotonic one until the uptime is read again, in ms. */
const STEP_MS = 5;

/**
 * The computer's uptime, read from the system at the first call, and again once the wall clock has moved
 * against the monotonic one: a computer that sleeps moves both the wall clock and the uptime. On Linux, a
 * reading is three system calls.
 */
export function uptimeBy(clock: Pick<Clock, "now" | "monotonic">, read: () => number) {
  let wallAheadMs = Number.NaN;
  let uptimeAheadMs = 0;
  return (): number => {
    const at = clock.monotonic();
    const aheadMs = clock.now() - at;
    if (!(Math.abs(aheadMs - wallAheadMs) <= STEP_MS)) {
      wallAheadMs = aheadMs;
      uptimeAheadMs = read() - at;
    }
    return at + uptimeAheadMs;
  };
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export function pause(clock: Pick<Clock, "sleep">, ms: number, signal: AbortSignal): Promise<void> {
  return clock.sleep(ms, signal).catch(() => {});
}

/** As `pause`; if the promise settles first, settles as the promise does. */
export async function nap(
  clock: Pick<Clock, "sleep">,
  ms: number,
  woken: Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const slept = pause(clock, ms, AbortSignal.any([signal, over.signal]));
  await Promise.race([slept, woken]);
  over.abort("done");
}

/** Calls `act` after `ms`, unless the signal aborts first. */
export function after(clock: Clock, ms: number, signal: AbortSignal, act: () => void): void {
  clock.sleep(ms, signal).then(act, () => {});
}

const CLOCKS = { now: () => Date.now(), monotonic: () => performance.now() };

export const systemClock: Clock = {
  ...CLOCKS,
  uptime: uptimeBy(CLOCKS, () => 1000 * uptime()),
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
