/** A store that reaches its limit of size: what it refuses, what it deletes, and what it says. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { pino } from "pino";
import { ENDED } from "../../../src/protocol/chat.ts";
import { CHECK_MS, runSizeLimit } from "../../../src/store/size-limit.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { ask } from "../../support/api.ts";
import { eventually, PATIENCE_MS } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { own, readAll, saying } from "../../support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  observe,
  openFor,
  temporaryFile,
  wallAt,
} from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

const LIMIT = 4_000_000;
/** Larger than the limit by itself. */
const LARGE = 8000;
const MINUTES_MS = 60_000;

/** A store in memory with this limit, on a clock that the test owns. */
function limited(maxBytes: number, recorded: string[] = []) {
  const clock = new FakeClock();
  const log: string[] = [];
  const telemetry = new Telemetry(pino({}, { write: (line) => void log.push(line) }));
  const store = observe(memoryStore(clock), clock, telemetry);
  const stop = new AbortController();
  const over = runSizeLimit(store, maxBytes, () => recorded, clock, telemetry, stop.signal);
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (.*)$`, "m").exec(await telemetry.registry.metrics())?.[1]);
  const dispose = () => {
    stop.abort();
    return over;
  };
  return { clock, store, log, metric, [Symbol.asyncDispose]: dispose };
}

/** Stores a finished chat of `count` messages, of about 700 bytes each. */
async function fill(store: FullStore, videoId: string, count: number, length = 500): Promise<void> {
  const hold = await own(store, videoId);
  const text = "x".repeat(length);
  const many = Array.from({ length: count }, (_, n) => saying(`${n}`, text, {}));
  await store.append(hold, hold.head, many, "");
  await store.finish(hold, ENDED);
}

const counts = (store: FullStore, ...rooms: string[]) =>
  Promise.all(rooms.map(async (videoId) => (await readAll(store, videoId)).length));

describe("the service whose store is full", () => {
  const MAX = 10_000_000;
  const OLD = "stored-long";

  /** A service at the limit, with a chat that was stored at this time. */
  async function service(t: TestContext, storedAt: number) {
    const RELAY_STORE = `sqlite:${await temporaryFile(t)}`;
    const store = await openFor(t, RELAY_STORE, wallAt(storedAt));
    await fill(store, OLD, 4000, 3000);
    await store.close();
    const settings = { RELAY_STORE, RELAY_MAX_STORE_BYTES: `${MAX}`, RELAY_RECORD: "recorded-01" };
    const relay = await startRelay({ settings: { ...settings, RELAY_RETENTION_DAYS: "0" } });
    for (const videoId of ["recorded-01", "stranger-01"])
      relay.upstream.chat(videoId, { kinds: ["text"] }).say(3);
    return relay;
  }

  /** A service that is full, and may delete nothing yet. */
  async function fullService(t: TestContext) {
    const relay = await service(t, Date.now());
    await eventually(true, async () => /^relay_store_full 1$/m.test(await metricsOf(relay)));
    return relay;
  }

  const metricsOf = async ({ url }: TestRelay) => (await fetch(`${url}/metrics`)).text();

  it("refuses other chats than recordings, without a call to the upstream", async (t) => {
    await using relay = await fullService(t);
    const { status, headers, body } = await ask<{ message: string }>(
      relay.url,
      "/v1/stream?videoId=stranger-01",
      { signal: AbortSignal.timeout(PATIENCE_MS) }, // a stream would not end
    );
    assert.deepEqual([status, headers.get("retry-after")], [503, "30"]);
    assert.match(body.message, /^The store is full/);
    assert.match(await metricsOf(relay), /^relay_capacity_refusals_total\{cause="store"\} 1$/m);
    assert.equal(
      relay.upstream.requests.some(({ videoId }) => videoId === "stranger-01"),
      false,
    );
  });

  it("reads its recordings, serves its messages, and is ready", async (t) => {
    await using relay = await fullService(t);
    await using recorded = await Stream.open(relay.url, { videoId: "recorded-01" });
    await recorded.untilMessages(3);
    assert.equal((await fetch(`${relay.url}/v1/messages?videoId=${OLD}`)).status, 200);
    await eventually(200, async () => (await fetch(`${relay.url}/readyz`)).status);
  });

  it("opens chats again when it has deleted enough", async (t) => {
    await using relay = await service(t, BORN_MS);
    await eventually(true, async () => /^relay_store_displaced_total [1-9]/m.test(await metricsOf(relay)));
    await eventually(true, async () => /^relay_store_full 0$/m.test(await metricsOf(relay)));
    await using stream = await Stream.open(relay.url, { videoId: "stranger-01" });
    await stream.untilMessages(3);
  });
});

describe("a store at its limit of size", () => {
  it("is full, and deletes the oldest rooms until it has some space again", async () => {
    await using limit = limited(LIMIT);
    const { clock, store, log, metric } = limit;
    await fill(store, "first", 3000, 0); // so small that a step frees about 5 % of the limit
    await clock.advance(CHECK_MS);
    assert.deepEqual([store.health.isStoreFull, await metric("relay_store_full")], [false, 0]);
    await fill(store, "second", 2400, 900);
    await clock.advance(CHECK_MS);
    // Both are too young to be deleted.
    assert.deepEqual([store.health.isStoreFull, await metric("relay_store_full")], [true, 1]);
    assert.deepEqual(await counts(store, "first", "second"), [3000, 2400]);
    assert.equal(await store.isReady(), true);
    await clock.advance(11 * MINUTES_MS);
    assert.deepEqual([store.health.isStoreFull, await metric("relay_store_full")], [false, 0]);
    const [first = 0, second] = await counts(store, "first", "second");
    assert.ok(first < 3000 && first > 0, `${first} messages`);
    assert.equal(second, 2400);
    assert.equal(await metric("relay_store_displaced_total"), 3000 - first);
    const [full, below, ...more] = log.map((line) => JSON.parse(line));
    assert.match(full.msg, /^the store is full \(RELAY_MAX_STORE_BYTES\)/);
    assert.match(below.msg, /^the store is below RELAY_MAX_STORE_BYTES again$/);
    assert.deepEqual([below.entries, more], [3000 - first, []]);
    const used = await store.usedBytes();
    assert.ok(used <= 0.95 * LIMIT && used > 0.9 * LIMIT, `${used} bytes`);
    await clock.advance(60 * MINUTES_MS);
    assert.deepEqual(await counts(store, "first", "second"), [first, 2400]);
  });

  it("keeps recorded chats while anything else is left, and then deletes the oldest of them, too", async () => {
    await using limit = limited(LIMIT, ["recorded"]);
    const { clock, store } = limit;
    await fill(store, "recorded", 4000);
    await fill(store, "stranger", 2000);
    await clock.advance(11 * MINUTES_MS);
    const [recorded, stranger = 0] = await counts(store, "recorded", "stranger");
    assert.equal(recorded, 4000);
    assert.ok(stranger < 2000, `${stranger} messages`);
    await fill(store, "also-recorded", LARGE);
    await store.recordings.addRecording("also-recorded");
    await clock.advance(11 * MINUTES_MS);
    const [before, gone, left = 0] = await counts(store, "recorded", "stranger", "also-recorded");
    assert.deepEqual([before, gone], [0, 0]);
    assert.ok(left > 0 && left < LARGE, `${left} messages`);
    assert.equal(store.health.isStoreFull, false);
  });

  it("does nothing without a limit", async () => {
    await using limit = limited(0);
    const { clock, store, metric } = limit;
    await fill(store, "first", LARGE);
    await clock.advance(60 * MINUTES_MS);
    assert.deepEqual(await counts(store, "first"), [LARGE]);
    assert.equal(await metric("relay_store_full"), 0);
  });

  it("is looked at again after a failure of the store", async () => {
    await using limit = limited(LIMIT);
    const { clock, store, metric } = limit;
    await fill(store, "first", LARGE);
    await store.close();
    await clock.advance(3 * CHECK_MS);
    const failures = await metric('relay_store_failures_total\\{kind="usedBytes"\\}');
    assert.ok(failures >= 2, `${failures} failures`);
    assert.equal(await metric("relay_task_faults_total"), 0);
  });
});
