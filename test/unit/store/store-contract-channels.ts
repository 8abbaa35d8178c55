/** The part of the stores' contract that is about the channels of rooms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { own } from "../../support/store-reading.ts";
import { type NewSubject, OTHER, ROOM } from "../../support/store-subject.ts";

export function channelsContract(subject: NewSubject): void {
  test("keeps the names of a room's channel, and the latest of them", async (t) => {
    const { store } = await subject(t);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [], "{}");
    assert.deepEqual(await store.getChannels(ROOM), []);
    await store.setChannels(ROOM, ["UCa-b_0123456789abcdefgh", "@einar.ø"]);
    assert.deepEqual(await store.getChannels(ROOM), ["UCa-b_0123456789abcdefgh", "@einar.ø"]);
    await store.setChannels(ROOM, ["@new"]);
    await store.append(hold, hold.head, [], "{}");
    assert.deepEqual(await store.getChannels(ROOM), ["@new"]);
    await store.setChannels(ROOM, []);
    assert.deepEqual(await store.getChannels(ROOM), []);
  });

  test("keeps no channel of a video that has no room", async (t) => {
    const { store } = await subject(t);
    await store.setChannels(OTHER, ["@somebody"]);
    assert.deepEqual(await store.getChannels(OTHER), []);
    assert.equal(await store.getRoom(OTHER), undefined);
  });
}
