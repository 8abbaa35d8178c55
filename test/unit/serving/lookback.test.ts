/**
 * The start of a backfill of some types: exact, within the range of the search, whatever is stored and
 * deleted meanwhile.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { systemClock } from "../../../src/base/clock.ts";
import { Lookback } from "../../../src/serving/lookback.ts";
import { readPage } from "../../../src/serving/room-log.ts";
import { parseTypes, typeBit } from "../../../src/serving/type-filter.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import type { StoredMessage } from "../../../src/store/stored-message.ts";
import { own, saying } from "../../support/store-reading.ts";

const ROOM = "looked-back";

/** A room with messages of these types. */
async function roomOf(types: readonly string[]) {
  const store = memoryStore(systemClock);
  const hold = await own(store, ROOM);
  const log: StoredMessage[] = [];
  const say = async (more: readonly string[]) => {
    const messages = more.map((type, index) => saying(`${log.length + index}`, "", {}, type));
    const added = await store.append(hold, hold.head + log.length, messages, "{}");
    log.push(...added);
    return added;
  };
  await say(types);
  return {
    store,
    say,
    log,
    base: hold.head,
    read: (after: number, to: number) => readPage(store, ROOM, after, to),
    /** The expected start, by looking at every message. */
    start(count: number, filter: number, floor: number, end = hold.head + log.length): number {
      const wanted = log.filter(
        (message) => message.cursor > floor && message.cursor <= end && (typeBit(message) & filter) !== 0,
      );
      return (wanted.at(-count)?.cursor ?? wanted[0]?.cursor ?? end + 1) - 1;
    },
  };
}

const typeName = fc.oneof(
  { weight: 9, arbitrary: fc.constant("chat") },
  { weight: 1, arbitrary: fc.constantFrom("superchat", "raid", "unheard-of") },
);
const typesUpTo = (maxLength: number) => fc.array(typeName, { size: "max", maxLength });
const scene = fc.record({
  old: typesUpTo(1500),
  during: typesUpTo(40),
  later: typesUpTo(40),
  prunes: fc.nat(3),
  /** How far the follower of the log is behind. */
  behind: fc.nat(20),
  count: fc.integer({ min: 1, max: 60 }),
});
const FILTER = parseTypes("superchat,raid");

describe("the start of a backfill of some types", () => {
  it("is before the newest of them, whatever is stored and deleted during the search", async () => {
    await fc.assert(
      fc.asyncProperty(scene, async ({ old, during, later, prunes, behind, count }) => {
        const room = await roomOf(old);
        const head = room.base + room.log.length;
        let floor = room.base;
        let reads = 0;
        const lookback: Lookback = new Lookback(head, async (after, to) => {
          if (reads++ < prunes) {
            lookback.push(await room.say(during));
            floor += await room.store.prune(-1000, 300);
          }
          return room.read(after, to);
        });
        lookback.push(room.log.slice(-behind - 1, -1));
        const due = room.start(count, FILTER, room.base, head);
        const found = await lookback.start(head, count, FILTER, room.base);
        const isAfterDeleted = due < floor && found > due && found <= room.start(count, FILTER, floor, head);
        assert.ok(found === due || isAfterDeleted, `${found}, not ${due}`);
        assert.ok(reads <= 4, `${reads} reads of ${old.length} messages`);
        lookback.push(await room.say(later));
        const now = room.base + room.log.length;
        assert.equal(await lookback.start(now, count, FILTER, floor), room.start(count, FILTER, floor));
      }),
      { numRuns: 100 },
    );
  });

  it("is searched in the newest 20,000 messages, each of which is read once", async () => {
    const room = await roomOf(Array.from({ length: 25_000 }, (_, i) => (i % 4999 === 0 ? "raid" : "chat")));
    let reads = 0;
    const head = room.base + room.log.length;
    const lookback = new Lookback(head, (after, to) => {
      reads += 1;
      return room.read(after, to);
    });
    const start = (count: number) => lookback.start(head, count, FILTER, room.base);
    const [three, all] = await Promise.all([start(3), start(50)]);
    assert.deepEqual([three - room.base, all - room.base], [3 * 4999, 2 * 4999]);
    assert.equal(reads, 20_000 / 500);
  });

  it("is searched in the newest 20,000 messages, while further ones are stored", async () => {
    const room = await roomOf(Array.from({ length: 21_000 }, (_, i) => (i % 97 === 0 ? "raid" : "chat")));
    const more = Array.from({ length: 100 }, (_, i) => (i === 50 ? "raid" : "chat"));
    const lookback: Lookback = new Lookback(room.base + room.log.length, async (after, to) => {
      const page = await room.read(after, to);
      lookback.push(await room.say(more));
      return page;
    });
    const before = room.base + room.log.length;
    const found = await lookback.start(before, 1000, FILTER, room.base);
    assert.equal(found, room.start(1000, FILTER, room.base + room.log.length - 20_000, before));
    for (const times of [0, 30]) {
      lookback.push(await room.say(Array(times).fill(more).flat()));
      const head = room.base + room.log.length;
      for (const count of [1, 10, 1000]) {
        const start = await lookback.start(head, count, FILTER, room.base);
        assert.equal(start, room.start(count, FILTER, head - 20_000));
      }
    }
  });

  it("is not after the head at the start of the search, because later messages may be of these types", async () => {
    const room = await roomOf([]);
    const lookback = new Lookback(room.base, room.read);
    await room.say(["raid"]);
    assert.equal(await lookback.start(room.base + 1, 5, FILTER, room.base), room.base);
  });
});

it("a page that lacks messages which are still stored is an error", async () => {
  const { store, base } = await roomOf(["chat", "raid", "chat"]);
  const log = {
    read: (videoId: string, after: number, limit: number) => store.read(videoId, after + 1, limit),
    getRoom: (videoId: string) => store.getRoom(videoId),
  };
  await assert.rejects(readPage(log, ROOM, base, base + 3), /the store skips from cursor \d+ to \d+ in room/);
  await store.prune(-1000, 1);
  assert.equal((await readPage(log, ROOM, base, base + 3)).length, 2);
});
