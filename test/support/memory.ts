/** The memory that this process takes during some work, the tests' own share included. */
import { type HeapProfiler, Session } from "node:inspector/promises";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const SAMPLE_EVERY_MS = 5;
const MEGABYTE = 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as (options?: { type: "minor" }) => void;

/** The engine keeps the shapes of objects, and with them their keys, for some collections more. */
const COLLECTIONS = 4;

/** In megabytes: memory that the engine cannot free, including buffers and strings outside of its heap. */
export function heldMb(): number {
  for (let i = 0; i < COLLECTIONS; i++) collectGarbage();
  return memoryMb();
}

/** A collection takes longer than most work: garbage of up to this size counts as that of the next work. */
const MOST_GARBAGE_MB = 32;
/** The memory after the last collection. */
let collectedMb = Number.NaN;

/** The peak of memory during the work, garbage included, above the memory in use before. */
export async function peakGrowthMb(work: () => Promise<unknown>): Promise<number> {
  const isClean = memoryMb() - collectedMb < MOST_GARBAGE_MB;
  if (!isClean) {
    collectGarbage();
    collectGarbage({ type: "minor" }); // frees the buffers that the first one found
    collectedMb = memoryMb();
  }
  const before = Math.min(collectedMb, memoryMb());
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, memoryMb());
  }, SAMPLE_EVERY_MS);
  try {
    await work();
  } finally {
    clearInterval(sampling);
  }
  return Math.max(peak, memoryMb()) - before;
}

/** The mean distance of samples: the sum of a megabyte is then right within a few percent. */
const SAMPLE_BYTES = 128;

/** The bytes that the work allocates in the engine's heap, garbage included. */
export async function allocatedBytes(work: () => Promise<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: SAMPLE_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await work();
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();
  const sizeOf = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number =>
    callFrame.url === "node:inspector" ? 0 : children.reduce((sum, child) => sum + sizeOf(child), selfSize);
  return sizeOf(profile.head);
}

function memoryMb(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return (used_heap_size + external_memory) / MEGABYTE;
}
