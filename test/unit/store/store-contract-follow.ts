/** The part of the stores' contract that is about followers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { ENDED, RELEASED } from "../../../src/protocol/chat.ts";
import type { ChatKey } from "../../../src/protocol/chat-key.ts";
import type { StoredMessage } from "../../../src/store/stored-message.ts";
import {
  type Followed,
  followed,
  messages,
  own,
  readAll,
  settled,
  stored,
} from "../../support/store-reading.ts";
import type { FullStore } from "../../support/store-subject.ts";
import { BORN_MS, type NewSubject, OTHER, ownedRoom, ROOM } from "../../support/store-subject.ts";

const numbers = (from: number, count: number) => [...Array(count).keys()].map((n) => n + from);

export function followContract(subject: NewSubject): void {
  test("a follower gets the messages after its cursor, wherever that is, and the end", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const all = await store.append(claim, BORN_MS, messages(numbers(0, 1100)), "");
    await store.finish(claim, ENDED);
    for (const start of [0, 1, 599, 600, 1099, 1100]) {
      const { messages: seen, end } = await followed(store, ROOM, BORN_MS + start);
      assert.deepEqual(seen, all.slice(start));
      assert.deepEqual(end, ENDED);
    }
  });

  test("a waiting follower wakes at each append, and at the end", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const items = store.follow(ROOM, BORN_MS, new AbortController().signal)[Symbol.asyncIterator]();
    for (let n = 0; n < 20; n++) {
      const next = items.next();
      for (let turns = 0; turns < n % 4; turns++) await turn();
      await store.append(claim, BORN_MS + n, messages([n]), "");
      assert.deepEqual(await next, { done: false, value: stored(BORN_MS + n, [n]) });
    }
    const next = items.next();
    await store.append(claim, BORN_MS + 20, [], "nothing new");
    await store.finish(claim, RELEASED);
    assert.deepEqual(await next, { done: false, value: RELEASED });
    assert.deepEqual(await items.next(), { done: true, value: undefined });
  });

  test("a follower of a room without messages follows it from its first one", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const following = followed(store, ROOM, BORN_MS, { count: 2 });
    await settled(store);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    assert.deepEqual((await following).messages, stored(BORN_MS, ["a", "b"]));
  });

  test("a follower whose cursor is beyond the head waits until the room has passed it", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const following = followed(store, ROOM, BORN_MS + 2, { count: 2 });
    await settled(store);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    await store.append(claim, BORN_MS + 1, messages(["b", "c"]), "");
    await store.append(claim, BORN_MS + 3, messages(["d"]), "");
    assert.deepEqual((await following).messages, stored(BORN_MS + 2, ["c", "d"]));
  });

  test("a follower of one room does not get another room's messages", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const other = await own(store, OTHER);
    const following = followed(store, ROOM, BORN_MS, { count: 1 });
    await store.append(other, BORN_MS, messages(["not this"]), "");
    await store.append(claim, BORN_MS, messages(["this"]), "");
    assert.deepEqual((await following).messages, stored(BORN_MS, ["this"]));
  });

  test("a follower ends when its signal aborts, waiting or not, and takes nothing more", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    assert.deepEqual((await followed(store, ROOM, BORN_MS, { signal: AbortSignal.abort() })).messages, []);

    const leaving = new AbortController();
    const items = store.follow(ROOM, BORN_MS, leaving.signal)[Symbol.asyncIterator]();
    await items.next();
    const waiting = items.next();
    await settled(store);
    leaving.abort();
    assert.deepEqual(await waiting, { done: true, value: undefined });
  });

  test("followers end with the store", async (t) => {
    const { store } = await subject(t);
    for (const room of [ROOM, OTHER]) await own(store, room);
    const following = [followed(store, ROOM, BORN_MS), followed(store, OTHER, 0)];
    await store.probeWrite(0);
    await store.close();
    for (const { messages: seen, end } of await Promise.all(following)) {
      assert.deepEqual(seen, []);
      assert.equal(end, undefined);
    }
  });

  test("a follower at a room's end sees it, even if the room is taken again and goes on at once", async (t) => {
    const { store } = await subject(t);
    let claim = await own(store, ROOM);
    const following = [0, 1, 2].map((pauseTurns) => followed(store, ROOM, BORN_MS, { pauseTurns }));
    await store.append(claim, BORN_MS, messages(["a"]), "");
    await store.finish(claim, RELEASED);
    claim = await own(store, ROOM);
    await store.append(claim, BORN_MS + 1, messages(["b"]), "");
    for (const { messages: seen, end } of await Promise.all(following)) {
      assert.deepEqual(end, RELEASED);
      assert.deepEqual(seen, stored(BORN_MS, ["a", "b"].slice(0, seen.length)));
    }
    const next = await followed(store, ROOM, BORN_MS, { count: 2 });
    assert.deepEqual(next.messages, stored(BORN_MS, ["a", "b"]));
  });

  test("a slow follower gets larger pages later, and misses nothing", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const items = store.follow(ROOM, BORN_MS, new AbortController().signal)[Symbol.asyncIterator]();
    const first = items.next();
    await settled(store);
    let head = BORN_MS;
    const append = async (count: number) => {
      head += (await store.append(claim, head, messages(numbers(head - BORN_MS, count)), "")).length;
    };
    await append(10);
    const seen: StoredMessage[] = [];
    const sizes: number[] = [];
    const keep = ({ value }: IteratorResult<StoredMessage[] | object>) => {
      if (!Array.isArray(value)) return false;
      seen.push(...value);
      sizes.push(value.length);
      return true;
    };
    keep(await first);
    while (head < BORN_MS + 3000) await append(10);
    await store.finish(claim, ENDED);
    while (keep(await items.next()));
    assert.deepEqual(seen, stored(BORN_MS, numbers(0, 3000)));
    // Had all 299 hand-overs been kept for it, it would have been given batches of ten.
    assert.ok(Math.max(...sizes) > 10, `batches of ${[...new Set(sizes)]}`);
  });

  test("whenever and wherever a follower joins, it gets exactly the rest of the room", async (t) => {
    const { store, wall } = await subject(t);
    const ids = (most: number, length: { minLength: number; maxLength: number }) =>
      fc.array(fc.nat(most), { ...length, size: "max" });
    const steps: fc.Arbitrary<Step[]> = fc.array(
      fc.oneof(
        { weight: 24, arbitrary: fc.record({ ids: ids(900, { minLength: 0, maxLength: 20 }) }) },
        { weight: 1, arbitrary: fc.record({ ids: ids(9000, { minLength: 200, maxLength: 700 }) }) },
        {
          weight: 8,
          arbitrary: fc.record({ joinAt: fc.double({ min: 0, max: 1, noNaN: true }), pauseTurns: fc.nat(6) }),
        },
        { weight: 2, arbitrary: fc.constant("take" as const) },
      ),
      { minLength: 1, maxLength: 40, size: "max" },
    );
    let run = 0;
    const check = async (script: Step[]) => {
      wall.nowMs += 100_000;
      await playScript(store, `room-${run++}`, script);
    };
    await fc.assert(fc.asyncProperty(steps, check), { numRuns: 10 });
  });
}

/** An append, a follower that joins at that share of the room, or a new owner. */
type Step = { ids: number[] } | { joinAt: number; pauseTurns: number } | "take";

/**
 * Plays the steps into one room, in flight as they come, and judges every follower by what the room holds.
 */
async function playScript(store: FullStore, key: ChatKey, script: Step[]): Promise<void> {
  let claim = await own(store, key);
  const base = claim.head;
  let head = base;
  const followers: { start: number; seen: Promise<Followed> }[] = [];
  for (const step of script) {
    if (step === "take") {
      claim = await own(store, key);
    } else if ("ids" in step) {
      head += (await store.append(claim, head, messages(step.ids), `${head}`)).length;
    } else {
      const start = base + Math.round(step.joinAt * (head - base));
      followers.push({ start, seen: followed(store, key, start, { pauseTurns: step.pauseTurns }) });
    }
  }
  await store.append(claim, head, [], "the last"); // else it might not exist
  await store.finish(claim, ENDED);
  const all = await readAll(store, key);
  assert.equal(all.length, head - base);
  assert.ok(all.every(({ cursor }, index) => cursor === base + 1 + index));
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  for (const { start, seen } of followers) {
    const { messages: given, end } = await seen;
    assert.deepEqual(given, all.slice(start - base));
    assert.deepEqual(end, ENDED);
  }
}
