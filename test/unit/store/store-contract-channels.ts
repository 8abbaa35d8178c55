/** The part of the stores' contract that is about the videos and the channels of rooms. */
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

  test("keeps what the video of a room is, and shows it with the room", async (t) => {
    const { store } = await subject(t);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [], "{}");
    const shown = async () => [
      (await store.getRoom(ROOM))?.video,
      (await store.listRooms(1))[0]?.video,
      (await store.getAccount(ROOM))?.video,
    ];
    assert.deepEqual(await shown(), [null, null, null]);
    for (const video of [`{"title":"ø \\u202e\\u0001 \\ud800"}`, "{}"]) {
      await store.setVideo(ROOM, video);
      await store.append(hold, hold.head, [], "{}");
      assert.deepEqual(await shown(), [video, video, video]);
    }
    await store.setVideo(OTHER, "{}");
    assert.equal(await store.getRoom(OTHER), undefined);
  });

  test("knows which channels it has videos of, by each of their names", async (t) => {
    const { store } = await subject(t);
    const [id, other] = ["UCa-b_0123456789abcdefgh", "UCa-b_0123456789abcdefgg"];
    for (const key of [ROOM, OTHER]) {
      const hold = await own(store, key);
      await store.append(hold, hold.head, [], "{}");
    }
    const known = async (names: readonly string[]) => {
      const found = await Promise.all(names.map((name) => store.hasChannel(name)));
      return names.filter((_, at) => found[at]);
    };
    const names = [id, other, "@einar.ø", "@einar", "c/old", "@said", "@título"];
    assert.deepEqual(await known(names), []);
    await store.setChannels(ROOM, [id, "@einar.ø", "c/old"]);
    assert.deepEqual(await known(names), [id, "@einar.ø", "c/old"]);
    await store.setChannels(ROOM, []);
    const title = `"handle":"@said" @einar`;
    await store.setVideo(
      OTHER,
      JSON.stringify({ title, channel: { id: other, name: "@said", handle: "@título" } }),
    );
    assert.deepEqual(await known(names), [other, "@título"]);
  });

  test("keeps no channel of a video that has no room", async (t) => {
    const { store } = await subject(t);
    await store.setChannels(OTHER, ["@somebody"]);
    assert.deepEqual(await store.getChannels(OTHER), []);
    assert.equal(await store.getRoom(OTHER), undefined);
  });
}
