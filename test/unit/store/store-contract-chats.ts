/** The part of the stores' contract that is about the two chats of a video. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import { messages, own, readAll, stored } from "../../support/store-reading.ts";
import { BORN_MS, type NewSubject, ownedRoom, ROOM } from "../../support/store-subject.ts";

const REPLAY = chatKey(ROOM, "replay");
const MANY = [...Array(700).keys()];

export function chatsContract(subject: NewSubject): void {
  test("the live chat and the replay of a video are two rooms, which share ids but no message", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "live");
    await store.finish(claim, ENDED);
    wall.nowMs += 1000;
    const replay = await own(store, REPLAY);
    await store.append(replay, BORN_MS + 1000, messages(["a", "c"]), "replay");
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"]));
    assert.deepEqual(await readAll(store, REPLAY), stored(BORN_MS + 1000, ["a", "c"], wall.nowMs));
    assert.deepEqual((await store.getRoom(ROOM))?.end, ENDED);
    assert.equal((await store.getRoom(REPLAY))?.end, null);
    const listed = await store.listRooms(10);
    assert.deepEqual(
      listed.map(({ key }) => key),
      [REPLAY, ROOM],
    );
  });

  for (const [first, second] of [
    [ROOM, REPLAY],
    [REPLAY, ROOM],
  ] as const)
    test(`${second} begins above ${first}, even if that has run ahead of the clock`, async (t) => {
      const { store, wall } = await subject(t);
      await store.append(await own(store, first), BORN_MS, messages(MANY), "");
      wall.nowMs += 5;
      const hold = await own(store, second);
      assert.equal(hold.head, BORN_MS + 701);
      await store.append(hold, hold.head, messages(["a"]), "");
      assert.equal((await store.getRoom(second))?.base, BORN_MS + 701);
    });

  test("the two chats of a restored store move to cursors that the other does not have", async (t) => {
    const { store, wall } = await subject(t);
    await store.append(await own(store, ROOM), BORN_MS, messages(MANY), "");
    await store.append(await own(store, REPLAY), BORN_MS + 701, messages(MANY), "");
    wall.nowMs = BORN_MS + 10_000;
    assert.equal(await store.moveCursors(), 2);
    const [live, replay] = [await store.getRoom(ROOM), await store.getRoom(REPLAY)];
    assert.deepEqual([live?.base, live?.head], [wall.nowMs, wall.nowMs + 700]);
    assert.deepEqual([replay?.base, replay?.head], [wall.nowMs + 701, wall.nowMs + 1401]);
    assert.deepEqual(await readAll(store, REPLAY), stored(wall.nowMs + 701, MANY));
  });

  test("a recording of the video keeps both of its chats from the limit of the size", async (t) => {
    const { store, wall } = await subject(t);
    for (const key of [ROOM, REPLAY, "unnamed"]) {
      const hold = await own(store, key);
      await store.append(hold, hold.head, messages(["a"]), "");
      await store.finish(hold, ENDED);
      wall.nowMs += 1;
    }
    wall.nowMs += 1000;
    assert.ok((await store.pruneRooms([ROOM], 0, 10)) > 0);
    assert.equal(await store.getRoom("unnamed"), undefined);
    assert.ok((await store.getRoom(ROOM)) && (await store.getRoom(REPLAY)));
  });
}
