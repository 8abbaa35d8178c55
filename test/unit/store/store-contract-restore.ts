/** The part of the stores' contract that is about a store that was restored from a backup. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDED, RELEASED } from "../../../src/protocol/chat.ts";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import { followed, messages, own, readAll, stored } from "../../support/store-reading.ts";
import { BORN_MS, isFenced, type NewSubject, OTHER, ownedRoom, ROOM } from "../../support/store-subject.ts";

const HOUR_MS = 3_600_000;
const REPLAY = chatKey(ROOM, "replay");

export function restoreContract(subject: NewSubject): void {
  test("rooms begin at the clock, whole and in order, and continue there", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const other = await own(store, OTHER);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "one");
    await store.append(other, BORN_MS, messages(["a"]), "two");
    await store.append(claim, BORN_MS + 2, messages(["c", "d"]), "three");
    await store.finish(other, ENDED);
    wall.nowMs += 1;
    await store.prune(0, 2); // the finished room, and "a"
    const reborn = await own(store, OTHER);
    await store.append(reborn, reborn.head, [], "four");
    await store.finish(reborn, ENDED);

    const now = BORN_MS + 60_000;
    wall.nowMs = now;
    assert.equal(await store.moveCursors(), 2);
    const moved = { base: now, floor: now + 1, head: now + 4, checkpoint: "three", readAgoMs: 60_000 };
    assert.partialDeepStrictEqual(await store.getRoom(ROOM), moved);
    assert.equal((await store.getRoom(OTHER))?.base, now);
    assert.deepEqual(await readAll(store, ROOM), stored(now + 1, ["b", "c", "d"]));
    assert.deepEqual(await store.messagesById(ROOM, ["d"]), stored(now + 3, ["d"]));

    const again = await own(store, ROOM);
    const added = await store.append(again, now + 4, messages(["d", "e"]), "five");
    assert.deepEqual(added, stored(now + 4, ["e"], now));
    assert.deepEqual((await followed(store, ROOM, now + 2, { count: 3 })).messages, [
      ...stored(now + 2, ["c", "d"]),
      ...stored(now + 4, ["e"], now),
    ]);
    assert.equal(await store.prune(now - (BORN_MS + 1), 10), 3);
    assert.deepEqual(await readAll(store, ROOM), added);
  });

  const heads: [what: string, clock: number, base: number][] = [
    ["moves above the head that it has run ahead to", BORN_MS + 5, BORN_MS + 701],
    ["moves above the head that the clock just reached", BORN_MS + 700, BORN_MS + 701],
    ["moves to the clock that just passed its head", BORN_MS + 701, BORN_MS + 701],
  ];
  for (const [what, clock, base] of heads) {
    test(`a room with more than one message per ms ${what}`, async (t) => {
      const { store, wall } = await subject(t);
      const ids = [...Array(700).keys()];
      await store.append(await own(store, ROOM), BORN_MS, messages(ids), "");
      wall.nowMs = clock;
      assert.equal(await store.moveCursors(), 1);
      assert.deepEqual(await readAll(store, ROOM), stored(base, ids));
      assert.deepEqual(
        [(await store.getRoom(ROOM))?.base, (await store.getRoom(ROOM))?.head],
        [base, base + 700],
      );
    });
  }

  test("earlier owners of a room may not write to it, and finished rooms stay finished", async (t) => {
    const { store, wall } = await subject(t);
    const old = await own(store, ROOM);
    await store.append(old, BORN_MS, [], "one");
    const other = await own(store, OTHER);
    await store.append(other, BORN_MS, [], "one");
    await store.finish(other, RELEASED);
    wall.nowMs += 1000;
    await store.moveCursors();
    assert.deepEqual((await store.getRoom(OTHER))?.end, RELEASED);
    await assert.rejects(store.append(old, BORN_MS + 1000, messages(["a"]), ""), isFenced);
    await assert.rejects(store.append(old, BORN_MS, messages(["a"]), ""), isFenced);
    await assert.rejects(store.finish(old, ENDED), isFenced);
    const { epoch } = await own(store, ROOM);
    assert.ok(epoch > BORN_MS + 1000, "a claim of the lost time could pass for a new one");
  });

  test("a store without rooms, or with only rooms as young as the clock, has none to move", async (t) => {
    const { store } = await subject(t);
    assert.equal(await store.moveCursors(), 0);
    const claim = await own(store, ROOM);
    const added = await store.append(claim, BORN_MS, messages(["a"]), "");
    assert.equal(await store.moveCursors(), 0);
    assert.deepEqual(await readAll(store, ROOM), added);
  });

  /** What the messages that a backup lacks cannot exceed: a thousand a second, for a month. */
  const MOST_LOST = 1000 * 30 * 24 * 3600;
  for (const [what, bornMs, restoredMs] of [
    ["that are younger than the clock", BORN_MS, BORN_MS - 40 * 24 * HOUR_MS],
    ["read until a clock set-back", BORN_MS, BORN_MS + 1],
  ] as const)
    test(`rooms ${what} move beyond all cursors that clients may hold, each once`, async (t) => {
      const { store, wall } = await subject(t);
      wall.nowMs = bornMs;
      for (const key of [OTHER, REPLAY, ROOM]) {
        const hold = await own(store, key);
        await store.append(hold, hold.head, messages([1, 2]), "");
        wall.nowMs = BORN_MS + HOUR_MS;
        await store.append(hold, hold.head + 2, messages([3, 4]), "");
        wall.nowMs = bornMs;
      }
      const before = await Promise.all([OTHER, REPLAY, ROOM].map((key) => store.getRoom(key)));
      wall.nowMs = restoredMs;
      assert.equal(await store.moveCursors(), 3);
      const after = await Promise.all([OTHER, REPLAY, ROOM].map((key) => store.getRoom(key)));
      for (const [index, room] of after.entries()) {
        const { base = 0, head = 0 } = before[index] ?? {};
        assert.ok(room && room.base > head + MOST_LOST, `${room?.base} after ${base} to ${head}`);
        assert.deepEqual(await readAll(store, room.key), [
          ...stored(room.base, [1, 2], bornMs),
          ...stored(room.base + 2, [3, 4], BORN_MS + HOUR_MS),
        ]);
      }
      const [, replay, live] = after;
      assert.ok((replay?.base ?? 0) > (live?.head ?? Number.POSITIVE_INFINITY));
    });
}
