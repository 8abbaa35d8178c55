/**
 * Stores of the schemas in which a video had one room, with the replay behind the live chat: opened, each
 * room is the chat that its first messages are of, with everything under its cursor.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it, type TestContext } from "node:test";
import { ENDED, RELEASED, type RoomEnd } from "../../src/protocol/chat.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { UNDO_LAST_STEPS } from "../support/schema-steps.ts";
import { own, readAll, saying } from "../support/store-reading.ts";
import { fileStore, openFor } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();

const READ_LIVE = String.raw`{"position":"{\"version\":1,\"chatType\":\"liveChatRenderer\",\"pair\":{}}"}`;
const READ_REPLAY = String.raw`{"position":"{\"version\":1,\"chatType\":\"liveChatReplayRenderer\",\"pair\":{}}"}`;
const IMPORTED = READ_REPLAY.replace(/}$/, ',"recording":{"beginning":"x","lines":1}}');
const SAID = saying("said", "live", { note: '"offsetMs":1' });
const REPLAYED = saying("replayed", "replay", { offsetMs: -5 });

/** A room of an earlier schema, and the room that it becomes. */
const ROOMS: Record<string, [checkpoint: string, said: (typeof SAID)[], end: RoomEnd | null, key: string]> = {
  "a live chat": [READ_LIVE, [SAID], null, "live"],
  "a replay": [READ_REPLAY, [REPLAYED], ENDED, "replay.replay"],
  "a replay that is read": [READ_REPLAY, [REPLAYED, SAID], null, "reading.replay"],
  "a replay without messages": [READ_REPLAY, [], null, "empty.replay"],
  "a live chat that was read on from its replay": [READ_REPLAY, [SAID, REPLAYED], null, "both"],
  "a live chat whose replay was released": [READ_REPLAY, [SAID, REPLAYED], RELEASED, "released"],
  "an imported chat": [IMPORTED, [SAID], ENDED, "imported.replay"],
  "a room that cannot be read": ["damaged", [REPLAYED], null, "damaged"],
};

/**
 * Fills a store, lets `undo` take it back to the schema before, and checks what it is once it is opened
 * again.
 */
async function check(t: TestContext, url: string, undo: () => Promise<unknown>): Promise<void> {
  const before = await openFor(t, url);
  for (const [checkpoint, said, end, key] of Object.values(ROOMS)) {
    const hold = await own(before, key.replace(".replay", ""));
    // A line of the checkpoint is as today's service wrote it under the video's name.
    await before.append(hold, hold.head, said, checkpoint.replace("liveChatReplay", "liveChatRepl_y"));
    if (end) await before.finish(hold, end);
    while ((await before.tally(hold.key, 10)) > 0);
  }
  const records = new Map<string, unknown>();
  for (const [, , , key] of Object.values(ROOMS)) {
    const name = key.replace(".replay", "");
    const { base, floor, head } = (await before.getRoom(name)) ?? {};
    records.set(key, {
      base,
      floor,
      head,
      messages: await readAll(before, name),
      totals: (await before.getAccount(name))?.totals,
    });
  }
  await before.close();
  await undo();

  const store = await openFor(t, url);
  assert.equal((await store.listRooms(100)).length, records.size);
  for (const [what, [, , end, key]] of Object.entries(ROOMS)) {
    const room = await store.getRoom(key);
    assert.ok(room, what);
    const { base, floor, head } = room;
    const found = { base, floor, head, messages: await readAll(store, key) };
    assert.deepEqual({ ...found, totals: (await store.getAccount(key))?.totals }, records.get(key), what);
    const [listed] = (await store.listRooms(100)).filter((room) => room.key === key);
    assert.equal(listed?.isKept, what === "an imported chat", what);
    const isOver = key === "both" || key === "released";
    assert.deepEqual(room.end, isOver ? ENDED : end, what);
    const hold = await own(store, key);
    const added = await store.append(hold, hold.head, [saying("next", "", {})], READ_LIVE);
    assert.deepEqual(
      added.map(({ cursor }) => cursor),
      [head + 1],
      what,
    );
  }
}

describe("the rooms of an earlier store", () => {
  it("become chats of an SQLite file", async (t) => {
    const { path, store } = await fileStore(t);
    await store.close();
    await check(t, `sqlite:${path}`, async () => {
      using database = new DatabaseSync(path);
      database.exec(`update room set checkpoint = replace(checkpoint, 'liveChatRepl_y', 'liveChatReplay');
        ${UNDO_LAST_STEPS}; pragma user_version = 3`);
    });
  });

  it("become chats of a PostgreSQL database", { skip }, async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    await check(t, url, async () => {
      await run(url, "update room set checkpoint = replace(checkpoint, 'liveChatRepl_y', 'liveChatReplay')");
      await run(
        url,
        `${UNDO_LAST_STEPS}; drop function relay_prune_room_2, relay_first_unkept, relay_append_3;
         update store set schema_version = 4`,
      );
    });
  });

  it("cannot be read on as replays by instances of the release before", { skip }, async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const store = await openFor(t, url);
    const hold = await own(store, "video");
    await store.append(hold, hold.head, [SAID], READ_LIVE);
    const append = `select * from relay_append('video', $1, $2, '{a}', '{b}', '{c}', $3, '1 s', clock_timestamp())`;
    const asked = [hold.epoch, hold.head + 1];
    assert.partialDeepStrictEqual(await run(url, append, [...asked, READ_REPLAY]), [{ added: null }]);
    assert.partialDeepStrictEqual(await run(url, append, [...asked, READ_LIVE]), [{ added: [1] }]);
  });
});
