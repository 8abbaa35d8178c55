/**
 * Deletes messages that are older than the retention, in rounds of steps that are small enough not to delay
 * appends. After a failure of the store, the next round tries again. Deleted messages cannot be brought back,
 * so a round deletes some only while a witness agrees with the store's clock. The stores choose the rooms and
 * messages of a step: `sqlite/pruning.ts`, `postgres/pruning-schema.ts`.
 */
import type { Clock } from "../base/clock.ts";
import type { ClockWitness } from "../base/clock-witness.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Retention } from "./port.ts";
import { ifUnavailable } from "./store-error.ts";

const DAY_MS = 24 * 3_600_000;
/** Messages are kept for at most a quarter longer than the retention. */
const ROUNDS_PER_RETENTION = 4;
/** For a long retention an hour does not matter, and a round without work costs nothing. */
export const LONGEST_ROUND_MS = 3_600_000;
/** A retention of seconds is for trials; it must not keep the store busy. */
export const SHORTEST_ROUND_MS = 1000;
/**
 * Without a witness, the next round comes this soon, and only then the log says so, because after a start the
 * first call is still under way. The following rounds come at growing intervals.
 */
const UNWITNESSED_MS = 10_000;
/** An append that meets a step waits about 15 ms for it. */
export const STEP_ENTRIES = 1000;
/**
 * The wait between two steps, so that appends come first. Up to about 15,000 entries can be deleted per
 * second.
 */
export const PAUSE_MS = 50;

/** Runs until the signal aborts; 0 days keeps all messages. */
export async function runRetention(
  store: Retention,
  days: number,
  witness: ClockWitness,
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  const keptMs = days === 0 ? Number.POSITIVE_INFINITY : days * DAY_MS;
  const roundMs = Math.max(SHORTEST_ROUND_MS, Math.min(LONGEST_ROUND_MS, keptMs / ROUNDS_PER_RETENTION));
  let unwitnessed = 0;
  await background("retention", { clock, telemetry }, signal, async () => {
    for (;;) {
      // A store that was unavailable is tried again in the next round.
      await round().catch(ifUnavailable(undefined));
      await clock.sleep(unwitnessed > 0 ? Math.min(roundMs, unwitnessed * UNWITNESSED_MS) : roundMs, signal);
    }
  });

  async function round(): Promise<void> {
    const { now, oldestAt } = await store.age();
    const isWitnessed = witness.agrees(now);
    unwitnessed = isWitnessed || oldestAt >= now - keptMs ? 0 : unwitnessed + 1;
    if (unwitnessed === 2) telemetry.store.unwitnessed(now, witness.aheadMs(now));
    await prune(isWitnessed ? keptMs : Number.POSITIVE_INFINITY, now);
  }

  async function prune(olderThanMs: number, now: number): Promise<void> {
    let entries = 0;
    for (let step = STEP_ENTRIES; step === STEP_ENTRIES; entries += step) {
      signal.throwIfAborted();
      step = await store.prune(olderThanMs, STEP_ENTRIES, now);
      await clock.sleep(PAUSE_MS, signal);
    }
    telemetry.store.pruned(entries);
  }
}
