/** When a service collects its garbage: after its start, and after a quiet minute in which it has grown. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getHeapStatistics } from "node:v8";
import {
  type Engine,
  GROWN_BYTES,
  QUIET_MS,
  runCollections,
  START_MS,
  v8Engine,
} from "../../../src/cli/garbage-collections.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const ALIVE_BYTES = 20 * 1024 * 1024;

/** A service whose heap and load the test sets; `collections` are the times of them, in seconds. */
function running() {
  const clock = new FakeClock();
  const stop = new AbortController();
  const state = { heapBytes: ALIVE_BYTES, load: 0, collections: [] as number[], thorough: [] as boolean[] };
  const engine: Engine = {
    heapBytes: () => state.heapBytes,
    load: () => state.load,
    collect: (thorough) => {
      state.collections.push(clock.monotonic() / 1000);
      state.thorough.push(thorough);
      state.heapBytes = ALIVE_BYTES;
    },
  };
  const over = runCollections(clock, new Telemetry(silentLog), stop.signal, engine);
  const dispose = () => {
    stop.abort();
    return over;
  };
  return { clock, state, [Symbol.asyncDispose]: dispose };
}

describe("a full collection", () => {
  it("comes once after the start, and not again while the heap stays as it is", async () => {
    await using service = running();
    await service.clock.advance(10 * QUIET_MS);
    assert.deepEqual(service.state.collections, [1]);
  });

  it("waits after the start until the event loop is quiet", async () => {
    await using service = running();
    service.state.load = 0.5;
    await service.clock.advance(5000);
    assert.deepEqual(service.state.collections, []);
    service.state.load = 0.01;
    await service.clock.advance(1000);
    assert.deepEqual(service.state.collections, [6]);
  });

  it("waits for a quiet minute if the start was busy, as the code of viewers may be optimized", async () => {
    await using service = running();
    const { clock, state } = service;
    state.load = 0.5;
    await clock.advance(START_MS);
    state.load = 0.01;
    await clock.advance(QUIET_MS);
    assert.deepEqual([state.collections, state.thorough], [[(START_MS + QUIET_MS) / 1000], [false]]);
  });

  it("comes again after a quiet minute if the heap has grown; a busy second restarts the minute", async () => {
    await using service = running();
    const { clock, state } = service;
    await clock.advance(1000);
    state.heapBytes += GROWN_BYTES;
    await clock.advance(30_000);
    state.load = 0.5;
    await clock.advance(1000);
    state.load = 0;
    await clock.advance(QUIET_MS - 1000);
    assert.deepEqual(state.collections, [1]);
    await clock.advance(1000);
    assert.deepEqual(state.collections, [1, 92]);
    state.heapBytes += GROWN_BYTES;
    await clock.advance(QUIET_MS);
    assert.deepEqual(state.collections, [1, 92, 152]);
  });

  it("is thorough after the start alone, as it costs the next viewers the code that is optimized", async () => {
    await using service = running();
    const { clock, state } = service;
    await clock.advance(2000);
    state.heapBytes += 2 * GROWN_BYTES;
    await clock.advance(QUIET_MS);
    assert.deepEqual(state.thorough, [true, false]);
  });

  it("counts growth from what the engine's own collections have left", async () => {
    await using service = running();
    const { clock, state } = service;
    await clock.advance(2000 + QUIET_MS);
    state.heapBytes = ALIVE_BYTES / 2;
    await clock.advance(1000);
    state.heapBytes += GROWN_BYTES;
    await clock.advance(1000);
    assert.equal(state.collections.length, 2);
  });

  it("of the real engine frees what nothing refers to any more", async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    let garbage: number[] | undefined = new Array(GROWN_BYTES / 4).fill(0.5); // eight bytes each
    const before = getHeapStatistics().used_heap_size;
    const quiet = { ...v8Engine(), load: () => 0 };
    const over = runCollections(clock, new Telemetry(silentLog), stop.signal, quiet);
    assert.equal(garbage.length, GROWN_BYTES / 4);
    garbage = undefined;
    await clock.advance(1000);
    assert.ok(getHeapStatistics().used_heap_size < before - GROWN_BYTES);
    stop.abort();
    await over;
  });

  it("knows that the real engine is busy while it computes", () => {
    const engine = v8Engine();
    engine.load();
    for (const begun = performance.now(); performance.now() < begun + 5; );
    assert.ok(engine.load() > 0.9);
  });
});
