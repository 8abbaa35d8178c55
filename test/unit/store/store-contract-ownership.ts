/** The part of the stores' contract that is about who may write. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDED, RELEASED, type RoomEnd } from "../../../src/protocol/chat.ts";
import type { ChatKey } from "../../../src/protocol/chat-key.ts";
import type { Hold } from "../../../src/store/ownership.ts";
import { followed, messages, own, readAll, settled, stored } from "../../support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  isFenced,
  type NewSubject,
  OTHER,
  ownedRoom,
  ROOM,
} from "../../support/store-subject.ts";

const NEVER = new AbortController().signal;

export function ownershipContract(subject: NewSubject): void {
  test("a room that is taken before it exists is hidden, and begins at the clock's milliseconds", async (t) => {
    const { store } = await subject(t);
    const hold = await own(store, ROOM);
    assert.ok(Number.isSafeInteger(hold.epoch));
    assert.deepEqual([hold.key, hold.room, hold.head], [ROOM, undefined, BORN_MS]);
    hold.assertHeld();
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.deepEqual(await store.listRooms(10), []);
    assert.deepEqual(await readAll(store, ROOM), []);
  });

  test("the first append creates the room", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    wall.nowMs += 1000;
    await store.append(claim, claim.head, [], "one");
    const room = {
      key: ROOM,
      base: BORN_MS,
      floor: BORN_MS,
      head: BORN_MS,
      checkpoint: "one",
      readAgoMs: 0,
      end: null,
      endedAgoMs: null,
      video: null,
    };
    assert.deepEqual(await store.getRoom(ROOM), room);
    wall.nowMs += 1000;
    assert.deepEqual(await store.getRoom(ROOM), { ...room, readAgoMs: 1000 });
  });

  test("a taken room has the next epoch, and everything that it had", async (t) => {
    const { store, wall } = await subject(t);
    const first = await own(store, ROOM);
    await store.append(first, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 60_000;
    const second = await own(store, ROOM);
    assert.equal(second.epoch, first.epoch + 1);
    assert.equal(second.head, BORN_MS + 1);
    assert.deepEqual(second.room, {
      key: ROOM,
      base: BORN_MS,
      floor: BORN_MS,
      head: BORN_MS + 1,
      checkpoint: "one",
      readAgoMs: 60_000,
      end: null,
      endedAgoMs: null,
      video: null,
    });
    assert.deepEqual(await store.getRoom(ROOM), second.room);
  });

  test("an overtaken owner is fenced and has changed nothing", async (t) => {
    const { store } = await subject(t);
    const old = await own(store, ROOM);
    await store.append(old, BORN_MS, messages(["a"]), "one");
    const current = await own(store, ROOM);
    await assert.rejects(store.append(old, BORN_MS + 1, messages(["b"]), "stolen"), isFenced);
    await assert.rejects(store.append(old, BORN_MS + 1, [], "stolen"), isFenced);
    await assert.rejects(store.finish(old, ENDED), isFenced);
    await old.giveBack();
    assert.deepEqual(await store.getRoom(ROOM), current.room);
    current.assertHeld();
    assert.deepEqual(
      await store.append(current, BORN_MS + 1, messages(["b"]), "two"),
      stored(BORN_MS + 1, ["b"]),
    );
  });

  test("an overtaken owner of a room not yet there is fenced, too, and takes nothing from the next", async (t) => {
    const { store } = await subject(t);
    const old = await own(store, ROOM);
    const current = await own(store, ROOM);
    assert.ok(current.epoch > old.epoch, `epoch ${current.epoch} after ${old.epoch}`);
    assert.throws(() => old.assertHeld(), isFenced);
    await assert.rejects(store.append(old, old.head, messages(["stolen"]), "stolen"), isFenced);
    await old.giveBack();
    current.assertHeld();
    await store.append(current, current.head, messages(["a"]), "one");
    assert.deepEqual(await readAll(store, ROOM), stored(current.head, ["a"]));
  });

  test("an append that expects another head is fenced and has changed nothing", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "one");
    const before = await store.getRoom(ROOM);
    for (const head of [BORN_MS, BORN_MS + 1, BORN_MS + 3, 0]) {
      const hold = await own(store, ROOM);
      await assert.rejects(store.append(hold, head, messages(["c"]), "two"), isFenced);
    }
    assert.deepEqual(await store.getRoom(ROOM), before);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"]));
  });

  test("a room that the store does not know is fenced", async (t) => {
    const { store } = await subject(t);
    const claim = { key: ROOM, epoch: 1 };
    await assert.rejects(store.append(claim, 0, messages(["a"]), ""), isFenced);
    await assert.rejects(store.finish(claim, ENDED), isFenced);
    assert.equal(await store.getRoom(ROOM), undefined);
  });

  test("a room without an append cannot be finished, and its followers see no end", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const following = followed(store, ROOM, BORN_MS, { count: 1 });
    await settled(store);
    await assert.rejects(store.finish(claim, ENDED), isFenced);
    assert.throws(() => claim.assertHeld(), isFenced);
    assert.equal(await store.getRoom(ROOM), undefined);
    const next = await own(store, ROOM);
    assert.deepEqual([next.room, next.head], [undefined, BORN_MS]);
    await store.append(next, BORN_MS, messages(["a"]), "");
    const seen = { messages: stored(BORN_MS, ["a"]), batches: [1], end: undefined };
    assert.deepEqual(await following, seen);
  });

  test("a fenced append does not affect concurrent ones", async (t) => {
    const { store } = await subject(t);
    const rooms = await Promise.all([...Array(20).keys()].map((n) => own(store, `room-${n}`)));
    const appends = rooms.map(({ key, epoch }, n) =>
      store.append({ key, epoch: n % 2 ? epoch : epoch - 1 }, BORN_MS, messages(["a"]), ""),
    );
    const outcomes = await Promise.allSettled(appends);
    for (const [n, outcome] of outcomes.entries()) {
      if (n % 2) assert.equal(outcome.status, "fulfilled");
      else assert.ok(outcome.status === "rejected" && isFenced(outcome.reason));
      assert.equal((await readAll(store, `room-${n}`)).length, n % 2);
    }
  });

  test("a finished room accepts nothing more, and stays finished until its next owner's first append", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 10;
    await store.finish(claim, RELEASED);
    const finished = await store.getRoom(ROOM);
    assert.deepEqual([finished?.end, finished?.endedAgoMs, finished?.readAgoMs], [RELEASED, 0, 10]);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isFenced);
    await assert.rejects(store.finish(claim, ENDED), isFenced);
    assert.deepEqual(await store.getRoom(ROOM), finished);

    wall.nowMs += 10;
    const between = await own(store, ROOM);
    const again = await own(store, ROOM);
    assert.deepEqual(again.room, { ...finished, endedAgoMs: 10, readAgoMs: 20 });
    assert.deepEqual(await store.getRoom(ROOM), again.room);
    const { end } = await followed(store, ROOM, BORN_MS);
    assert.deepEqual(end, RELEASED, "nothing was appended since");
    for (const old of [claim, between])
      await assert.rejects(store.append(old, BORN_MS + 1, messages(["b"]), ""), isFenced);
    await store.append(again, BORN_MS + 1, messages(["a", "b"]), "two");
    assert.partialDeepStrictEqual(await store.getRoom(ROOM), { end: null, endedAgoMs: null });
    assert.deepEqual(await readAll(store, ROOM), [
      ...stored(BORN_MS, ["a"]),
      ...stored(BORN_MS + 1, ["b"], wall.nowMs),
    ]);
  });

  test("a failed room's end keeps its error", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const end: RoomEnd = { state: "failed", error: { code: "UPSTREAM_ERROR", message: 'it said "no"' } };
    await store.append(claim, claim.head, [], "");
    await store.finish(claim, end);
    assert.deepEqual((await store.getRoom(ROOM))?.end, end);
  });

  test("a room that is given back before its first append leaves nothing", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await claim.giveBack();
    assert.equal(await store.getRoom(ROOM), undefined);
    await assert.rejects(store.append(claim, BORN_MS, messages(["a"]), ""), isFenced);
    await claim.giveBack();
    assert.equal(await store.getRoom(ROOM), undefined);
    wall.nowMs += 1000;
    const next = await own(store, ROOM);
    assert.deepEqual([next.room, next.head], [undefined, BORN_MS + 1000]);
    assert.ok(next.epoch > claim.epoch);
  });

  test("a finished room that is taken and given back is finished as before, however often", async (t) => {
    const { store, wall } = await subject(t);
    const first = await own(store, ROOM);
    await store.append(first, BORN_MS, messages(["a"]), "one");
    await store.finish(first, ENDED);
    const finished = await store.getRoom(ROOM);
    for (const agoMs of [1000, 2000]) {
      wall.nowMs += 1000;
      await own(store, ROOM); // its owner died
      const hold = await own(store, ROOM);
      assert.deepEqual(await followed(store, ROOM, BORN_MS + 1), { messages: [], batches: [], end: ENDED });
      await hold.giveBack();
      assert.deepEqual(await store.getRoom(ROOM), { ...finished, readAgoMs: agoMs, endedAgoMs: agoMs });
      assert.deepEqual(await followed(store, ROOM, BORN_MS + 1), { messages: [], batches: [], end: ENDED });
      await assert.rejects(store.append(hold, BORN_MS + 1, messages(["b"]), ""), isFenced);
    }
    const next = await own(store, ROOM);
    await store.append(next, BORN_MS + 1, [], "two");
    await next.giveBack();
    assert.equal((await store.getRoom(ROOM))?.end, null, "the append has opened it");
  });

  test("an open room that is given back is unchanged, and continues under its next owner", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    const before = await store.getRoom(ROOM);
    await claim.giveBack();
    assert.deepEqual(await store.getRoom(ROOM), before);
    const next = await own(store, ROOM);
    assert.deepEqual(next.room, before);
    await next.giveBack();
    assert.deepEqual(await store.getRoom(ROOM), before);
  });

  test("open rooms without an owner are found if they were read within the grace time and have viewers", async (t) => {
    const { store, wall } = await subject(t);
    const { ownership } = store;
    await own(store, "never-read");
    for (const name of ["r-old", "r-edge", "r-finished", "r-young"]) {
      wall.nowMs += 100;
      const hold = await own(store, name);
      await store.append(hold, hold.head, [], name);
      if (name === "r-finished") await store.finish(hold, ENDED);
      await hold.giveBack();
    }
    for (const name of ["never-read", "r-edge", "r-finished", "r-young"]) ownership.setViewers(name, 1);
    await ownership.watchedForMs(ROOM); // when earlier reports are known
    for await (const keys of ownership.orphans(200, NEVER)) {
      assert.deepEqual([...keys].sort(), ["r-edge", "r-young"]);
      break;
    }
  });

  test("a hold that was fenced once writes nothing more, even if it would now be right", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    await assert.rejects(store.append(claim, BORN_MS, messages(["b"]), "two"), isFenced);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), "two"), isFenced);
    await assert.rejects(store.finish(claim, ENDED), isFenced);
    assert.partialDeepStrictEqual(await store.getRoom(ROOM), { checkpoint: "one", end: null });
  });

  const losses: Record<string, (store: FullStore, hold: Hold, head: number) => Promise<unknown>> = {
    "it is taken again": (store) => own(store, ROOM),
    "a write is fenced": (store, hold, head) => store.append(hold, head + 1, [], "").catch(() => {}),
    "the room is finished": (store, hold) => store.finish(hold, ENDED),
    "it is given back": (_, hold) => hold.giveBack(),
    "the store is closed": (store) => store.close(),
  };
  for (const [event, happens] of Object.entries(losses)) {
    test(`a room is held until ${event}`, async (t) => {
      const { store, claim } = await ownedRoom(subject, t);
      await store.append(claim, claim.head, messages(["a"]), "");
      claim.assertHeld();
      await happens(store, claim, claim.head + 1);
      assert.throws(() => claim.assertHeld(), isFenced);
    });
  }

  test("a room is given back when the scope that took it ends, unless it is kept", async (t) => {
    const { store } = await subject(t);
    const take = async (key: ChatKey, isKept: boolean) => {
      await using hold = await own(store, key);
      await store.append(hold, hold.head, messages(["a"]), "");
      if (isKept) hold.keep();
      hold.assertHeld();
      return hold;
    };
    const scoped = await take(ROOM, false);
    const kept = await take(OTHER, true);
    assert.throws(() => scoped.assertHeld(), isFenced);
    kept.assertHeld();
    await store.append(kept, kept.head + 1, messages(["b"]), "");
    await kept.giveBack();
    assert.throws(() => kept.assertHeld(), isFenced);
    assert.equal((await readAll(store, OTHER)).length, 2);
  });

  test("a room is given back at once, before the store has answered", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, claim.head, messages(["a"]), "");
    const givingBack = claim.giveBack();
    assert.throws(() => claim.assertHeld(), isFenced);
    await givingBack;
  });

  test("giving back a hold of a closed store succeeds silently", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.close();
    await claim.giveBack();
  });

  test("a room is watched while this instance has viewers of it", async (t) => {
    const { ownership } = (await subject(t)).store;
    ownership.setViewers(ROOM, 2);
    ownership.setViewers(OTHER, 1);
    ownership.setViewers(ROOM, 1);
    ownership.setViewers(OTHER, 0);
    assert.ok((await ownership.watchedForMs(ROOM)) > 0);
    assert.equal(await ownership.watchedForMs(OTHER), 0);
  });

  test("an instance that is alone has no room to hand on", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const { ownership } = store;
    await store.append(claim, claim.head, [], "");
    ownership.setViewers(ROOM, 2);
    assert.deepEqual(await ownership.wantedElsewhere([ROOM, OTHER]), []);
    assert.equal(await ownership.oneTooMany(), undefined);
  });
}
