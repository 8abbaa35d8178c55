/** When a service collects its garbage: at quiet moments after its start and after growth, and seldom. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { getHeapStatistics } from "node:v8";
import { systemClock } from "../../../src/base/clock.ts";
import {
  ENGINE_OPTIONS,
  type Engine,
  GROWN_BYTES,
  PAUSE_MS,
  runCollections,
} from "../../../src/cli/garbage-collections.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { eventually } from "../../support/eventually.ts";
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
    await service.clock.advance(10 * PAUSE_MS);
    assert.deepEqual(service.state.collections, [1]);
  });

  it("waits until the event loop is quiet", async () => {
    await using service = running();
    service.state.load = 0.5;
    await service.clock.advance(30_000);
    assert.deepEqual(service.state.collections, []);
    service.state.load = 0.01;
    await service.clock.advance(1000);
    assert.deepEqual(service.state.collections, [31]);
  });

  for (const [growth, seconds] of [
    [1, 60],
    [2, 30],
    [10, 6],
  ] as const)
    it(`comes again ${seconds} s after the last one at the earliest, if the heap has grown by ${growth} times as much as it must`, async () => {
      await using service = running();
      const { clock, state } = service;
      await clock.advance(1000);
      for (let collection = 0; collection < 3; collection++) {
        state.heapBytes += growth * GROWN_BYTES;
        await clock.advance(1000 * (seconds - 1));
        assert.equal(state.collections.length, 1 + collection);
        await clock.advance(1000);
      }
      assert.deepEqual(state.collections, [1, 1 + seconds, 1 + 2 * seconds, 1 + 3 * seconds]);
    });

  it("is thorough after the start alone, as it costs the next viewers the code that is optimized", async () => {
    await using service = running();
    const { clock, state } = service;
    await clock.advance(2000);
    state.heapBytes += 2 * GROWN_BYTES;
    await clock.advance(PAUSE_MS);
    assert.deepEqual(state.thorough, [true, false]);
  });

  it("finds the options of the engine set by the program, before it loads anything", () => {
    const program = readFileSync(new URL("../../../bin/livechat-relay.js", import.meta.url), "utf8");
    const options = [...program.matchAll(/^setFlagsFromString\("(.+)"\);$/gm)].map(([, option]) => option);
    assert.deepEqual(options, ENGINE_OPTIONS);
  });

  it("counts growth from what the engine's own collections have left", async () => {
    await using service = running();
    const { clock, state } = service;
    await clock.advance(2000 + PAUSE_MS);
    state.heapBytes = ALIVE_BYTES / 2;
    await clock.advance(1000);
    state.heapBytes += GROWN_BYTES;
    await clock.advance(1000);
    assert.equal(state.collections.length, 2);
  });

  it("of the real engine frees what nothing refers to any more", async () => {
    const stop = new AbortController();
    let garbage: number[] | undefined = new Array(GROWN_BYTES / 4).fill(0.5); // eight bytes each
    const before = getHeapStatistics().used_heap_size;
    const over = runCollections(systemClock, new Telemetry(silentLog), stop.signal);
    assert.equal(garbage.length, GROWN_BYTES / 4);
    garbage = undefined;
    await eventually(true, () => getHeapStatistics().used_heap_size < before - GROWN_BYTES);
    stop.abort();
    await over;
  });
});
