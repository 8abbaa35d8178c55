/** Stored messages and ends of rooms that cannot be read: they cost themselves only, and the log says so. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { pino } from "pino";
import { chat } from "../../../client/index.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { openStore, SHARED_DEFAULTS } from "../../../src/store/open.ts";
import { encodeMessage, typeOf } from "../../../src/store/stored-message.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { ask } from "../../support/api.ts";
import { damageableFile, damageablePlaces } from "../../support/damageable-places.ts";
import { startTestEdge } from "../../support/edge.ts";
import { testPostgres } from "../../support/postgres-server.ts";
import { metric, startRelay } from "../../support/relay.ts";
import { messages, own, readAll } from "../../support/store-reading.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";
import { said } from "../../support/totals-judge.ts";

const places = damageablePlaces(await testPostgres());

function listening() {
  const log: { msg: string; [field: string]: unknown }[] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  const told = () =>
    log.flatMap(({ msg, videoId }) => (/unreadable/.test(msg) ? [`${videoId}: ${msg}`] : []));
  return { telemetry: new Telemetry(pino({ level: "warn" }, { write })), told };
}

describe("rows that cannot be read", () => {
  for (const [name, { skip, make }] of Object.entries(places)) {
    it(`are each counted once, and logged once per room, in ${name}`, { skip }, async (t) => {
      const { url, write } = await make(t);
      const { telemetry, told } = listening();
      const store = await openStore(url, systemClock, telemetry);
      t.after(() => store.close());
      for (const videoId of [ROOM, OTHER]) {
        const hold = await own(store, videoId);
        await store.append(hold, hold.head, messages(["a", "b", "c"]), "");
        await store.finish(hold, ENDED);
      }
      await write(`update message set body = '{"type":"chat","id' where id <> 'b'`);
      const end = name === "SQLite" ? "ending" : "detail";
      await write(`update room set ${end} = '{"state":"en' where video_id = '${ROOM}'`);
      for (let times = 0; times < 3; times++) {
        assert.equal((await readAll(store, ROOM)).length, 3);
        assert.equal((await store.listRooms(9)).length, 2);
        assert.equal((await store.getRoom(ROOM))?.end?.state, "failed");
        assert.equal((await store.getAccount(OTHER))?.end?.state, "ended");
      }
      const gap = "stored message unreadable: viewers get a gap in its place";
      assert.deepEqual(told(), [`${ROOM}: ${gap}`, `${ROOM}: end of a room unreadable: it counts as failed`]);
      await readAll(store, OTHER);
      assert.deepEqual(told().slice(2), [`${OTHER}: ${gap}`]);
      const counted = await telemetry.registry.metrics();
      assert.match(counted, /^relay_unreadable_rows_total\{part="message"\} 4$/m);
      assert.match(counted, /^relay_unreadable_rows_total\{part="end"\} 1$/m);
      assert.ok(await store.isReady());
    });
  }

  it("stop neither a start with RELAY_DELETED=blank nor a search by author", async (t) => {
    const { url, write } = await damageableFile(t);
    const store = await openStore(url, systemClock, listening().telemetry);
    const hold = await own(store, ROOM);
    const batch = ["a", "b"].map((id) => encodeMessage(said("chat", id, { authorId: "UC1" })));
    await store.append(hold, hold.head, batch, "");
    await store.close();
    await write("update message set details = '{' where id = 'a'");
    const blank = { isBlanking: true };
    const again = await openStore(url, systemClock, listening().telemetry, SHARED_DEFAULTS, blank);
    t.after(() => again.close());
    const claim = await own(again, ROOM);
    const found = await again.find(ROOM, { authorId: "UC1" });
    // The damaged message may be of this author.
    assert.deepEqual(found.map((message) => `${message.id} ${typeOf(message)}`).sort(), ["a gap", "b chat"]);
    await again.append(claim, claim.head, [], "", batch);
    assert.equal((await again.find(ROOM, { authorId: "UC1" })).length, 2);
    await write("update message set details = '{' where id = 'a'");
    await again.finish(claim, ENDED);
    assert.equal(await again.prune(-1000, 9), 2);
  });
});

/** A relay on a store with a room of five messages, whose third one is damaged; the room is over. */
async function damagedRoom(t: TestContext) {
  const { url, write } = await damageableFile(t);
  const store = await openStore(url, systemClock, listening().telemetry);
  const hold = await own(store, ROOM);
  const batch = ["a", "b", "c", "d", "e"].map((id) => encodeMessage(said("chat", id, { authorId: "UC1" })));
  await store.append(hold, hold.head, batch, "");
  await store.close();
  await write(`update message set body = substr(body, 1, 40) where id = 'c'`);
  const relay = await startRelay({ settings: { RELAY_STORE: url } });
  t.after(() => relay[Symbol.asyncDispose]());
  return { relay, cursor: hold.head + 3 };
}

describe("a damaged message", () => {
  it("is a gap under its cursor for viewers, several chats, edges and the SDK", async (t) => {
    const { relay, cursor } = await damagedRoom(t);
    const edge = await startTestEdge(relay.url);
    t.after(() => edge[Symbol.asyncDispose]());
    const typesAfter = async (url: string, path: string, lastEventId: string) => {
      const headers = { "last-event-id": lastEventId };
      const text = await (await fetch(`${url}/v1/${path}&until=now&details=true`, { headers })).text();
      const data = [...text.matchAll(/^event: message\ndata: (.*)$/gm)].map(([, json = ""]) =>
        JSON.parse(json),
      );
      return data.map(({ type }) => type);
    };
    for (const { url } of [relay, edge]) {
      const types = await typesAfter(url, `stream?videoId=${ROOM}`, `${cursor - 1}`);
      assert.deepEqual(types, ["gap", "chat", "chat"]);
      const several = await typesAfter(url, `merged?videoIds=${ROOM}`, (cursor - 1).toString(36));
      assert.deepEqual(several, types);
    }
    const got: unknown[] = [];
    for await (const message of chat(relay.url, { videoId: ROOM, cursor: cursor - 1, until: "now" })) {
      got.push(message.type);
    }
    assert.deepEqual(got, ["gap", "chat", "chat"]);
    assert.equal(await metric(relay, 'relay_unreadable_rows_total{part="message"}'), 1);
  });

  it("is a gap in each format of the history, and of a download", async (t) => {
    const { relay, cursor } = await damagedRoom(t);
    for (const limit of ["500", "all"]) {
      const page = (format: string) =>
        fetch(`${relay.url}/v1/messages?videoId=${ROOM}&format=${format}&details=true&limit=${limit}`);
      const lines = (await (await page("ndjson")).text()).trimEnd().split("\n");
      const ids = lines.map((line) => JSON.parse(line).id);
      assert.deepEqual(ids, ["a", "b", `gap:${cursor - 1}`, "d", "e"]);
      assert.equal((await (await page("text")).text()).trimEnd().split("\n").length, 5);
      assert.match(await (await page("csv")).text(), /\bgap,/);
    }
    const { status, body } = await ask<{ messages: unknown[] }>(relay.url, `/v1/messages?videoId=${ROOM}`);
    assert.deepEqual([status, body.messages.length], [200, 5]);
  });
});
