/**
 * The specification's table "States and transitions", row by row. What is left out here of an opening is held by
 * bootstrap.test.ts and bootstrap-client.test.ts, and of what an answer means by upstream-answers.test.ts.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Chat } from "../src/simulator/chat.ts";
import { roomsIn, startRelay } from "./support/relay.ts";
import { assertConsecutive, Stream } from "./support/stream.ts";
import { TEXT, VIDEO, watchedRoom } from "./support/watched-room.ts";

/** Longer than anything here takes, for asserting that something does not happen. */
const QUIET_MS = 120;

describe("no room for the video, first viewer connects, bootstrap succeeds", () => {
  it("opens one room however many come at once, even while it bootstraps", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, TEXT).say(10);
    relay.upstream.fault({ on: "popout", times: 1, as: { delayMs: 100 } });
    const viewers = await Promise.all(
      Array.from({ length: 40 }, () => Stream.open(relay.url, { videoId: VIDEO })),
    );
    await Promise.all(viewers.map((viewer) => viewer.untilMessages(10)));
    assert.equal(relay.upstream.requests.filter(({ kind }) => kind === "popout").length, 1);
    for (const viewer of viewers) assert.deepEqual(viewer.messages, viewers[0]?.messages);
    await Promise.all(viewers.map((viewer) => viewer.close()));
  });
});

describe("room polling, another viewer connects for the same video", () => {
  it("same messages and cursors; no extra upstream load", async () => {
    await using room = await watchedRoom(5, {}, { timeoutMs: 100 });
    const viewers = await Promise.all(Array.from({ length: 30 }, () => room.open()));
    room.chat.say(5);
    await Promise.all([room.viewer, ...viewers].map((viewer) => viewer.untilMessages(10)));
    for (const viewer of viewers) assert.deepEqual(viewer.messages, room.viewer.messages);
    assert.equal(room.bootstraps(), 1);
    const { requests } = room.upstream;
    assert.equal(requests.filter(({ kind }) => kind === "sw.js").length, 1);
    const polls = requests.filter(({ kind }) => kind === "get_live_chat");
    assert.equal(new Set(polls.map(({ continuation }) => continuation)).size, polls.length);
    await Promise.all(viewers.map((viewer) => viewer.close()));
  });
});

describe("room polling, last viewer disconnects", () => {
  it("room lingers: the poller is not stopped, nothing is missed, no fresh bootstrap", async () => {
    await using room = await watchedRoom(2);
    const lastEventId = room.viewer.cursors[1] ?? 0;
    await room.viewer.close();
    await roomsIn(room.relay, "lingering");
    room.chat.say(3);
    await room.upstream.requested("get_live_chat", { count: 2 });
    await using second = await room.open({ lastEventId });
    await second.untilMessages(3);
    await roomsIn(room.relay, "polling");
    assert.deepEqual(second.ids, room.ids().slice(2));
    assert.equal(room.bootstraps(), 1);
  });
});

describe("room lingering, grace period elapses with no viewer", () => {
  it("polling stops and the room is released", async () => {
    await using room = await watchedRoom(2, { RELAY_GRACE_MS: "50" });
    await room.viewer.close();
    await roomsIn(room.relay, "lingering");
    await roomsIn(room.relay, "lingering", 0);
    await delay(20); // a poll in hand may still end
    const requests = room.upstream.requests.length;
    await delay(QUIET_MS);
    assert.equal(room.upstream.requests.length, requests);
  });

  it("a viewer that comes back later opens it anew, and its cursors go on", async () => {
    await using room = await watchedRoom(3, { RELAY_GRACE_MS: "30" }, { page: 3 });
    const lastEventId = room.viewer.cursors[2] ?? 0;
    await room.viewer.close();
    await roomsIn(room.relay, "lingering");
    await roomsIn(room.relay, "lingering", 0);
    room.chat.say(2);
    await using second = await room.open({ lastEventId });
    await second.untilMessages(2);
    assert.deepEqual(second.ids, room.ids().slice(-2));
    assertConsecutive(second.cursors, lastEventId);
    assert.equal(room.bootstraps(), 2);
  });
});

describe("room polling, upstream returns no next continuation token", () => {
  const rows: [what: string, ends: (chat: Chat) => void, bootstraps: number][] = [
    ["reload-only", (chat) => chat.end("reload-only"), 1],
    ["seek-only", (chat) => chat.end("seek-only"), 1],
    ["continuations-absent", (chat) => chat.end("continuations-absent"), 1],
    ["continuations-empty", (chat) => chat.end("continuations-empty"), 1],
    ["an answer without chat, and none is found again", (chat) => chat.end("no-contents"), 2],
    ["a live chat that became a replay", (chat) => chat.change({ kind: "replay" }), 2],
  ];
  for (const [what, ends, bootstraps] of rows) {
    it(`${what}: its last messages, then the end frame 'no more continuations'`, async () => {
      await using room = await watchedRoom(2);
      if (bootstraps === 1) room.chat.say(3); // an answer without chat has no place for them
      ends(room.chat);
      assert.deepEqual((await room.viewer.ended())?.data, { reason: "no more continuations" });
      assert.deepEqual(room.viewer.ids, room.ids());
      assert.equal(room.bootstraps(), bootstraps);
      await roomsIn(room.relay, "ended");
    });
  }
});

describe("room polling, HTTP 200 with an error object that is a quota signal", () => {
  it("is a rate limit: all rooms pause, viewers stay connected, and it goes on by itself", async () => {
    await using room = await watchedRoom(1, { RELAY_COOLDOWN_MS: "300" });
    const { upstream, chat, viewer } = room;
    const other = upstream.chat("other-video", TEXT);
    other.say(1);
    await using witness = await room.open({ videoId: "other-video" });
    await witness.untilMessages(1);
    const fault = upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 1, as: "quota" });
    const asked = { videoId: VIDEO, count: 1, finished: true };
    const [hit] = await upstream.requested("get_live_chat", asked);
    for (const one of [chat, other]) one.say(1);
    await Promise.all([viewer.untilMessages(2), witness.untilMessages(2)]);
    assert.equal(fault.fired, 1);
    const after = upstream.requests.find(({ at }) => at > (hit?.finishedAt ?? 0) + 20);
    const pause = (after?.at ?? 0) - (hit?.finishedAt ?? 0);
    assert.ok(pause >= 270, `paused ${pause} ms`);
    assert.equal(room.bootstraps(), 1);
    assert.deepEqual(viewer.ids, room.ids());
  });

  it("is no failure, however often it comes", async () => {
    await using room = await watchedRoom(1, { RELAY_COOLDOWN_MS: "1", RELAY_MAX_FAILURES: "1" });
    const fault = room.upstream.fault({ on: "get_live_chat", times: 4, as: { status: 429 } });
    room.chat.say(1);
    await room.viewer.untilMessages(2);
    assert.equal(fault.fired, 4);
  });
});

describe("room polling, HTTP 200 with an error object that is not a quota signal", () => {
  it("does not count the first expiry after an answer, even where one failure is the limit", async () => {
    await using room = await watchedRoom(1, { RELAY_MAX_FAILURES: "1" });
    for (let i = 2; i < 6; i++) {
      room.chat.expireTokens();
      await room.upstream.requested("popout");
      room.chat.say(1);
      await room.viewer.untilMessages(i);
    }
  });

  it("goes on with the credentials it had where the upstream tells none any more", async () => {
    await using room = await watchedRoom(1);
    const { upstream } = room;
    for (const on of ["sw.js", "sw.js_data"] as const) {
      upstream.fault({ on, times: Number.POSITIVE_INFINITY, as: { status: 404 } });
    }
    upstream.credentials.onPages = false;
    room.chat.expireTokens();
    await upstream.requested("popout");
    room.chat.say(1);
    await room.viewer.untilMessages(2);
    assert.equal(room.bootstraps(), 2);
  });

  it("counts a token refused again before any answer came", async () => {
    await using room = await watchedRoom(1, { RELAY_MAX_FAILURES: "3" });
    const times = Number.POSITIVE_INFINITY;
    const fault = room.upstream.fault({ on: "get_live_chat", times, as: "invalid-argument" });
    assert.equal((await room.viewer.ended())?.event, "error");
    assert.equal(fault.fired, 4); // the first is free
  });
});

describe("room polling, errors accumulate up to the threshold", () => {
  it("a new viewer opens a new room, whose cursors go on", async () => {
    await using room = await watchedRoom(2, { RELAY_MAX_FAILURES: "1" });
    room.upstream.fault({ on: "get_live_chat", times: 1, as: "html" });
    assert.equal((await room.viewer.ended())?.event, "error");
    room.chat.say(1);
    const lastEventId = room.viewer.cursors.at(-1) ?? 0;
    await using again = await room.open({ lastEventId });
    await again.untilMessages(1);
    assert.deepEqual(again.cursors, [lastEventId + 1]);
  });
});
