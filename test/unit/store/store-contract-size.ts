/** The part of the stores' contract that is about a limit of its size. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import type { ChatKey } from "../../../src/protocol/chat-key.ts";
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

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A room with two messages, which is open. */
async function filled(store: FullStore, key: ChatKey, channels: string[] = []) {
  const hold = await own(store, key);
  await store.append(hold, hold.head, messages([1, 2]), "");
  if (channels.length > 0) await store.setChannels(key, channels);
  return hold;
}

export function sizeContract(subject: NewSubject): void {
  test("rooms go one by one: finished before open, and those that a recording names last", async (t) => {
    const { store, wall } = await subject(t);
    // In the order in which they begin and end.
    const rooms: [key: ChatKey, channels: string[]][] = [
      ["of-setting", []],
      ["of-list", []],
      ["of-channel", ["UCa", "@recorded"]],
      ["of-another", ["UCb", "@recorded-too"]],
      ["finished", []],
    ];
    for (const [key, channels] of rooms) {
      wall.nowMs += 10;
      const hold = await filled(store, key, channels);
      wall.nowMs += 10;
      await store.finish(hold, ENDED);
    }
    for (const key of ["open", "open-recorded", "open-later"]) {
      wall.nowMs += 10;
      await filled(store, key);
    }
    await store.recordings.addRecording("of-list");
    wall.nowMs += 10;
    const all = [...rooms.map(([key]) => key), "open", "open-recorded", "open-later"];
    const names = ["of-setting", "@recorded", "open-recorded"];
    const order: string[] = [];
    for (;;) {
      const counts = await Promise.all(all.map(async (key) => (await readAll(store, key)).length));
      const entries = await store.pruneRooms(names, 0, 10);
      if (entries === 0) break;
      assert.equal(entries, 2);
      for (const [index, key] of all.entries())
        if ((await readAll(store, key)).length < (counts[index] ?? 0)) order.push(key);
    }
    const strangers = ["of-another", "finished", "open", "open-later"];
    assert.deepEqual(order, [...strangers, "of-setting", "of-list", "of-channel", "open-recorded"]);
    const left = (await store.listRooms(10)).map(({ key }) => key).sort();
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
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 2, ["c"], BORN_MS + 1000));
    assert.equal(await store.pruneRooms([], 600, 10), 0);
    assert.equal((await readAll(store, OTHER)).length, 2);
    const added = await store.append(claim, BORN_MS + 3, messages(["d"]), "");
    assert.deepEqual(added, stored(BORN_MS + 3, ["d"], wall.nowMs));
  });

  test("a room that is kept for good goes as any other", async (t) => {
    const { store, wall } = await subject(t);
    const hold = await filled(store, "imported");
    await store.keep("imported");
    await store.finish(hold, ENDED);
    wall.nowMs += 10;
    assert.equal(await store.pruneRooms([], 0, 10), 2);
    assert.equal(await store.getRoom("imported"), undefined);
  });

  for (const [what, heardMs] of [
    ["", undefined],
    [", by the witness", BORN_MS + HOUR_MS],
  ] as const) {
    test(`with a clock in the past, rooms ended before that go, one ended now stays${what}`, async (t) => {
      const { store, wall } = await subject(t);
      for (const key of ["first", "second"]) {
        await store.finish(await filled(store, key), ENDED);
        wall.nowMs += 10;
      }
      wall.nowMs = BORN_MS - 40 * 24 * HOUR_MS;
      if (heardMs !== undefined) wall.witness.hear(heardMs);
      await store.finish(await filled(store, "third"), ENDED);
      wall.nowMs += 10;
      const left = async () => (await store.listRooms(10)).map(({ key }) => key).sort();
      assert.equal(await store.pruneRooms([], MINUTE_MS, 10), 2);
      assert.deepEqual(await left(), ["second", "third"]);
      assert.equal(await store.pruneRooms([], MINUTE_MS, 10), 2);
      assert.equal(await store.pruneRooms([], MINUTE_MS, 10), 0);
      assert.deepEqual(await left(), ["third"]);
      if (heardMs === undefined) wall.nowMs += HOUR_MS;
      else wall.witness.hear(heardMs + HOUR_MS);
      assert.equal(await store.pruneRooms([], MINUTE_MS, 10), 2);
    });
  }

  test("of rooms ended with a clock in the past, the first one goes first, as the witness says", async (t) => {
    const { store, wall } = await subject(t);
    await store.finish(await filled(store, "first"), ENDED);
    wall.nowMs = BORN_MS - 40 * 24 * HOUR_MS;
    wall.witness.hear(BORN_MS + HOUR_MS);
    await store.finish(await filled(store, "second"), ENDED);
    wall.witness.hear(BORN_MS + 2 * HOUR_MS);
    assert.equal(await store.pruneRooms([], MINUTE_MS, 10), 2);
    assert.equal(await store.getRoom("first"), undefined);
    assert.equal((await readAll(store, "second")).length, 2);
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
