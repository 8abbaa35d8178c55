/** A store that fails under many rooms: what the log and the metrics report, and how often. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { Random } from "../../../simulator/random.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { Followers } from "../../../src/store/follow.ts";
import type { StoreEngine } from "../../../src/store/observed.ts";
import { ClusterWatch } from "../../../src/store/postgres/cluster-watch.ts";
import type { Operation } from "../../../src/store/sqlite/group-commit.ts";
import { InlineThread, inMemory, memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { SqliteStore } from "../../../src/store/sqlite/sqlite.ts";
import type { Tables } from "../../../src/store/sqlite/sqlite-tables.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { StoreHealth } from "../../../src/store/store-health.ts";
import type { StoreOperation } from "../../../src/telemetry/store-events.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { Journal } from "../../harness/journal.ts";
import { MortalClock, Scheduler } from "../../harness/scheduler.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { SharedStore } from "../../simulation/shared-store.ts";
import { StoreLine } from "../../simulation/store-line.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { followed, messages, own } from "../../support/store-reading.ts";
import { observe, ROOM } from "../../support/store-subject.ts";

const MINUTE_MS = 60_000;
const WORKED = Promise.resolve();
const ERROR = 50;
const DEBUG = 20;

/** A telemetry and what it logs of the store. */
function listening() {
  const lines: { level: number; msg: string; [field: string]: unknown }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const telemetry = new Telemetry(pino({ level: "trace" }, { write }));
  /** The value of a metric, summed over its labels. */
  const value = async (metric: string) => {
    const text = await telemetry.registry.metrics();
    const samples = text.matchAll(/^(\w+)(?:\{.*\})? (\d+)$/gm);
    return [...samples].reduce((sum, [, name, count]) => sum + (name === metric ? Number(count) : 0), 0);
  };
  return {
    telemetry,
    value,
    failed: () => lines.filter(({ msg }) => msg.startsWith("the store failed")),
    worked: () => lines.filter(({ msg }) => msg === "the store works again"),
    retried: () => lines.filter(({ msg }) => msg === "a store operation failed"),
  };
}

it("however many rooms fail, one line reports the outage and one its end", async () => {
  const { telemetry, value, failed, worked, retried } = listening();
  const relay = new VirtualRelay({ hasDisk: true, telemetry });
  const videoIds = Array.from({ length: 4 }, (_, n) => `failing-${100 + n}`);
  const chats = videoIds.map((videoId) => relay.upstream.chat(videoId, { kinds: ["text"] }));
  for (const chat of chats) chat.say(1);
  const viewers = videoIds.map((videoId) => relay.visit({ videoId }));
  await relay.advance(MINUTE_MS);
  assert.deepEqual(new Set(viewers.map(({ ids }) => ids.length)), new Set([1]));
  assert.equal(await relay.when(value("relay_store_available")), 1);

  for (const chat of chats) chat.say(1);
  relay.disk.goneUntil = Number.POSITIVE_INFINITY;
  await relay.advance(30_000);
  assert.equal(await relay.when(value("relay_store_available")), 0);
  assert.ok(retried().length >= 2 * chats.length && retried().every(({ level }) => level === DEBUG));
  assert.equal(failed().length, 1);
  const [line] = failed();
  assert.deepEqual([line?.level, line?.operation, line?.reason], [ERROR, "append", "its disk fails"]);
  assert.match(String(line?.why), /simulated.db/);
  assert.match(line?.msg ?? "", /polling paused, viewers stay connected/);
  relay.disk.calm();
  await relay.advance(30_000);
  assert.deepEqual(new Set(viewers.map(({ ids }) => ids.length)), new Set([2]));
  assert.equal(await relay.when(value("relay_store_available")), 1);
  assert.deepEqual([failed().length, worked().length], [1, 1]);
});

it("the service is unready from a failed write until that succeeds, even if a probe works", async () => {
  const { telemetry, retried } = listening();
  const relay = new VirtualRelay({ hasDisk: true, telemetry });
  const unreadiness = () => relay.when(relay.rooms.unreadiness());
  const chat = relay.upstream.chat("failing-01", { kinds: ["text"] });
  chat.say(1);
  const viewer = await relay.enter({ videoId: "failing-01" });
  await viewer.untilMessages(1);
  await relay.advance(MINUTE_MS); // the first message is counted, too
  assert.deepEqual(await unreadiness(), []);
  chat.say(1);
  relay.disk.failAtCommit(1, "refused");
  await relay.until(() => retried().length > 0);
  const { failedAt } = relay.disk;
  assert.deepEqual(await unreadiness(), ["the store does not work: the disk is full"]);
  assert.equal(relay.disk.failedAt, failedAt, "the probe works");
  await viewer.untilMessages(2);
  assert.deepEqual(await unreadiness(), []);
});

it("a readiness check, or the last room's release, alone reports a store's failure and return", async () => {
  const { telemetry, value, failed, worked } = listening();
  const settings = { RELAY_GRACE_MS: "1", RELAY_POLL_MIN_MS: "600000", RELAY_POLL_MAX_MS: "600000" };
  const relay = new VirtualRelay({ hasDisk: true, telemetry, settings });
  const unreadiness = () => relay.when(relay.rooms.unreadiness());
  relay.disk.goneUntil = Number.POSITIVE_INFINITY;
  assert.deepEqual(await unreadiness(), ["the store does not work: its disk fails"]);
  assert.deepEqual(
    [await relay.when(value("relay_store_available")), failed()[0]?.operation],
    [0, "probeWrite"],
  );
  relay.disk.calm();
  assert.deepEqual(await unreadiness(), []);
  assert.deepEqual([await relay.when(value("relay_store_available")), worked().length], [1, 1]);

  relay.upstream.chat("released-01").say(1);
  const viewer = await relay.enter({ videoId: "released-01" });
  await viewer.untilMessages(1);
  await relay.advance(MINUTE_MS); // so that the next outage is reported, too
  for (let commit = 1; commit <= 50; commit++) relay.disk.failAtCommit(commit, "refused");
  viewer.leave();
  await relay.advance(1000); // a release that fails for longer is given up
  assert.equal(failed().length, 2);
  relay.disk.calm();
  await relay.advance(MINUTE_MS);
  assert.equal(worked().length, 2);
});

it("a request for the metrics ends an outage that no room's write would end", async () => {
  const { telemetry, value, worked } = listening();
  const relay = new VirtualRelay({ hasDisk: true, telemetry, settings: { RELAY_GRACE_MS: "1" } });
  relay.upstream.chat("released-02").say(1);
  const viewer = await relay.enter({ videoId: "released-02" });
  await viewer.untilMessages(1);
  relay.disk.goneUntil = Number.POSITIVE_INFINITY;
  viewer.leave();
  await relay.advance(MINUTE_MS); // the release is given up, and nothing is left to write
  assert.equal(await relay.when(value("relay_store_available")), 0);
  relay.disk.calm();
  await relay.advance(MINUTE_MS);
  assert.deepEqual([worked().length, await relay.when(value("relay_store_available"))], [0, 1]);
});

it("metrics come even if the disk cannot be asked for its free space, which is then NaN", async () => {
  const { telemetry } = listening();
  const engine: StoreEngine = memoryStore(systemClock);
  engine.freeBytes = async () => {
    throw Object.assign(new Error("EIO: i/o error, statfs"), { code: "EIO" });
  };
  observe(engine, systemClock, telemetry);
  assert.match(await telemetry.registry.metrics(), /^relay_store_free_bytes Nan$/m);
});

it("a store that keeps failing is reported once a minute, with the duration", async () => {
  const clock = new FakeClock();
  const { telemetry, failed, worked } = listening();
  const { health } = observe(memoryStore(clock), clock, telemetry);
  for (let second = 0; second < 150; second++) {
    health.failed("append", "it is full", "the disk is full");
    await clock.advance(1000);
  }
  await health.report("append", WORKED);
  assert.deepEqual(
    failed().map(({ forMs }) => forMs),
    [0, MINUTE_MS, 2 * MINUTE_MS],
  );
  assert.deepEqual(
    worked().map(({ afterMs }) => afterMs),
    [150_000],
  );
});

it("a store that alternately fails and works is reported once a minute", async () => {
  const clock = new FakeClock();
  const { telemetry, failed, worked } = listening();
  const { health } = observe(memoryStore(clock), clock, telemetry);
  for (let second = 0; second < 150; second++) {
    health.failed("append", "it is full", "the disk is full");
    assert.equal(health.isAvailable, false);
    await clock.advance(500);
    await health.report("append", WORKED);
    assert.equal(health.isAvailable, true);
    await clock.advance(500);
  }
  assert.deepEqual([failed().length, worked().length], [3, 3]);
});

const OUTAGES: [failed: StoreOperation[], worked: StoreOperation, afterMs: number, isOver: boolean][] = [
  [["append", "messagesById", "probeWrite", "prune"], "append", 0, true],
  [["append"], "probeWrite", 0, true],
  [["finish", "append"], "finish", 0, true],
  [["read"], "read", 0, true],
  [["prune"], "prune", 0, true],
  [["append"], "read", 0, false],
  [["append", "prune"], "prune", 0, false],
  [["append", "read"], "append", 9000, false], // a read is tried again until it succeeds
  [["append", "read"], "append", 10_000, true], // or nobody needs it any more
];
for (const [failures, success, afterMs, isOver] of OUTAGES) {
  it(`after failures of ${failures.join(", ")}, a ${success} ${afterMs} ms later ${isOver ? "ends" : "does not end"} the outage`, async () => {
    const clock = new FakeClock();
    const { telemetry, worked } = listening();
    const { health } = observe(memoryStore(clock), clock, telemetry);
    for (const operation of failures) health.failed(operation, "no", "it failed");
    await clock.advance(afterMs);
    await health.report(success, WORKED);
    assert.equal(health.isAvailable, isOver);
    assert.equal(worked().length, isOver ? 1 : 0);
  });
}

it("an outage lasts while the store refuses a room's writes, even if a probe succeeds", async () => {
  const { telemetry } = listening();
  const store = observe(memoryStore(systemClock), systemClock, telemetry);
  const { health } = store;
  health.failed("append", "it is full", "the disk is full");
  health.setBlocked("one", true);
  health.setBlocked("two", true);
  assert.equal(await store.isReady(), false);
  health.setBlocked("one", false);
  assert.deepEqual([await store.isReady(), health.isAvailable], [false, false]);
  health.setBlocked("two", false);
  assert.deepEqual([await store.isReady(), health.isAvailable], [true, true]);
});

/** Its reads never succeed while they are refused, and its writes always do; its probe may never answer. */
class UnreadableThread extends InlineThread {
  refuses = false;
  hangs = false;

  override async call<O extends Operation>(op: O, ...args: Parameters<Tables[O]>) {
    if (op === "read" && this.refuses) throw new StoreError("unavailable", "it cannot be read");
    if (op === "probeWrite" && this.hangs) await new Promise(() => {});
    return super.call(op, ...args);
  }
}

it("failed reads of a follower show in log, metric and readiness, and so does their end", async () => {
  const clock = new FakeClock();
  const { telemetry, value, failed, worked } = listening();
  const thread = new UnreadableThread(inMemory());
  const store = observe(new SqliteStore(clock, thread), clock, telemetry);
  const claim = await own(store, ROOM);
  thread.refuses = true;
  const following = followed(store, ROOM, claim.head, { count: 10 });
  for (let second = 0; second < 10; second++) {
    await store.append(claim, claim.head + second, messages([second]), "");
    await clock.advance(1000);
    assert.deepEqual([await value("relay_store_available"), await store.isReady()], [0, false]);
  }
  const [line, ...more] = failed();
  assert.deepEqual([line?.operation, line?.why, more.length], ["read", "it cannot be read", 0]);
  assert.equal(line?.msg, "the store failed: viewers stay connected, retrying");
  assert.ok((await value("relay_store_failures_total")) >= 5);
  thread.refuses = false;
  await clock.advance(5000);
  assert.equal((await following).messages.length, 10);
  assert.deepEqual([await value("relay_store_available"), await store.isReady()], [1, true]);
  assert.equal(worked().length, 1);
});

it("readiness waits two seconds for a store that does not answer", async () => {
  const clock = new FakeClock();
  const { telemetry, failed } = listening();
  const thread = new UnreadableThread(inMemory());
  thread.hangs = true;
  const store = observe(new SqliteStore(clock, thread), clock, telemetry);
  const readiness = store.isReady();
  await clock.advance(1999);
  assert.deepEqual(failed(), []);
  await clock.advance(1);
  assert.equal(await readiness, false);
  assert.match(String(failed()[0]?.why), /no answer within 2000 ms/);
});

it("a release of unwatched rooms that fails is reported, and its success ends the outage", async () => {
  const { telemetry, failed, worked } = listening();
  const scheduler = new Scheduler(new Random(1, "time"));
  const journal = new Journal(() => scheduler.monotonic());
  const store = new SharedStore(scheduler, new Random(1, "store"));
  const line = new StoreLine({ isDeaf: false, store, scheduler, random: new Random(1, "line"), journal });
  const watch = new ClusterWatch({
    connections: line.connections(new MortalClock(scheduler)),
    clock: scheduler,
    telemetry,
    health: new StoreHealth(scheduler, telemetry),
    followers: new Followers(scheduler),
    leaseMs: 6000,
    isSynchronous: true,
    isReceiving: () => true,
  });
  line.loseAnswer(1);
  const over = new AbortController();
  const orphans = watch.orphans(90_000, over.signal).next();
  await scheduler.advance(30_000);
  assert.deepEqual(
    failed().map(({ operation }) => operation),
    ["release"],
  );
  await scheduler.advance(30_000);
  assert.equal(worked().length, 1);
  over.abort();
  await scheduler.advance(1000);
  await orphans;
  watch.close();
});

it("the end of an outage of a damaged store is logged as that, at warn", async () => {
  const lines: { level: number; msg: string }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const health = new StoreHealth(new FakeClock(), new Telemetry(pino({ level: "info" }, { write })));
  health.failed("read", "is damaged: restore a backup", "it is damaged");
  await health.report("read", WORKED);
  const [{ level, msg } = { level: 0, msg: "" }] = lines.filter((line) => /the store works/.test(line.msg));
  assert.deepEqual([level, msg], [40, "the store works, but a part of it is damaged: restore a backup"]);
});
