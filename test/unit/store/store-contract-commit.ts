/** The part of the stores' contract that is about commits that fail. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { messages, readAll, settled, stored } from "../../support/store-reading.ts";
import { BORN_MS, isUnavailable, type NewSubject, ownedRoom, ROOM } from "../../support/store-subject.ts";

export function commitContract(subject: NewSubject): void {
  test("readers and followers see nothing of a commit that failed, and the next one takes its cursors", async (t) => {
    const { store, claim, poison } = await ownedRoom(subject, t);
    await poison("poison");
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    const items = store.follow(ROOM, BORN_MS + 1, new AbortController().signal)[Symbol.asyncIterator]();
    const next = items.next();
    await settled(store);

    const batch = messages(["b", "poison"]);
    await assert.rejects(store.append(claim, BORN_MS + 1, batch, "two"), isUnavailable);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a"]));
    const { head, checkpoint } = (await store.getRoom(ROOM)) ?? {};
    assert.deepEqual({ head, checkpoint }, { head: BORN_MS + 1, checkpoint: "one" });

    const added = await store.append(claim, BORN_MS + 1, messages(["c", "b"]), "two");
    assert.deepEqual(added, stored(BORN_MS + 1, ["c", "b"]));
    assert.deepEqual(await next, { done: false, value: added });
  });

  test("a room whose first commit failed exists for nobody", async (t) => {
    const { store, claim, poison } = await ownedRoom(subject, t);
    await poison("poison");
    await assert.rejects(store.append(claim, BORN_MS, messages(["poison"]), ""), isUnavailable);
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.deepEqual(await store.listRooms(9), []);
    assert.deepEqual(await store.append(claim, BORN_MS, messages(["a"]), ""), stored(BORN_MS, ["a"]));
  });
}
