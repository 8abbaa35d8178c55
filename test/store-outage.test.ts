/** A store that fails under many rooms: what the log and the metrics tell of it, and how often. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { type Clock, systemClock } from "../src/clock.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { startRelay } from "./support/relay.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { Stream } from "./support/stream.ts";

const MINUTE_MS = 60_000;
const ERROR = 50;
const DEBUG = 20;

/** A telemetry and what it logs of the store. */
function listening(clock: Clock) {
  const lines: { level: number; msg: string; [field: string]: unknown }[] = [];
  const telemetry = new Telemetry(
    pino({ level: "trace" }, { write: (line) => void lines.push(JSON.parse(line)) }),
    clock,
  );
  const value = async (metric: string) => {
    const text = await telemetry.registry.metrics();
    return Number(new RegExp(`^${metric} (\\d+)$`, "m").exec(text)?.[1]);
  };
  return {
    telemetry,
    value,
    failed: () => lines.filter(({ msg }) => msg.startsWith("the store failed")),
    worked: () => lines.filter(({ msg }) => msg === "the store works again"),
    retried: () => lines.filter(({ msg }) => msg === "a store operation failed"),
  };
}

/** Locks a store's file for writing, as another program may; gives what unlocks it. */
function lock(t: TestContext, path: string): () => void {
  const other = new DatabaseSync(path, { timeout: 5000 }); // the relay may be writing just now
  t.after(() => other.close());
  other.exec("begin immediate");
  return () => other.exec("rollback");
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const limit = AbortSignal.timeout(15_000); !(await holds()); await delay(10)) {
    assert.ok(!limit.aborted, `not in time: ${what}`);
  }
}

it("however many rooms fail, one line tells of it, one each minute reminds, and one tells that it is over", async (t) => {
  let skippedMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs };
  const { telemetry, value, failed, worked, retried } = listening(clock);
  const path = join(await temporaryFolder(t), "relay.db");
  await using relay = await startRelay({ telemetry, settings: { RELAY_STORE: `sqlite:${path}` } });
  const videoIds = Array.from({ length: 12 }, (_, n) => `failing-${100 + n}`);
  const chats = videoIds.map((videoId) => relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 5 }));
  for (const chat of chats) chat.say(1);
  const viewers = await Promise.all(videoIds.map((videoId) => Stream.open(relay.url, { videoId })));
  for (const viewer of viewers) await viewer.untilMessages(1);
  assert.equal(await value("relay_store_available"), 1);

  const unlock = lock(t, path);
  await until(async () => (await value("relay_store_failures_total")) >= 24, "24 failures");
  assert.equal(await value("relay_store_available"), 0);
  assert.ok(retried().length >= 24 && retried().every(({ level }) => level === DEBUG));
  assert.equal(failed().length, 1);
  const [line] = failed();
  assert.equal(line?.level, ERROR);
  assert.match(
    `${line?.what}: ${line?.why}`,
    /^append: store \S+ is locked by another program: close that program/,
  );
  assert.match(line?.msg ?? "", /polling pauses and viewers stay connected/);

  skippedMs += MINUTE_MS;
  await until(() => failed().length > 1, "a reminder");
  assert.ok(Number(failed()[1]?.forMs) >= MINUTE_MS);
  assert.equal(worked().length, 0);

  unlock();
  for (const chat of chats) chat.say(1);
  for (const viewer of viewers) await viewer.untilMessages(2);
  assert.equal(await value("relay_store_available"), 1);
  assert.deepEqual([failed().length, worked().length], [2, 1]);
  assert.ok(Number(worked()[0]?.awayMs) >= MINUTE_MS);
  for (const viewer of viewers) await viewer.close();
});

it("readiness tells of a store that nobody else is asking, and so does the last room's release", async (t) => {
  const { telemetry, value, failed, worked } = listening(systemClock);
  const path = join(await temporaryFolder(t), "relay.db");
  const settings = {
    RELAY_STORE: `sqlite:${path}`,
    RELAY_POLL_MIN_MS: "60000",
    RELAY_POLL_MAX_MS: "60000",
    RELAY_GRACE_MS: "1",
    RELAY_RETENTION_DAYS: "0",
  };
  await using relay = await startRelay({ telemetry, settings });
  let unlock = lock(t, path);
  assert.equal((await fetch(`${relay.url}/readyz`)).status, 503);
  assert.deepEqual([await value("relay_store_available"), failed()[0]?.what], [0, "check"]);
  unlock();
  assert.equal((await fetch(`${relay.url}/readyz`)).status, 200);
  assert.deepEqual([await value("relay_store_available"), worked().length], [1, 1]);

  relay.upstream.chat("released-01").say(1);
  const viewer = await Stream.open(relay.url, { videoId: "released-01" });
  await viewer.untilMessages(1);
  unlock = lock(t, path);
  await viewer.close();
  await until(async () => (await value("relay_store_available")) === 0, "a release that fails");
  unlock();
  await until(async () => (await value("relay_store_available")) === 1, "a release");
});

it("a store that fails and works by turns is told of once a minute", async () => {
  const clock = new FakeClock();
  const { telemetry, value, failed, worked } = listening(clock);
  for (let second = 0; second < 150; second++) {
    telemetry.storeFailed("append", new Error("it is full"), 250);
    assert.equal(await value("relay_store_available"), 0);
    await clock.advance(500);
    telemetry.appended(["chat"], 1);
    assert.equal(await value("relay_store_available"), 1);
    await clock.advance(500);
  }
  assert.deepEqual([failed().length, worked().length], [3, 3]);
  assert.equal(await value("relay_store_failures_total"), 150);
});

const OUTAGES: [failed: string[], worked: string, isOver: boolean][] = [
  [["append", "find", "read", "check", "prune"], "append", true],
  [["append", "read"], "check", true],
  [["finish", "append"], "finish", true],
  [["read"], "read", true],
  [["prune"], "prune", true],
  [["append"], "read", false],
  [["append", "prune"], "prune", false],
];
for (const [failures, success, isOver] of OUTAGES) {
  it(`after failures of ${failures.join(", ")} a successful ${success} ${isOver ? "tells" : "does not tell"} that it works again`, async () => {
    const { telemetry, value, worked } = listening(new FakeClock());
    for (const what of failures) telemetry.storeFailed(what, new Error("no"), 250);
    telemetry.storeWorked(success);
    assert.equal(await value("relay_store_available"), isOver ? 1 : 0);
    assert.equal(worked().length, isOver ? 1 : 0);
  });
}
