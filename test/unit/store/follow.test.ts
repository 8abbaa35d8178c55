/** Followers of a room whose commits, notices and reads overtake each other, and of its facts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Random } from "../../../simulator/random.ts";
import { ENDED, type RoomEnd } from "../../../src/protocol/chat.ts";
import { followFact } from "../../../src/store/facts.ts";
import { Followers } from "../../../src/store/follow.ts";
import type { RoomRecord } from "../../../src/store/port.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import type { StoredMessage } from "../../../src/store/stored-message.ts";
import { Scheduler } from "../../harness/scheduler.ts";
import { own } from "../../support/store-reading.ts";
import { observe } from "../../support/store-subject.ts";

const VIDEO = "followed-01";
const BASE = 1000;
const SIZES = [1, 2, 40, 700];
/** Longer than all notices, reads and pauses that follow each other. */
const CALM_MS = 60_000;

/** A room's log, which takes its time to answer, fails from time to time, and counts its reads. */
class SlowLog {
  readonly rows: StoredMessage[] = [];
  end: RoomEnd | null = null;
  reads = 0;
  readonly inFlight = new Set<Promise<unknown>>();
  readonly #clock: Scheduler;
  readonly #random: Random;

  constructor(clock: Scheduler, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get head(): number {
    return BASE + this.rows.length;
  }

  add(count: number): StoredMessage[] {
    const batch = Array.from({ length: count }, (_, n) => {
      const cursor = this.head + 1 + n;
      return { cursor, id: `m-${cursor}`, body: "", details: "" };
    });
    this.rows.push(...batch);
    return batch;
  }

  async read(_: string, after: number, limit: number): Promise<StoredMessage[]> {
    this.reads += 1;
    return this.#answer(() => this.rows.slice(after - BASE, after - BASE + limit));
  }

  async getRoom(): Promise<RoomRecord | undefined> {
    const { head, end } = await this.#answer(() => ({ head: this.head, end: this.end }));
    return { floor: BASE, head, end } as RoomRecord;
  }

  async #answer<T>(read: () => T): Promise<T> {
    const answering = this.#slowly(read);
    this.inFlight.add(answering);
    return answering.finally(() => this.inFlight.delete(answering));
  }

  async #slowly<T>(read: () => T): Promise<T> {
    await this.#clock.sleep(this.#random.below(30));
    if (this.#random.chance(0.05)) throw new StoreError("unavailable", "it does not answer");
    const seen = read();
    await this.#clock.sleep(this.#random.below(30));
    return seen;
  }
}

/** A follower from cursor `start`, as its consumer sees it. */
interface Consumer {
  start: number;
  seen: StoredMessage[];
  end: RoomEnd | undefined;
}

async function play(seed: number): Promise<void> {
  const random = new Random(seed, "follow");
  const clock = new Scheduler(new Random(seed, "time"));
  const log = new SlowLog(clock, random);
  const followers = new Followers(clock);
  const consumers: Consumer[] = [];
  const join = async () => {
    const consumer: Consumer = { start: BASE + random.below(log.rows.length + 1), seen: [], end: undefined };
    consumers.push(consumer);
    const mostMs = random.pick([1, 300]);
    const items = followers.follow(log, VIDEO, consumer.start, new AbortController().signal);
    for await (const item of items) {
      if (Array.isArray(item)) consumer.seen.push(...item);
      else consumer.end = item;
      await clock.sleep(random.below(mostMs));
    }
  };
  // Each commit has one notice: of this instance's own, of another one's, or that nobody knows its outcome.
  const commit = async () => {
    const batch = log.add(random.pick(SIZES));
    const { head } = log;
    const notice = random.pick(["added", "advanced", "unknown"]);
    if (notice === "added") {
      await clock.sleep(random.below(20));
      followers.added(VIDEO, batch);
    } else {
      const known = notice === "unknown" ? Number.POSITIVE_INFINITY : head;
      void clock.sleep(random.below(100)).then(() => followers.advanced(VIDEO, known));
    }
  };
  const write = async () => {
    for (let n = 0; n < 10; n++) {
      if (n === 0 || random.chance(0.4)) void join();
      await clock.sleep(random.below(120));
      await commit();
    }
  };
  void write();
  await clock.advance(CALM_MS);
  const { head, reads } = log;
  for (const { start, seen } of consumers) assert.equal(start + seen.length, head, `from ${start}`);
  await clock.advance(CALM_MS);
  assert.equal(log.reads, reads, "a follower that has everything waits, and reads nothing");

  // They may hear of the end, and the room may be taken again at once; or the store alone knows of it.
  const isAnnounced = random.chance(0.5);
  if (random.chance(0.5)) void join();
  await clock.advance(random.below(40));
  const overtaken = log.inFlight.size;
  if (isAnnounced) {
    followers.finished(VIDEO, head, ENDED);
    followers.added(VIDEO, log.add(random.pick(SIZES)));
  } else {
    log.end = ENDED;
    followers.resync(VIDEO);
  }
  await clock.advance(CALM_MS);
  for (const { start, seen, end } of consumers) {
    const own = log.rows.slice(start - BASE, start - BASE + seen.length);
    assert.deepEqual(seen, own, `from ${start}`);
    assert.ok(start + seen.length >= head, `from ${start}: the last ones up to ${head} are missing`);
    assert.equal(end, ENDED, `from ${start}`);
  }
  const beyond = consumers.filter(({ start, seen }) => start + seen.length > head).length;
  assert.ok(beyond <= overtaken, `${beyond} are sent what follows the end, ${overtaken} were reading then`);
}

test("a follower gets all once in order, and the end, be commits, notices or reads first", async () => {
  await fc.assert(fc.asyncProperty(fc.integer(), play), { numRuns: 200 });
});

test("a follower that has everything is handed each batch by its commit, and reads nothing", async () => {
  const clock = new Scheduler(new Random(1));
  const log = new SlowLog(clock, new Random(2));
  const followers = new Followers(clock);
  const seen: StoredMessage[] = [];
  const follow = async () => {
    for await (const item of followers.follow(log, VIDEO, BASE, new AbortController().signal))
      if (Array.isArray(item)) seen.push(...item);
  };
  void follow();
  await clock.advance(1000);
  const { reads } = log;
  for (let n = 0; n < 20; n++) {
    followers.added(VIDEO, log.add(3));
    await clock.advance(1);
  }
  assert.deepEqual(seen, log.rows);
  assert.equal(log.reads, reads);
});

test("the standing of a chat is not read again by a look that finds it as it was", async (t) => {
  const clock = new Scheduler(new Random(1));
  const store = observe(memoryStore(clock), clock);
  const hold = await own(store, VIDEO);
  const write = (checkpoint: object) => store.append(hold, hold.head, [], JSON.stringify(checkpoint));
  await write({ token: "t", absence: { is: "off", why: "it is off" }, capture: {} });
  const { getRoom } = store;
  let reads = 0;
  store.getRoom = (key) => {
    reads += 1;
    return getRoom(key);
  };
  const followers = new Followers(clock);
  const over = new AbortController();
  t.after(() => over.abort());
  const facts = followFact({ store, followers, clock }, VIDEO, "standing", over.signal);
  assert.match(`${(await facts.next()).value?.value}`, /it is off$/);
  const next = facts.next();
  /** What a look finds in the checkpoint, and how often the standing was read until now. */
  const look = async (mark: string) => {
    followers.factChanged(VIDEO, "standing", mark);
    await clock.advance(1000);
    return reads;
  };
  assert.equal(await look('"is":"off","why":"it is off"'), 1);
  assert.equal(await look('"is":"off","why":"it is off again"'), 2);
  await write({ token: "t" });
  assert.equal(await look(""), 3);
  assert.equal((await next).value?.value, undefined);
  void facts.next();
  assert.equal(await look(""), 3);
});
