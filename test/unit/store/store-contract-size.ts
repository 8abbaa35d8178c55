/** The part of the stores' contract that is about a limit of its size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import { eventually } from "../../support/eventually.ts";
import { messages, own, readAll, saying, stored } from "../../support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  type NewSubject,
  OTHER,
  ownedRoom,
  ROOM,
} from "../../support/store-subject.ts";

/** A room with two messages, which is open. */
async function filled(store: FullStore, videoId: string, channels: string[] = []) {
  const hold = await own(store, videoId);
  await store.append(hold, hold.head, messages([1, 2]), "");
  if (channels.length > 0) await store.setChannels(videoId, channels);
  return hold;
}

export function sizeContract(subject: NewSubject): void {
  test("rooms go one by one: finished before open, and those that a recording names last", async (t) => {
    const { store, wall } = await subject(t);
    // In the order in which they begin and end.
    const rooms: [videoId: string, channels: string[]][] = [
      ["of-setting", []],
      ["of-list", []],
      ["of-channel", ["UCa", "@recorded"]],
      ["of-another", ["UCb", "@recorded-too"]],
      ["finished", []],
    ];
    for (const [videoId, channels] of rooms) {
      wall.nowMs += 10;
      const hold = await filled(store, videoId, channels);
      wall.nowMs += 10;
      await store.finish(hold, ENDED);
    }
    for (const videoId of ["open", "open-recorded", "open-later"]) {
      wall.nowMs += 10;
      await filled(store, videoId);
    }
    await store.recordings.addRecording("of-list");
    wall.nowMs += 10;
    const all = [...rooms.map(([videoId]) => videoId), "open", "open-recorded", "open-later"];
    const names = ["of-setting", "@recorded", "open-recorded"];
    const order: string[] = [];
    for (;;) {
      const counts = await Promise.all(all.map(async (videoId) => (await readAll(store, videoId)).length));
      const entries = await store.pruneRooms(names, 0, 10);
      if (entries === 0) break;
      assert.equal(entries, 2);
      for (const [index, videoId] of all.entries())
        if ((await readAll(store, videoId)).length < (counts[index] ?? 0)) order.push(videoId);
    }
    const strangers = ["of-another", "finished", "open", "open-later"];
    assert.deepEqual(order, [...strangers, "of-setting", "of-list", "of-channel", "open-recorded"]);
    const left = (await store.listRooms(10)).map(({ videoId }) => videoId).sort();
    assert.deepEqual(left, ["open", "open-later", "open-recorded"]);
  });

  test("a step deletes no more than its limit, the oldest messages of one room", async (t) => {
    const { store, wall } = await subject(t);
    const one = await own(store, ROOM);
    await store.append(one, one.head, messages([1, 2, 3, 4, 5]), "");
    await store.finish(one, ENDED);
    await filled(store, OTHER);
    wall.nowMs += 10;
    assert.equal(await store.pruneRooms([], 0, 2), 2);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 2, [3, 4, 5]));
    assert.equal((await store.getRoom(ROOM))?.floor, BORN_MS + 2);
    assert.equal(await store.pruneRooms([], 0, 2), 2);
    assert.equal(await store.pruneRooms([], 0, 2), 1);
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.equal((await readAll(store, OTHER)).length, 2);
  });

  test("new messages of an open room stay, and it continues; a room that has just finished stays, too", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    const other = await filled(store, OTHER);
    wall.nowMs = BORN_MS + 1000;
    await store.append(claim, BORN_MS + 2, messages(["c"]), "");
    await store.finish(other, ENDED);
    wall.nowMs += 500;
    assert.equal(await store.pruneRooms([], 600, 10), 2);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 2, ["c"]));
    assert.equal(await store.pruneRooms([], 600, 10), 0);
    assert.equal((await readAll(store, OTHER)).length, 2);
    const added = await store.append(claim, BORN_MS + 3, messages(["d"]), "");
    assert.deepEqual(added, stored(BORN_MS + 3, ["d"]));
  });

  test("messages are counted into the totals of their room before they go", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const chat = [1, 2, 3].map((n) => saying(`${n}`, "hello", {}, "chat"));
    await store.append(claim, BORN_MS, chat, "");
    wall.nowMs += 10;
    assert.equal(await store.pruneRooms([], 0, 2), 2);
    const { totals } = (await store.getAccount(ROOM)) ?? {};
    assert.deepEqual(totals?.types, { chat: 3 });
  });

  test("a finished room without messages goes, too", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, [], "");
    await store.finish(claim, ENDED);
    wall.nowMs += 10;
    assert.equal(await store.pruneRooms([], 0, 10), 1);
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.equal(await store.pruneRooms([], 0, 10), 0);
  });

  test("the used size rises with the messages, and falls when they are deleted", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const text = "x".repeat(500);
    const many = Array.from({ length: 4000 }, (_, n) => saying(`${n}`, text, {}));
    for (let n = 0; n < 4; n++)
      await store.append(claim, BORN_MS + 1000 * n, many.slice(1000 * n, 1000 * (n + 1)), "");
    await store.finish(claim, ENDED);
    wall.nowMs += 10;
    const bytes = 4000 * 700;
    const isAbout = async (expected: number) => Math.abs((await store.usedBytes()) - expected) < 0.4 * bytes;
    await eventually(true, () => isAbout(bytes)); // a database's statistics are some seconds late
    for (let n = 0; n < 3; n++) assert.equal(await store.pruneRooms([], 0, 1000), 1000);
    assert.ok(await isAbout(bytes / 4), `${await store.usedBytes()} bytes`);
  });
}
