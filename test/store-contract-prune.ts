/** The part of the stores' contract that is about forgetting. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { followed, messages, readAll, stored } from "./support/store-reading.ts";
import { BORN_MS, isFenced, type NewSubject, OTHER, OVER, ROOM } from "./support/store-subject.ts";

export function pruneContract(subject: NewSubject): void {
  test("an open room loses what is older, its floor rises, and it goes on", async (t) => {
    const { store, wall } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    wall.nowMs = BORN_MS + 100;
    await store.append(claim, BORN_MS + 2, messages(["c"]), "");
    assert.equal(await store.prune(BORN_MS, 100), 0);
    assert.equal(await store.prune(BORN_MS + 100, 100), 2);
    const room = await store.room(ROOM);
    assert.deepEqual([room?.base, room?.floor, room?.head], [BORN_MS, BORN_MS + 2, BORN_MS + 3]);
    assert.deepEqual(await store.read(ROOM, BORN_MS, 10), stored(BORN_MS + 2, ["c"]));
    assert.deepEqual(await store.find(ROOM, ["a", "c"]), stored(BORN_MS + 2, ["c"]));

    assert.equal(await store.prune(BORN_MS + 101, 100), 1);
    assert.equal((await store.room(ROOM))?.floor, BORN_MS + 3);
    assert.deepEqual(await readAll(store, ROOM), []);
    const added = await store.append(claim, BORN_MS + 3, messages(["d"]), "");
    assert.deepEqual(added, stored(BORN_MS + 3, ["d"]));
    assert.deepEqual(await readAll(store, ROOM), added);
  });

  test("a step deletes no more than its limit, oldest first over all rooms, in the middle of a batch too", async (t) => {
    const { store, wall } = await subject(t);
    const one = await store.claim(ROOM);
    const two = await store.claim(OTHER);
    await store.append(one, BORN_MS, messages([1, 2, 3, 4]), "");
    await store.append(two, BORN_MS, messages([1, 2, 3]), "");
    await store.append(one, BORN_MS + 4, messages([5, 6]), "");
    wall.nowMs += 1000;
    const floors = async () => [(await store.room(ROOM))?.floor, (await store.room(OTHER))?.floor];
    assert.equal(await store.prune(wall.nowMs, 3), 3);
    assert.deepEqual(await floors(), [BORN_MS + 3, BORN_MS]);
    assert.equal(await store.prune(wall.nowMs, 3), 3);
    assert.deepEqual(await floors(), [BORN_MS + 4, BORN_MS + 2]);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 4, [5, 6]));
    assert.deepEqual(await readAll(store, OTHER), stored(BORN_MS + 2, [3]));
    assert.equal(await store.prune(wall.nowMs, 4), 3);
    assert.equal(await store.prune(wall.nowMs, 4), 0);
  });

  test("a finished room goes whole, once nothing of it is left and its end is older too", async (t) => {
    const { store, wall } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    wall.nowMs = BORN_MS + 500;
    await store.finish(claim, OVER);
    assert.equal(await store.prune(BORN_MS + 1, 1), 1);
    assert.equal(await store.prune(BORN_MS + 500, 10), 1);
    assert.equal((await store.room(ROOM))?.floor, BORN_MS + 2);
    assert.equal(await store.prune(BORN_MS + 501, 10), 0);
    assert.equal(await store.room(ROOM), undefined);
    assert.deepEqual(await readAll(store, ROOM), []);
  });

  test("a room that never had a message goes once it is finished, and an open one stays", async (t) => {
    const { store, wall } = await subject(t);
    await store.finish(await store.claim(ROOM), OVER);
    await store.claim(OTHER);
    wall.nowMs += 1;
    assert.equal(await store.prune(wall.nowMs, 10), 0);
    assert.equal(await store.room(ROOM), undefined);
    assert.equal((await store.room(OTHER))?.videoId, OTHER);
  });

  test("a room that is born again is above its old cursors, and its old owners are fenced", async (t) => {
    const { store, wall } = await subject(t);
    const old = await store.claim(ROOM);
    await store.append(old, BORN_MS, messages(["a", "b"]), "");
    await store.finish(old, OVER);
    wall.nowMs += 1000;
    await store.prune(wall.nowMs, 10);
    const reborn = await store.claim(ROOM);
    assert.equal(reborn.base, BORN_MS + 1000);
    assert.ok(reborn.epoch > old.epoch);
    await assert.rejects(store.finish(old, OVER), isFenced);
    const added = await store.append(reborn, reborn.head, messages(["b", "a"]), "");
    assert.deepEqual(added, stored(BORN_MS + 1000, ["b", "a"]));
  });

  test("an id that was pruned is new again", async (t) => {
    const { store, wall } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    wall.nowMs += 1;
    await store.prune(wall.nowMs, 1);
    const added = await store.append(claim, BORN_MS + 2, messages(["b", "a"]), "");
    assert.deepEqual(added, stored(BORN_MS + 2, ["a"]));
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 1, ["b", "a"]));
  });

  test("a follower whose next message was pruned is told, not skipped ahead", async (t) => {
    const { store, wall } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a", "b", "c"]), "");
    wall.nowMs += 1;
    await store.prune(wall.nowMs, 2);
    await assert.rejects(followed(store, ROOM, BORN_MS + 1), /cursor/);
    assert.deepEqual(
      (await followed(store, ROOM, BORN_MS + 2, { count: 1 })).messages,
      stored(BORN_MS + 2, ["c"]),
    );
    await store.prune(wall.nowMs, 10);
    await assert.rejects(followed(store, ROOM, BORN_MS + 2), /cursor/);
  });

  test("a follower at the head does not notice that what it has read was pruned", async (t) => {
    const { store, wall } = await subject(t);
    const claim = await store.claim(ROOM);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    wall.nowMs += 1;
    await store.prune(wall.nowMs, 10);
    const following = followed(store, ROOM, BORN_MS + 1);
    await store.append(claim, BORN_MS + 1, messages(["b"]), "");
    await store.finish(claim, OVER);
    assert.deepEqual((await following).messages, stored(BORN_MS + 1, ["b"]));
  });
}
