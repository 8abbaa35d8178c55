/** The part of the stores' contract that is about who may write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RoomEnd } from "../src/protocol/chat.ts";
import { messages, readAll, stored } from "./support/store-reading.ts";
import { BORN_MS, isFenced, type NewSubject, OVER, RELEASED, ROOM } from "./support/store-subject.ts";

export function ownershipContract(subject: NewSubject): void {
  test("a claim raises the epoch by one and keeps the room", async (t) => {
    const { store, wall } = await subject(t);
    const first = await store.claim(ROOM);
    await store.append(first, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 60_000;
    const second = await store.claim(ROOM);
    assert.equal(second.epoch, first.epoch + 1);
    assert.equal(second.base, BORN_MS);
    assert.equal(second.head, BORN_MS + 1);
    assert.equal(second.checkpoint, "one");
  });

  test("an overtaken owner is fenced and has changed nothing", async (t) => {
    const { store } = await subject(t);
    const old = await store.claim(ROOM);
    await store.append(old, BORN_MS, messages(["a"]), "one");
    const current = await store.claim(ROOM);
    await assert.rejects(store.append(old, BORN_MS + 1, messages(["b"]), "stolen"), isFenced);
    await assert.rejects(store.append(old, BORN_MS + 1, [], "stolen"), isFenced);
    await assert.rejects(store.finish(old, OVER), isFenced);
    const { epoch: _, ...record } = current;
    assert.partialDeepStrictEqual(await store.getRoom(ROOM), record);
    assert.deepEqual(
      await store.append(current, BORN_MS + 1, messages(["b"]), "two"),
      stored(BORN_MS + 1, ["b"]),
    );
  });

  test("an append that expects another head is fenced and has changed nothing", async (t) => {
    const { store } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "one");
    const before = await store.getRoom(ROOM);
    for (const head of [BORN_MS, BORN_MS + 1, BORN_MS + 3, 0]) {
      await assert.rejects(store.append(claim, head, messages(["c"]), "two"), isFenced);
    }
    assert.deepEqual(await store.getRoom(ROOM), before);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"]));
  });

  test("a room that the store does not know is fenced", async (t) => {
    const { store } = await subject(t);
    const claim = { videoId: ROOM, epoch: 1 };
    await assert.rejects(store.append(claim, 0, messages(["a"]), ""), isFenced);
    await assert.rejects(store.finish(claim, OVER), isFenced);
  });

  test("a fenced append spoils none of those that are under way with it", async (t) => {
    const { store } = await subject(t);
    const rooms = await Promise.all([...Array(20).keys()].map((n) => store.claim(`room-${n}`)));
    const appends = rooms.map((room, n) =>
      store.append(n % 2 ? room : { ...room, epoch: room.epoch - 1 }, BORN_MS, messages(["a"]), ""),
    );
    const outcomes = await Promise.allSettled(appends);
    for (const [n, outcome] of outcomes.entries()) {
      if (n % 2) assert.equal(outcome.status, "fulfilled");
      else assert.ok(outcome.status === "rejected" && isFenced(outcome.reason));
      assert.equal((await readAll(store, `room-${n}`)).length, n % 2);
    }
  });

  test("a finished room takes nothing more, until it is claimed again and goes on", async (t) => {
    const { store, wall } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 10;
    await store.finish(claim, RELEASED);
    const finished = await store.getRoom(ROOM);
    assert.deepEqual(finished?.end, RELEASED);
    assert.equal(finished?.endedAt, BORN_MS + 10);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isFenced);
    await assert.rejects(store.finish(claim, OVER), isFenced);
    assert.deepEqual((await store.getRoom(ROOM))?.end, RELEASED);

    const again = await store.claim(ROOM);
    assert.equal(again.end, null);
    assert.equal(again.endedAt, null);
    assert.equal(again.checkpoint, "one");
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isFenced);
    await store.append(again, BORN_MS + 1, messages(["a", "b"]), "two");
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"]));
  });

  test("a failed room's end keeps its error", async (t) => {
    const { store } = await subject(t);
    const end: RoomEnd = { state: "failed", error: { code: "UPSTREAM_ERROR", message: 'it said "no"' } };
    await store.finish(await store.claim(ROOM), end);
    assert.deepEqual((await store.getRoom(ROOM))?.end, end);
  });
}
