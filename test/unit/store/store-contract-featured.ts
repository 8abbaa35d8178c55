/** The part of the stores' contract that is about the featured message of a chat. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { own, saying } from "../../support/store-reading.ts";
import { BORN_MS, type NewSubject, OTHER, ROOM } from "../../support/store-subject.ts";

const AUTHOR = "UCaaaaaaaaaaaaaaaaaaaaaa";
const said = (id: string) => saying(id, `words of ${id}`, { authorId: AUTHOR }, "chat");
const deleted = (id: string) => saying(`deleted:${id}`, "", { target: { messageId: id } }, "deleted");
const authorDeleted = saying(
  `author_deleted:${AUTHOR}`,
  "",
  { target: { authorId: AUTHOR } },
  "author_deleted",
);

export function featuredContract(subject: NewSubject): void {
  test("keeps the last choice of a chat, with the time of the store's clock, until none is chosen", async (t) => {
    const { store } = await subject(t);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [said("a"), said("b\0")], "{}");
    assert.equal(await store.getFeatured(ROOM), undefined);
    await store.setFeatured(ROOM, "a");
    await store.setFeatured(ROOM, "b\0");
    const { now } = await store.age();
    const { messageId, at = 0 } = (await store.getFeatured(ROOM)) ?? {};
    assert.equal(messageId, "b\0");
    assert.ok(now - at < 60_000 && at <= now, `${at} at ${now}`);
    await store.append(hold, hold.head + 2, [said("c")], "{}");
    assert.deepEqual(await store.getFeatured(ROOM), { messageId, at });
    await store.setFeatured(ROOM, null);
    assert.equal(await store.getFeatured(ROOM), undefined);
  });

  test("chooses nothing in a video that has no room", async (t) => {
    const { store } = await subject(t);
    await store.setFeatured(OTHER, "a");
    assert.equal(await store.getFeatured(OTHER), undefined);
    assert.equal(await store.getRoom(OTHER), undefined);
  });

  test("yields the featured message and each change, and none once it is deleted", async (t) => {
    const { store } = await subject(t);
    const hold = await own(store, ROOM);
    let { head } = hold;
    const append = async (...messages: ReturnType<typeof said>[]) => {
      await store.append(hold, head, messages, "{}");
      head += messages.length;
    };
    await append(said("a"), said("b"), said("c"));
    const over = new AbortController();
    t.after(() => over.abort());
    // Somebody follows the chat, as a room does that has viewers.
    const following = store.follow(ROOM, head, over.signal)[Symbol.asyncIterator]();
    const values = store.fact(ROOM, "featured", over.signal)[Symbol.asyncIterator]();
    const next = async () => (await values.next()).value?.value?.message.id;
    assert.equal(await next(), undefined);
    await store.setFeatured(ROOM, "a");
    assert.equal(await next(), "a");
    await store.setFeatured(ROOM, "b");
    assert.equal(await next(), "b");
    const change = next();
    await Promise.all([following.next(), append(deleted("a"))]); // of another message
    await Promise.all([following.next(), append(deleted("b"))]);
    assert.equal(await change, undefined);
    await store.setFeatured(ROOM, "c");
    assert.equal(await next(), "c");
    await Promise.all([following.next(), append(authorDeleted, said("d"))]);
    assert.equal(await next(), undefined);
    await store.setFeatured(ROOM, "d"); // said after the deletion
    assert.equal(await next(), "d");
    over.abort();
    assert.deepEqual(await values.next(), { value: undefined, done: true });
  });

  test("a deletion that nobody followed counts as well", async (t) => {
    const { store } = await subject(t);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [said("a")], "{}");
    await store.setFeatured(ROOM, "a");
    await store.append(hold, hold.head + 1, [authorDeleted], "{}");
    const over = new AbortController();
    for await (const { value } of store.fact(ROOM, "featured", over.signal)) {
      assert.equal(value, undefined);
      over.abort();
    }
  });

  test("the choice moves with its room to other cursors, and goes with it", async (t) => {
    const { store, wall } = await subject(t);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [said("a")], "{}");
    await store.finish(hold, { state: "ended", reason: "no more continuations" });
    await store.setFeatured(ROOM, "a");
    wall.nowMs = BORN_MS + 1000;
    await store.moveCursors();
    assert.equal((await store.getFeatured(ROOM))?.messageId, "a");
    await store.prune(-1, 1000);
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.equal(await store.getFeatured(ROOM), undefined);
  });
}
