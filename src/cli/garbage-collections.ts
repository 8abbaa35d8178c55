/**
 * Gives memory back to the system at quiet moments. A start and a wave of viewers leave garbage behind that
 * the engine would keep: it collects its old objects only when their number has doubled. A full collection
 * stops the event loop for about a millisecond per megabyte that is alive, so it happens seldom, and while
 * the loop has little to do. Half a minute later, the engine reduces its heap by itself, in short slices.
 */
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../base/clock.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const LOOK_MS = 1000;
/** Minimum time between two collections. */
export const PAUSE_MS = 60_000;
/** A collection is worth it once the heap is larger by this than after the last one. About 5,000 viewers. */
export const GROWN_BYTES = 16 * 1024 * 1024;
/** The event loop is quiet below this share of the time since the last look. */
const QUIET = 0.1;

/** What a collection needs of the engine; tests pass a substitute. */
export interface Engine {
  /** The bytes on the heap, garbage included. */
  heapBytes(): number;
  /** The share of the time since the last call in which the event loop was busy, from 0 to 1. */
  load(): number;
  /** `thorough`: also gives the engine's free pages back at once, which takes about three times as long. */
  collect(thorough: boolean): void;
}

/**
 * Runs until the signal aborts. The first collection, after the start, is thorough: nobody waits for this
 * process yet.
 */
export async function runCollections(
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
  engine: Engine = v8Engine(),
): Promise<void> {
  let keptBytes: number | undefined;
  await background("collections", { clock, telemetry }, signal, async () => {
    for (;;) {
      await clock.sleep(LOOK_MS, signal);
      const heapBytes = engine.heapBytes();
      if (keptBytes !== undefined) keptBytes = Math.min(keptBytes, heapBytes); // the engine's own collections
      const isQuiet = engine.load() < QUIET;
      if (!isQuiet || (keptBytes !== undefined && heapBytes < keptBytes + GROWN_BYTES)) continue;
      engine.collect(keptBytes === undefined);
      keptBytes = engine.heapBytes();
      await clock.sleep(PAUSE_MS, signal);
      engine.load();
    }
  });
}

type Collect = (options: { type: "major"; flavor: "regular" | "last-resort" }) => void;

function v8Engine(): Engine {
  let collect: Collect | undefined;
  let last = performance.eventLoopUtilization();
  return {
    heapBytes: () => getHeapStatistics().used_heap_size,
    load: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    collect: (thorough) => {
      collect ??= exposedCollect();
      collect({ type: "major", flavor: thorough ? "last-resort" : "regular" });
    },
  };
}

function exposedCollect(): Collect {
  // Only a context that begins while the flag is set has the function. The compile cache accepts compiled
  // code only under the flags with which it was made, so the flag must not stay.
  setFlagsFromString("--expose-gc");
  const collect: Collect = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return collect;
}
