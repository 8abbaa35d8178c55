/** A clock that knows how many sleeps of each length are pending. */
import type { Clock } from "../../src/base/clock.ts";

/** `pending`: the number of pending sleeps of this length. */
export function countedClock(clock: Clock): Clock & { pending(ms: number): number } {
  const sleeps = new Map<number, number>();
  const count = (ms: number, change: number) => sleeps.set(ms, (sleeps.get(ms) ?? 0) + change);
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    uptime: () => clock.uptime(),
    random: () => clock.random(),
    sleep: (ms, signal) => {
      count(ms, 1);
      return clock.sleep(ms, signal).finally(() => count(ms, -1));
    },
    pending: (ms) => sleeps.get(ms) ?? 0,
  };
}
