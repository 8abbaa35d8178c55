/** `GET /v1/rooms/{videoId}?activity=true`: the messages by minute, and the most active authors. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import type { ShownRoom } from "../../../src/rooms/listing.ts";
import type { Activity } from "../../../src/serving/history/activity.ts";
import type { EncodedMessage } from "../../../src/store/stored-message.ts";
import { ask } from "../../support/api.ts";
import { B, channel, said, several, withRoom } from "../../support/history.ts";
import { openStream } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { own } from "../../support/store-reading.ts";
import { ROOM } from "../../support/store-subject.ts";

const show = async (url: string, query = "?activity=true") =>
  (await ask<ShownRoom & { activity?: Activity }>(url, `/v1/rooms/${ROOM}${query}`)).body;

const saidAt = (id: string, ms: number, author = "@ines"): EncodedMessage =>
  said(id, { author, details: { publishedAt: new Date(ms).toISOString() } });

describe("the activity of a room", () => {
  it("is of all stored messages, by the chat's own time, and follows the chat", async (t) => {
    const now = Date.now();
    const minute = Math.floor(now / 60_000) * 60_000;
    const earlier = [
      saidAt("a", minute - 180_000),
      saidAt("b", minute - 180_000, '@"bo"'),
      saidAt("c", minute - 120_000, '@"bo"'),
    ];
    const { url, store, claim } = await withRoom(t, earlier);
    const at = (ms: number) => new Date(minute + ms).toISOString();
    const bo = { authorId: channel('"bo"'), author: '@"bo"' };
    const ines = { authorId: channel("ines"), author: "@ines" };
    assert.deepEqual((await show(url)).activity, {
      after: B,
      cursor: B + 3,
      lastMinute: 0,
      minutes: [
        { messages: 2, at: at(-180_000) },
        { messages: 1, at: at(-120_000) },
      ],
      authors: [
        { ...bo, messages: 2 },
        { ...ines, messages: 1 },
      ],
    });
    const newer = ["d", "e"].map((id) => saidAt(id, now));
    const deletion = said("f", { type: "deleted", author: "", details: { target: { messageId: "a" } } });
    await store.append(claim, B + 3, [...newer, deletion], "");
    const { activity, totals } = await show(url);
    assert.deepEqual(
      [activity?.cursor, activity?.lastMinute, activity?.authors[0]],
      [B + 6, 2, { ...ines, messages: 3 }],
    );
    assert.equal(activity?.minutes.at(-1)?.messages, 2);
    assert.equal(totals.cursor, B + 6);
    const target = { authorId: ines.authorId };
    const removal = said("g", { type: "author_deleted", author: "@ines", details: { target } });
    await store.append(claim, B + 6, [removal], "");
    assert.deepEqual((await show(url)).activity?.authors, [{ ...bo, messages: 2 }]);
  });

  it("of a busy chat is that of its newest 20,000 messages, in whole minutes", async (t) => {
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 600_000;
    const busy = [5, 30_000].flatMap((count, at) =>
      Array.from({ length: count }, (_, n) => saidAt(`${at}-${n}`, minute + at * 60_000, `@a${at}`)),
    );
    const { url, store, claim } = await withRoom(t, busy);
    const first = await show(url);
    assert.equal(first.activity?.after, B + 10_005);
    assert.deepEqual(first.activity?.minutes, []);
    assert.deepEqual(first.activity?.authors, [{ authorId: channel("a1"), author: "@a1", messages: 20_000 }]);
    await store.append(claim, B + 30_005, [saidAt("z", minute + 120_000, "@z")], "");
    const { activity } = await show(url);
    assert.deepEqual(activity?.minutes, [{ messages: 1, at: new Date(minute + 120_000).toISOString() }]);
  });

  it("of a replay is by the place in the video", async (t) => {
    const { url, store } = await withRoom(t, []);
    const claim = await own(store, `${ROOM}.replay`);
    const offsets = [-30_000, 10_000, 20_000, 3_600_000];
    const replayed = offsets.map((offsetMs, n) => said(n, { details: { offsetMs } }));
    await store.append(claim, B, replayed, "");
    const { activity } = await show(url, "?activity=true&chat=replay");
    assert.equal(activity?.lastMinute, null);
    assert.deepEqual(activity?.minutes, [
      { messages: 1, offsetMs: -60_000 },
      { messages: 2, offsetMs: 0 },
      { messages: 1, offsetMs: 3_600_000 },
    ]);
  });

  it("of a replay is found, though its cursors follow those of a long live chat", async (t) => {
    const { url, store } = await withRoom(t, several(20_000));
    const hold = await store.ownership.take(chatKey(ROOM, "replay"));
    assert.ok(hold);
    await store.append(hold, hold.head, [said("replayed", { details: { offsetMs: 0 } })], "");
    const { activity } = await show(url, "?activity=true&chat=replay");
    assert.deepEqual(activity?.minutes, [{ messages: 1, offsetMs: 0 }]);
  });

  it("counts the last minute by the upstream's time, whatever the clock of the service", async () => {
    const clock = { ...systemClock, now: () => Date.now() + 600_000 };
    await using relay = await startRelay({ clock });
    const chat = relay.upstream.chat(ROOM, { kinds: ["text"], timeoutMs: 50 });
    await using stream = await openStream(relay, { videoId: ROOM });
    chat.say(3);
    await stream.until(() => stream.messages.length === 3);
    assert.equal((await show(relay.url)).activity?.lastMinute, 3);
  });

  it("is not counted unless it is asked for", async (t) => {
    const { url } = await withRoom(t, [said("a")]);
    assert.equal("activity" in (await show(url, "")), false);
    assert.equal("activity" in (await show(url, "?activity=false")), false);
  });
});
