/** The part of the stores' contract that is about who may write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RoomEnd } from "../src/protocol/chat.ts";
import type { Claim, ClaimedRoom, RoomRecord } from "../src/store/port.ts";
import { followed, messages, own, readAll, settled, stored } from "./support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  isFenced,
  type NewSubject,
  OTHER,
  OVER,
  ownedRoom,
  RELEASED,
  ROOM,
} from "./support/store-subject.ts";

export function ownershipContract(subject: NewSubject): void {
  test("a claim raises the epoch by one and keeps the room", async (t) => {
    const { store, wall } = await subject(t);
    const first = await own(store, ROOM);
    await store.append(first, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 60_000;
    const second = await own(store, ROOM);
    assert.equal(second.epoch, first.epoch + 1);
    assert.equal(second.base, BORN_MS);
    assert.equal(second.head, BORN_MS + 1);
    assert.equal(second.checkpoint, "one");
    assert.equal(second.lastEnd, null);
  });

  test("an overtaken owner is fenced and has changed nothing", async (t) => {
    const { store } = await subject(t);
    const old = await own(store, ROOM);
    await store.append(old, BORN_MS, messages(["a"]), "one");
    const current = await own(store, ROOM);
    await assert.rejects(store.append(old, BORN_MS + 1, messages(["b"]), "stolen"), isFenced);
    await assert.rejects(store.append(old, BORN_MS + 1, [], "stolen"), isFenced);
    await assert.rejects(store.finish(old, OVER), isFenced);
    const { epoch: _, lease: __, lastEnd: ___, ...record } = current;
    assert.partialDeepStrictEqual(await store.getRoom(ROOM), record);
    assert.deepEqual(
      await store.append(current, BORN_MS + 1, messages(["b"]), "two"),
      stored(BORN_MS + 1, ["b"]),
    );
  });

  test("an append that expects another head is fenced and has changed nothing", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
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
    const rooms = await Promise.all([...Array(20).keys()].map((n) => own(store, `room-${n}`)));
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
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 10;
    await store.finish(claim, RELEASED);
    const finished = await store.getRoom(ROOM);
    assert.deepEqual(finished?.end, RELEASED);
    assert.equal(finished?.endedAt, BORN_MS + 10);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isFenced);
    await assert.rejects(store.finish(claim, OVER), isFenced);
    assert.deepEqual((await store.getRoom(ROOM))?.end, RELEASED);

    await own(store, ROOM);
    const again = await own(store, ROOM);
    assert.equal(again.end, null);
    assert.equal(again.endedAt, null);
    assert.deepEqual(again.lastEnd, RELEASED, "nothing was appended under the claim before");
    assert.equal(again.checkpoint, "one");
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isFenced);
    await store.append(again, BORN_MS + 1, messages(["a", "b"]), "two");
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"]));
  });

  test("a failed room's end keeps its error", async (t) => {
    const { store } = await subject(t);
    const end: RoomEnd = { state: "failed", error: { code: "UPSTREAM_ERROR", message: 'it said "no"' } };
    await store.finish(await own(store, ROOM), end);
    assert.deepEqual((await store.getRoom(ROOM))?.end, end);
  });

  test("an abandoned claim leaves nothing of a room that never held anything", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.abandon(claim);
    assert.equal(await store.getRoom(ROOM), undefined);
    await assert.rejects(store.append(claim, BORN_MS, messages(["a"]), ""), isFenced);
    await assert.rejects(store.abandon(claim), isFenced);
  });

  test("an abandoned claim of a finished room puts its end back, as often as it is tried", async (t) => {
    const { store, wall } = await subject(t);
    const first = await own(store, ROOM);
    await store.append(first, BORN_MS, messages(["a"]), "one");
    await store.finish(first, OVER);
    const finished = await store.getRoom(ROOM);
    for (let round = 0; round < 2; round++) {
      wall.nowMs += 1000;
      await own(store, ROOM); // whoever made it died
      const claim = await own(store, ROOM);
      assert.equal((await store.getRoom(ROOM))?.end, null);
      const following = followed(store, ROOM, BORN_MS + 1);
      await settled(store);
      await store.abandon(claim);
      assert.deepEqual(await following, { messages: [], batches: [], end: OVER });
      assert.partialDeepStrictEqual(await store.getRoom(ROOM), withoutEpoch(finished));
      await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isFenced);
    }
    const next = await own(store, ROOM);
    await store.append(next, BORN_MS + 1, [], "two");
    await store.abandon(next);
    assert.equal((await store.getRoom(ROOM))?.end, null, "the append has opened it");
  });

  test("an abandoned claim of an unfinished room leaves it as it is", async (t) => {
    const { store } = await subject(t);
    await store.append(await own(store, ROOM), BORN_MS, messages(["a"]), "one");
    const before = await store.getRoom(ROOM);
    await store.abandon(await own(store, ROOM));
    assert.partialDeepStrictEqual(await store.getRoom(ROOM), withoutEpoch(before));
    assert.equal((await store.unfinishedRooms(0)).length, 1);
  });

  test("what a claim without an append leaves behind is not unfinished, and can be claimed", async (t) => {
    const { store, wall } = await subject(t);
    const finished = await own(store, OTHER);
    await store.append(finished, BORN_MS, messages(["a"]), "one");
    await store.finish(finished, OVER);
    for (const videoId of [ROOM, OTHER]) await own(store, videoId);
    assert.deepEqual(await store.unfinishedRooms(0), []);
    wall.nowMs += 1000;
    const claim = await own(store, ROOM);
    assert.equal(claim.head, BORN_MS);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    assert.equal((await store.unfinishedRooms(0)).length, 1);
    assert.deepEqual(await readAll(store, OTHER), stored(BORN_MS, ["a"]));
  });

  const losses: Record<string, (store: FullStore, claim: ClaimedRoom) => Promise<unknown>> = {
    "it is claimed again": (store) => own(store, ROOM),
    "a write is fenced": (store, claim) => store.append(claim, claim.head + 1, [], "").catch(() => {}),
    "the room is finished": (store, claim) => store.finish(claim, OVER),
    "it is abandoned": (store, claim) => store.abandon(claim),
    "the store is closed": (store) => store.close(),
  };
  for (const [event, happens] of Object.entries(losses)) {
    test(`a lease is held until ${event}`, async (t) => {
      const { store } = await subject(t);
      const claim = await own(store, ROOM);
      await store.append(claim, claim.head, messages(["a"]), "");
      claim.lease.assertHeld();
      await happens(store, { ...claim, head: claim.head + 1 });
      assert.throws(() => claim.lease.assertHeld(), isFenced);
    });
  }

  test("a room is watched while this instance has viewers in it", async (t) => {
    const { presence } = (await subject(t)).store;
    presence.watch(ROOM, 2);
    presence.watch(OTHER, 1);
    presence.watch(ROOM, 1);
    presence.watch(OTHER, 0);
    assert.ok((await presence.watchedForMs(ROOM)) > 0);
    assert.equal(await presence.watchedForMs(OTHER), 0);
  });
}

function withoutEpoch(room: RoomRecord | undefined): Partial<RoomRecord & Claim> {
  const { epoch: _, ...record }: Partial<RoomRecord & Claim> = room ?? {};
  return record;
}
