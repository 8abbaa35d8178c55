/**
 * Deletes messages that are older than the retention, in rounds of steps that are small enough not to delay
 * appends. After a failure of the store, the next round tries again. If the wall clock jumps ahead, nothing
 * is deleted for one round, so a wrong clock that is corrected in time deletes nothing. The stores choose the
 * rooms and messages of a step: `sqlite/pruning.ts`, `postgres/pruning-schema.ts`.
 */
import type { Clock } from "../base/clock.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { isUnavailable, type Retention } from "./port.ts";

const DAY_MS = 24 * 3_600_000;
/** Messages are kept for at most a quarter longer than the retention. */
const ROUNDS_PER_RETENTION = 4;
/** For a long retention an hour does not matter, and a round without work costs nothing. */
export const LONGEST_ROUND_MS = 3_600_000;
/** A retention of seconds is for trials; it must not keep the store busy. */
export const SHORTEST_ROUND_MS = 1000;
/** An append that meets a step waits about 15 ms for it. */
const STEP_ENTRIES = 1000;
/**
 * The wait between two steps, so that appends come first. Up to about 15,000 entries can be deleted per
 * second.
 */
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
  let offsetMs = wallOffsetMs(clock);
  await background("retention", { clock, telemetry }, signal, async () => {
    for (;;) {
      const jumpedMs = wallOffsetMs(clock) - offsetMs;
      offsetMs += jumpedMs;
      if (jumpedMs > roundMs) telemetry.store.pruningPostponed(jumpedMs);
      else await prune();
      await clock.sleep(roundMs, signal);
    }
  });

  async function prune(): Promise<void> {
    let entries = 0;
    try {
      for (let step = STEP_ENTRIES; step === STEP_ENTRIES; entries += step) {
        signal.throwIfAborted();
        step = await store.prune(keptMs, STEP_ENTRIES);
        await clock.sleep(PAUSE_MS, signal);
      }
      telemetry.store.pruned(entries);
    } catch (error) {
      if (!isUnavailable(error)) throw error; // a store that was unavailable is tried again in the next round
    }
  }
}

/** How far the wall clock is ahead of the monotonic one, in milliseconds. */
function wallOffsetMs(clock: Clock): number {
  return clock.now() - clock.monotonic();
}
