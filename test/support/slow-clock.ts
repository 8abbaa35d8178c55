/** Time that passes slowly, for limits that a busy machine would reach. */
import { type Clock, systemClock } from "../../src/base/clock.ts";

const TIMES = 40;

/** A second of it takes forty. */
export const slowClock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() / TIMES,
  sleep: (ms, signal) => systemClock.sleep(TIMES * ms, signal),
};
