/** `GET /v1/rooms/{videoId}`: one stored room as the list has it, with the totals of its chat. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { RoomResponse } from "../../../src/http/schemas/room-schemas.ts";
import type { ListedRoom, ShownRoom } from "../../../src/rooms/listing.ts";
import { encodeMessage } from "../../../src/store/stored-message.ts";
import { ask, assertRefused, post } from "../../support/api.ts";
import { authorDeletionOf, deletionOf, paidAction, textAction } from "../../support/chat-actions.ts";
import { eventually } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { own } from "../../support/store-reading.ts";
import { fileStore } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";
import { said } from "../../support/totals-judge.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "never-read1";

let relay: TestRelay;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const show = (videoId: string, { url } = relay) => ask<ShownRoom>(url, `/v1/rooms/${videoId}`);

/** A viewer of a chat of four messages: three are paid, one of them in an unknown currency. */
async function readPaidChat(videoId: string) {
  const chat = relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 5 });
  chat.say([
    textAction("a"),
    paidAction("p", "€1,234.10"),
    paidAction("q", "€0.20"),
    paidAction("r", "kr 5"),
  ]);
  const stream = await Stream.open(relay.url, { videoId });
  await stream.untilMessages(4);
  return { chat, stream, [Symbol.asyncDispose]: () => stream.close() };
}

describe("one room", () => {
  it("is shown as in the list", async () => {
    await using paid = await readPaidChat("paid-video1");
    const { status, body } = await show("paid-video1");
    assert.equal(status, 200);
    const { totals, chats, ...room } = body;
    assert.deepEqual(chats, ["live"]);
    const { rooms } = (await ask<{ rooms: ListedRoom[] }>(relay.url, "/v1/rooms")).body;
    const listed = rooms.find(({ videoId }) => videoId === "paid-video1");
    assert.deepEqual({ ...room, lateMs: 0 }, { ...listed, lateMs: 0 });
    assert.deepEqual([totals.firstAt, totals.lastAt], [room.firstAt, room.lastAt]);
    assert.equal(totals.cursor, paid.stream.messages.at(-1)?.cursor);
  });

  it("has totals by type and by currency", async () => {
    await using _ = await readPaidChat("paid-video2");
    const { totals } = (await show("paid-video2")).body;
    assert.deepEqual(Object.keys(totals), Object.keys(RoomResponse.properties.totals.properties));
    const { authors, firstAt, lastAt, cursor, ...counts } = totals;
    assert.ok(authors > 0);
    const none = { deletedPaid: [], memberships: 0, uncounted: 0 };
    const paid = [{ currency: "EUR", count: 2, sum: 1234.3 }];
    assert.deepEqual(counts, { types: { chat: 1, superchat: 3 }, paid, unreadable: 1, ...none });
  });

  it("has totals that follow its deletions, under any form of its address", async () => {
    await using paid = await readPaidChat("paid-video3");
    assert.deepEqual((await show("paid-video3")).body.totals.deletedPaid, []);
    paid.chat.say([deletionOf("q"), deletionOf("r"), authorDeletionOf("UCnobody")]);
    await paid.stream.untilMessages(7);
    const address = `https://youtu.be/paid-video3?t=${"1".repeat(200)}`;
    const { totals } = (await show(encodeURIComponent(address))).body;
    assert.deepEqual(totals.paid, [{ currency: "EUR", count: 1, sum: 1234.1 }]);
    assert.deepEqual(totals.deletedPaid, [
      { currency: "EUR", count: 1, sum: 0.2 },
      { currency: null, count: 1, sum: 0 },
    ]);
    assert.deepEqual([totals.unreadable, totals.types.deleted, totals.types.author_deleted], [0, 2, 1]);
  });

  it("that was never stored is NOT_STORED, without a call to the upstream", async () => {
    const { length } = relay.upstream.requests;
    const message = assertRefused(await show(OTHER), 404, "NOT_STORED");
    assert.match(message, /nothing is stored of video never-read1/i);
    assert.deepEqual(
      relay.upstream.requests.slice(length).filter(({ videoId }) => videoId === OTHER),
      [],
    );
  });

  it("is refused under another name, with a parameter, and by another method", async () => {
    assertRefused(await show("tooshort"), 400, "INVALID_VIDEO_ID");
    assertRefused(await show("x".repeat(3000)), 400, "INVALID_REQUEST");
    const message = assertRefused(await show(`${OTHER}?detials=true`), 400, "INVALID_REQUEST");
    assert.equal(message, "detials: is not a parameter of this endpoint; use one of chat, activity.");
    const wrong = await post(relay.url, `/v1/rooms/${OTHER}`, {});
    assertRefused(wrong, 405, "METHOD_NOT_ALLOWED");
    assert.equal(wrong.headers.get("allow"), "GET, HEAD, OPTIONS");
    assertRefused(await show(`${OTHER}/totals`), 404, "NOT_FOUND");
  });

  it("is shown without its egress if the list of rooms is not public", async () => {
    await using closed = await startRelay({ settings: { RELAY_PUBLIC: "watch" } });
    closed.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    await using stream = await Stream.open(closed.url, { videoId: VIDEO });
    await stream.untilMessages(3);
    const { body } = await show(VIDEO, closed);
    assert.deepEqual([body.state, body.viewers, body.egress, body.fullAnswers], ["polling", 1, null, null]);
    assert.equal(body.totals.types.chat, 3);
  });

  it("that an earlier process left uncounted is counted after a start, even without requests", async (t) => {
    const { path, store } = await fileStore(t);
    const hold = await own(store, VIDEO);
    await store.append(hold, hold.head, [encodeMessage(said("chat", "a"))], "");
    await store.close();
    const settings = { RELAY_STORE: `sqlite:${path}`, RELAY_RETENTION_DAYS: "0" };
    await using later = await startRelay({ settings });
    assert.ok(later.url);
    const file = new DatabaseSync(path, { readOnly: true });
    t.after(() => file.close());
    await eventually(1, () => file.prepare("select count(*) as tallies from tally").get()?.tallies);
  });
});
