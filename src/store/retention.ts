/**
 * Deletes what is older than the retention: round after round, each in steps small enough not to hold up appends.
 * A store that fails is tried again at the next round. A clock that jumped ahead is believed once it has stood for a
 * round: set right in time, it has deleted nothing.
 */
import type { Clock } from "../clock.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { isUnavailable, type Retention } from "./port.ts";

const DAY_MS = 24 * 3_600_000;
/** So nothing is kept for longer than a quarter above the retention. */
const ROUNDS_PER_RETENTION = 4;
/** Of a long retention an hour more or less is nothing, and a round that finds nothing to do costs nothing. */
export const LONGEST_ROUND_MS = 3_600_000;
/** A retention of seconds is for trying out: it must not keep the store busy. */
export const SHORTEST_ROUND_MS = 1000;
/** An append that meets a step waits for it: for some 15 ms. */
const STEP_ENTRIES = 1000;
/** Between two steps, so that appends come first. Some 15,000 entries a second can still be forgotten. */
const PAUSE_MS = 50;

/** Runs until the signal aborts; 0 days keeps all messages. */
export async function runRetention(
  store: Retention,
  days: number,
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  const keptMs = days === 0 ? Number.POSITIVE_INFINITY : days * DAY_MS;
  const roundMs = Math.max(SHORTEST_ROUND_MS, Math.min(LONGEST_ROUND_MS, keptMs / ROUNDS_PER_RETENTION));
  try {
    for (let offsetMs = wallOffsetMs(clock); ; ) {
      const jumpedMs = wallOffsetMs(clock) - offsetMs;
      offsetMs += jumpedMs;
      if (jumpedMs > roundMs) telemetry.pruningPostponed(jumpedMs);
      else await prune();
      await clock.sleep(roundMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }

  async function prune(): Promise<void> {
    let entries = 0;
    try {
      for (let step = STEP_ENTRIES; step === STEP_ENTRIES; entries += step) {
        signal.throwIfAborted();
        step = await store.prune(keptMs, STEP_ENTRIES);
        await clock.sleep(PAUSE_MS, signal);
      }
      telemetry.pruned(entries);
    } catch (error) {
      if (!isUnavailable(error)) throw error; // one that is comes again, with the next round
    }
  }
}

/** How far the wall clock is ahead of the one that never jumps. */
function wallOffsetMs(clock: Clock): number {
  return clock.now() - clock.monotonic();
}
