/**
 * Gives memory back to the system at quiet moments. A start and a wave of viewers leave garbage behind that
 * the engine would keep: it collects its old objects only when they have grown by a half (`ENGINE_OPTIONS`).
 * A full collection stops the event loop for one to three milliseconds per megabyte that is alive, so it
 * happens while the loop has little to do, the sooner the more the heap has grown, and else seldom.
 */
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "../base/clock.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const MIB = 1024 * 1024;
/**
 * Options of the engine. With the first, its heap grows by a half before it collects: a flood then adds half
 * as much as by default, for somewhat more CPU while much is allocated. With the second, collections do not
 * drop the compiled code of functions that have rested, which the next wave of viewers needs. They must be
 * set before any module is loaded, as compiled code is kept only for the same options.
 */
export const ENGINE_OPTIONS = ["--heap-growing-percent=50", "--no-flush-bytecode"];

const CHECK_MS = 1000;
/** A collection is worth it once the heap is larger by this than after the last one. About 5,000 viewers. */
export const GROWN_BYTES = 16 * MIB;
/** The minimum time between two collections if it has grown by that; half of it after twice the growth. */
export const PAUSE_MS = 60_000;
/** The event loop is quiet below this share of the time since the last check. */
const QUIET = 0.1;

/** What a collection needs of the engine; tests pass a substitute. */
export interface Engine {
  /** The bytes that the engine holds for objects and buffers, garbage and free pages included. */
  heapBytes(): number;
  /** The share of the time since the last call in which the event loop was busy, from 0 to 1. */
  load(): number;
  /**
   * `thorough`: also gives the engine's free pages back at once. It drops the classes of which no object is
   * alive, and with them optimized code: after a wave of viewers, the next wave would take twice as long.
   */
  collect(thorough: boolean): void;
}

/** Runs until the signal aborts. */
export async function runCollections(
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
  engine: Engine = v8Engine(),
): Promise<void> {
  let keptBytes = 0;
  let collectedAt = Number.NEGATIVE_INFINITY;
  await background("collections", { clock, telemetry }, signal, async () => {
    for (;;) {
      await clock.sleep(CHECK_MS, signal);
      const heapBytes = engine.heapBytes();
      keptBytes = Math.min(keptBytes, heapBytes); // the engine's own collections
      const isQuiet = engine.load() < QUIET;
      const growth = (heapBytes - keptBytes) / GROWN_BYTES;
      const passedMs = clock.monotonic() - collectedAt;
      if (!isQuiet || growth < 1 || passedMs < PAUSE_MS / growth) continue;
      const isFirst = collectedAt === Number.NEGATIVE_INFINITY;
      engine.collect(isFirst);
      keptBytes = engine.heapBytes();
      collectedAt = clock.monotonic();
    }
  });
}

type Collect = (options: { type: "major"; flavor: "regular" | "last-resort" }) => void;

function v8Engine(): Engine {
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
