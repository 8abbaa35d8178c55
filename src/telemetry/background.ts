/** Loops that run in the background: a bug in one must neither end it nor the process, nor fill the log. */

import { type Clock, pause } from "../base/clock.ts";
import { backoffMs } from "../base/retry.ts";
import type { Telemetry } from "./telemetry.ts";

/** What a loop takes its time from, and reports its failures to. */
export interface LoopParts {
  clock: Clock;
  telemetry: Telemetry;
}

const AGAIN_MS = 1000;
/**
 * After a line in the log, this long, failures are only counted. The time doubles with each line, up to the
 * maximum, and is the first again once the loop has not failed for the maximum.
 */
const QUIET = { firstMs: 10_000, maxMs: 3_600_000 };

/**
 * Runs `loop`, which ends with the signal or when its work is done. If it fails, that is a bug: it is
 * counted, and logged at growing intervals, and the loop begins again a second later. Never rejects.
 */
export async function background(
  task: string,
  { clock, telemetry }: LoopParts,
  signal: AbortSignal,
  loop: () => Promise<void>,
): Promise<void> {
  let lines = 0;
  let quietUntil = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  while (!signal.aborted) {
    try {
      return await loop();
    } catch (error) {
      if (signal.aborted) return;
      const now = clock.monotonic();
      if (now - failedAt >= QUIET.maxMs) lines = 0;
      failedAt = now;
      unlogged += 1;
      const isLogged = now >= quietUntil;
      telemetry.service.taskFailed(task, error, isLogged ? unlogged : 0);
      if (isLogged) {
        unlogged = 0;
        quietUntil = now + backoffMs(QUIET, lines++);
      }
      await pause(clock, AGAIN_MS, signal);
    }
  }
}
