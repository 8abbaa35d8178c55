/** Stored messages and ends of rooms that cannot be read: they cost themselves only, and the log says so. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { chat } from "../../../client/index.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { openStore } from "../../../src/store/open.ts";
import { encodeMessage, typeOf } from "../../../src/store/stored-message.ts";
import { ask } from "../../support/api.ts";
import { damageableFile } from "../../support/damageable-places.ts";
import { startTestEdge } from "../../support/edge.ts";
import { metric, startRelay } from "../../support/relay.ts";
import { own } from "../../support/store-reading.ts";
import { ROOM } from "../../support/store-subject.ts";
import { said } from "../../support/totals-judge.ts";
import { assertToldOnce, listening } from "../../support/unreadable-rows.ts";

describe("rows that cannot be read", () => {
  it("are each counted once, and logged once per room, in SQLite", async (t) => {
    await assertToldOnce(t, await damageableFile(t));
  });

  it("stop neither a start with RELAY_DELETED=blank nor a search by author", async (t) => {
    const { url, write } = await damageableFile(t);
    const store = await openStore(url, systemClock, listening().telemetry);
    const hold = await own(store, ROOM);
    const batch = ["a", "b"].map((id) => encodeMessage(said("chat", id, { authorId: "UC1" })));
    await store.append(hold, hold.head, batch, "");
    await store.close();
    await write("update message set details = '{' where id = 'a'");
    const file = { isBlanking: true };
    const again = await openStore(url, systemClock, listening().telemetry, { file });
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
