/** The promises of every store about appends that overwrite messages, and about the search for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EncodedMessage, StoredMessage } from "../../../src/store/stored-message.ts";
import { messages, own, readAll, saying, stored } from "../../support/store-reading.ts";
import { BORN_MS, isFenced, type NewSubject, OTHER, ownedRoom, ROOM } from "../../support/store-subject.ts";

const by = (id: string, details: object): EncodedMessage => saying(id, "", details);
const empty = (id: string): EncodedMessage => saying(id, "", {});
const idsOf = (found: readonly StoredMessage[]) => found.map(({ id }) => id).sort();

export function overwriteContract(subject: NewSubject): void {
  test("overwrites stored messages with the append, and cursors stay dense", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const other = await own(store, OTHER);
    await store.append(other, other.head, messages(["b"]), "");
    await store.append(claim, BORN_MS, messages(["a", "b", "c"]), "one");
    const over = [empty("b"), empty("nobody's")];
    const added = await store.append(claim, BORN_MS + 3, messages(["d"]), "two", over);
    assert.deepEqual(added, stored(BORN_MS + 3, ["d"]), "what it overwrote is not among what it added");
    const expected = stored(BORN_MS, ["a", "b", "c", "d"]);
    expected[1] = { ...empty("b"), cursor: BORN_MS + 2, storedAt: BORN_MS };
    assert.deepEqual(await readAll(store, ROOM), expected);
    assert.deepEqual(await store.messagesById(ROOM, ["b"]), [expected[1]]);
    assert.deepEqual(await readAll(store, OTHER), stored(other.head, ["b"]), "another room's stays");
    assert.deepEqual(await store.append(claim, BORN_MS + 4, messages(["b"]), "three"), [], "its id is held");
    assert.equal((await store.getRoom(ROOM))?.checkpoint, "three");
  });

  test("overwrites nothing if the append is refused", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    await own(store, ROOM);
    await assert.rejects(store.append(claim, BORN_MS + 1, [], "", [empty("a")]), isFenced);
    const next = await own(store, ROOM);
    await assert.rejects(store.append(next, BORN_MS, messages(["b"]), "", [empty("a")]), isFenced);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a"]));
  });

  test("overwritten messages are pruned and moved like others", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    wall.nowMs += 1000;
    await store.append(claim, BORN_MS + 1, messages(["b", "c"]), "");
    assert.equal(await store.prune(500, 10), 1);
    await store.append(claim, BORN_MS + 3, [], "", [empty("c"), empty("a")]);
    assert.deepEqual(await readAll(store, ROOM), [
      ...stored(BORN_MS + 1, ["b"], wall.nowMs),
      { ...empty("c"), cursor: BORN_MS + 3, storedAt: wall.nowMs },
    ]);
    wall.nowMs += 10_000;
    await store.moveCursors();
    const [, moved] = await readAll(store, ROOM);
    assert.equal(moved?.body, empty("c").body);
  });

  test("finds messages of one room by the beginning of their ids, and by their author", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const other = await own(store, OTHER);
    const batch = [
      by("a:1", { authorId: "UC1" }),
      by("a:2", { target: { authorId: "UC1" } }),
      by("a;", { authorId: "UC1 " }),
      by("a", { authorId: 'U"C\\é', target: { authorId: "UC1" } }),
      by("ba:", { header: '"authorId":"UC1"' }),
      by("%", {}),
    ];
    await store.append(claim, BORN_MS, batch, "");
    await store.append(other, other.head, batch.slice(0, 1), "");
    const [first] = await store.find(ROOM, { idPrefix: "a:1" });
    assert.deepEqual(first, { ...batch[0], cursor: BORN_MS + 1, storedAt: BORN_MS });
    assert.deepEqual(idsOf(await store.find(ROOM, { idPrefix: "a:" })), ["a:1", "a:2"]);
    assert.deepEqual(idsOf(await store.find(ROOM, { idPrefix: "%" })), ["%"]);
    assert.deepEqual(idsOf(await store.find(ROOM, { authorId: "UC1" })), ["a:1"]);
    assert.deepEqual(idsOf(await store.find(ROOM, { authorId: 'U"C\\é' })), ["a"]);
    assert.deepEqual(await store.find("nobody's room", { authorId: "UC1" }), []);
  });
}
