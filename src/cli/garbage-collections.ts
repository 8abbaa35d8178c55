/**
 * How the engine collects garbage. A full collection stops the event loop for one to three milliseconds per
 * megabyte that is alive. One at a quiet moment also drops the classes of which no object is alive, and with
 * them the optimized code that depends on them: the next wave of viewers takes up to twice as long. So there
 * is one right after the start, when no code is optimized yet, and then one after a quiet minute at most.
 */
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../base/clock.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const MIB = 1024 * 1024;
const CHECK_MS = 1000;
/** The event loop is quiet below this share of the time since the last check. */
const QUIET = 0.1;
/** A collection is worth it once the heap is larger by this than after the last one. About 5,000 viewers. */
export const GROWN_BYTES = 16 * MIB;
/** How long the event loop must have been quiet since the last collection. */
export const QUIET_MS = 60_000;
/** After this time, viewers may have come: what the start has left is then collected as all else is. */
export const START_MS = 10_000;

/** What a collection needs of the engine; tests pass a substitute. */
export interface Engine {
  /** The bytes that the engine holds for objects and buffers, garbage and free pages included. */
  heapBytes(): number;
  /** The share of the time since the last call in which the event loop was busy, from 0 to 1. */
  load(): number;
  /** `thorough`: also gives the engine's free pages back at once, and drops more of the optimized code. */
  collect(thorough: boolean): void;
}

/** Runs until the signal aborts. V8 collects by itself, too, but gives the memory of a flood back late. */
export async function runCollections(
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
  engine: Engine = v8Engine(),
): Promise<void> {
  const startedAt = clock.monotonic();
  let isStarting = true;
  let keptBytes = 0;
  let quietMs = 0;
  await background("collections", { clock, telemetry }, signal, async () => {
    for (;;) {
      await clock.sleep(CHECK_MS, signal);
      const heapBytes = engine.heapBytes();
      keptBytes = Math.min(keptBytes, heapBytes); // the engine's own collections
      quietMs = engine.load() < QUIET ? quietMs + CHECK_MS : 0;
      isStarting &&= clock.monotonic() - startedAt <= START_MS;
      if (quietMs < (isStarting ? CHECK_MS : QUIET_MS) || heapBytes - keptBytes < GROWN_BYTES) continue;
      engine.collect(isStarting);
      keptBytes = engine.heapBytes();
      quietMs = 0;
      isStarting = false;
    }
  });
}

type Collect = (options: { type: "major"; flavor: "regular" | "last-resort" }) => void;

/** The engine of this process. */
export function v8Engine(): Engine {
  let collect: Collect | undefined;
  let last = performance.eventLoopUtilization();
  return {
    heapBytes: () => {
      const { total_heap_size, external_memory } = getHeapStatistics();
      return total_heap_size + external_memory;
    },
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
