/** The specification's table "States and transitions",, row by row. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Chat } from "../src/simulator/chat.ts";
import type { RequestKind } from "../src/simulator/requests.ts";
import { roomsIn, startRelay, type TestRelay } from "./support/relay.ts";
import { assertConsecutive, Stream, streamUrl } from "./support/stream.ts";

const VIDEO = "room-states";
const TEXT = { kinds: ["text"], timeoutMs: 5 } as const;
/** Longer than anything here takes, for asserting that something does not happen. */
const QUIET_MS = 120;

const count = (relay: TestRelay, ...kinds: RequestKind[]) =>
  relay.upstream.requests.filter(({ kind, videoId }) => kinds.includes(kind) && (videoId || VIDEO) === VIDEO)
    .length;
const bootstraps = (relay: TestRelay) => count(relay, "popout");
const open = (relay: TestRelay, options: Partial<Parameters<typeof Stream.open>[1]> = {}) =>
  Stream.open(relay.url, { videoId: VIDEO, ...options });

/** The ids of all that a chat said, in order. */
const idsOf = ({ ledger }: Pick<Chat, "ledger">) => ledger.map(({ id }) => id);

describe("no room for the video, first viewer connects, bootstrap succeeds", () => {
  it("room polls the upstream; the client/endpoint pair is fixed for the room's lifetime", async () => {
    await using relay = await startRelay();
    const works = [{ client: "TVHTML5", endpoint: "get_live_chat" }] as const;
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, works });
    chat.say(3);
    await using viewer = await open(relay);
    await viewer.untilMessages(3);
    chat.change({ works: undefined }); // WEB would work now
    chat.expireTokens();
    await relay.upstream.requested("popout");
    chat.say(2);
    await viewer.untilMessages(5);
    await roomsIn(relay, "polling");
    const polls = relay.upstream.requests.filter(
      ({ kind, status }) => kind === "get_live_chat" && status === 200,
    );
    assert.deepEqual(new Set(polls.map(({ client }) => client)), new Set(["TVHTML5"]));
  });

  it("opens one room however many come at once, even while it bootstraps", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(10);
    relay.upstream.fault({ on: "popout", times: 1, as: { delayMs: 100 } });
    const viewers = await Promise.all(Array.from({ length: 40 }, () => open(relay)));
    await Promise.all(viewers.map((viewer) => viewer.untilMessages(10)));
    assert.equal(bootstraps(relay), 1);
    for (const viewer of viewers) assert.deepEqual(viewer.messages, viewers[0]?.messages);
    await Promise.all(viewers.map((viewer) => viewer.close()));
  });

  it("goes on bootstrapping for the others when the one who came first leaves", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, TEXT).say(4);
    relay.upstream.fault({ on: "popout", times: 1, as: { delayMs: 100 } });
    const leaving = new AbortController();
    const first = fetch(streamUrl(relay.url, { videoId: VIDEO }), { signal: leaving.signal });
    await relay.upstream.requested("popout", { since: 0 });
    const second = open(relay);
    leaving.abort();
    await assert.rejects(first);
    await using viewer = await second;
    await viewer.untilMessages(4);
    assert.equal(bootstraps(relay), 1);
  });
});

describe("no room for the video, first viewer connects, a bootstrap step fails", () => {
  it("no room; JSON error with a real status code; the next viewer tries anew", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { ...TEXT, kind: "disabled" });
    const refused = await fetch(streamUrl(relay.url, { videoId: VIDEO }));
    assert.equal(refused.status, 404);
    assert.equal(((await refused.json()) as { code: string }).code, "NO_LIVE_CHAT");
    await roomsIn(relay, "polling", 0);
    relay.upstream.chat(VIDEO, TEXT).say(1);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
  });
});

describe("room polling, another viewer connects for the same video", () => {
  it("same messages and cursors; no extra upstream load", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, timeoutMs: 100 });
    chat.say(5);
    await using first = await open(relay);
    await first.untilMessages(5);
    const viewers = await Promise.all(Array.from({ length: 30 }, () => open(relay)));
    chat.say(5);
    await Promise.all([first, ...viewers].map((viewer) => viewer.untilMessages(10)));
    for (const viewer of viewers) assert.deepEqual(viewer.messages, first.messages);
    assert.equal(bootstraps(relay), 1);
    assert.equal(count(relay, "sw.js"), 1);
    const polls = relay.upstream.requests.filter(({ kind }) => kind === "get_live_chat");
    assert.equal(new Set(polls.map(({ continuation }) => continuation)).size, polls.length);
    await Promise.all(viewers.map((viewer) => viewer.close()));
  });
});

describe("room polling, last viewer disconnects", () => {
  it("room lingers: the poller is not stopped, nothing is missed, no fresh bootstrap", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(2);
    const first = await open(relay);
    const seen = await first.untilMessages(2);
    await first.close();
    await roomsIn(relay, "lingering");
    chat.say(3);
    await relay.upstream.requested("get_live_chat", { count: 2 });
    await using second = await open(relay, { lastEventId: seen[1]?.cursor ?? 0 });
    await second.untilMessages(3);
    await roomsIn(relay, "polling");
    assert.deepEqual(
      second.ids,
      chat.ledger.slice(2).map(({ id }) => id),
    );
    assert.equal(bootstraps(relay), 1);
  });
});

describe("room lingering, grace period elapses with no viewer", () => {
  it("polling stops and the room is released", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "50" } });
    relay.upstream.chat(VIDEO, TEXT).say(2);
    await (await open(relay)).close();
    await roomsIn(relay, "lingering");
    await roomsIn(relay, "lingering", 0);
    await delay(20); // a poll in hand may still end
    const polls = count(relay, "get_live_chat");
    await delay(QUIET_MS);
    assert.equal(count(relay, "get_live_chat"), polls);
  });

  it("a viewer that comes back later opens it anew, and its cursors go on", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "30" } });
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, page: 3 });
    chat.say(5);
    const first = await open(relay);
    const seen = await first.untilMessages(3);
    await first.close();
    await roomsIn(relay, "lingering");
    await roomsIn(relay, "lingering", 0);
    chat.say(2);
    await using second = await open(relay, { lastEventId: seen.at(-1)?.cursor ?? 0 });
    await second.untilMessages(2);
    assert.deepEqual(
      second.ids,
      chat.ledger.slice(-2).map(({ id }) => id),
    );
    assertConsecutive(second.cursors, seen.at(-1)?.cursor ?? 0);
    assert.equal(bootstraps(relay), 2);
  });
});

describe("room polling, upstream returns no next continuation token", () => {
  for (const shape of ["reload-only", "seek-only", "continuations-absent", "continuations-empty"] as const) {
    it(`${shape}: its last messages, then the end frame 'no more continuations'`, async () => {
      await using relay = await startRelay();
      const chat = relay.upstream.chat(VIDEO, TEXT);
      chat.say(2);
      await using viewer = await open(relay);
      await viewer.untilMessages(2);
      chat.say(3);
      chat.end(shape);
      assert.deepEqual((await viewer.ended())?.data, { reason: "no more continuations" });
      assert.deepEqual(viewer.ids, idsOf(chat));
      await roomsIn(relay, "ended");
    });
  }

  it("a live chat that answers without chat ends when one re-bootstrap finds none", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(2);
    await using viewer = await open(relay);
    await viewer.untilMessages(2);
    chat.end("no-contents");
    assert.deepEqual((await viewer.ended())?.data, { reason: "no more continuations" });
    assert.equal(bootstraps(relay), 2);
  });

  it("a live chat that became a replay is over", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(2);
    await using viewer = await open(relay);
    await viewer.untilMessages(2);
    chat.change({ kind: "replay" });
    assert.deepEqual((await viewer.ended())?.data, { reason: "no more continuations" });
  });
});

describe("room polling, HTTP 200 with an error object that is a quota signal", () => {
  it("is a rate limit: all rooms pause, viewers stay connected, and it goes on by itself", async () => {
    await using relay = await startRelay({ settings: { RELAY_COOLDOWN_MS: "300" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    const other = relay.upstream.chat("other-video", TEXT);
    for (const one of [chat, other]) one.say(1);
    await using viewer = await open(relay);
    await using witness = await open(relay, { videoId: "other-video" });
    await Promise.all([viewer.untilMessages(1), witness.untilMessages(1)]);
    const fault = relay.upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 1, as: "quota" });
    const [hit] = await relay.upstream.requested("get_live_chat", {
      videoId: VIDEO,
      count: 1,
      finished: true,
    });
    for (const one of [chat, other]) one.say(1);
    await Promise.all([viewer.untilMessages(2), witness.untilMessages(2)]);
    assert.equal(fault.fired, 1);
    const after = relay.upstream.requests.filter(({ at }) => at > (hit?.finishedAt ?? 0) + 20);
    const pause = (after[0]?.at ?? 0) - (hit?.finishedAt ?? 0);
    assert.ok(pause >= 270, `paused ${pause} ms`);
    assert.equal(bootstraps(relay), 1);
    assert.deepEqual(viewer.ids, idsOf(chat));
  });

  it("is no failure, however often it comes", async () => {
    await using relay = await startRelay({ settings: { RELAY_COOLDOWN_MS: "1", RELAY_MAX_FAILURES: "1" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(1);
    await using viewer = await open(relay);
    const fault = relay.upstream.fault({ on: "get_live_chat", times: 4, as: { status: 429 } });
    chat.say(1);
    await viewer.untilMessages(2);
    assert.equal(fault.fired, 4);
  });
});

describe("room polling, HTTP 200 with an error object that is not a quota signal", () => {
  for (const as of ["invalid-argument", "response-errors"] as const) {
    it(`${as}: an expired token; the room re-bootstraps itself, connected viewers are not interrupted`, async () => {
      await using relay = await startRelay();
      const chat = relay.upstream.chat(VIDEO, TEXT);
      chat.say(5);
      await using viewer = await open(relay);
      await viewer.untilMessages(5);
      relay.upstream.fault({ on: "get_live_chat", times: 1, as });
      await relay.upstream.requested("popout");
      chat.say(5);
      await viewer.untilMessages(10);
      assert.deepEqual(viewer.ids, idsOf(chat));
      assertConsecutive(viewer.cursors, viewer.init.cursor);
    });
  }

  it("does not count the first expiry after an answer, even where one failure is the limit", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "1" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(1);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
    for (let i = 2; i < 6; i++) {
      chat.expireTokens();
      await relay.upstream.requested("popout");
      chat.say(1);
      await viewer.untilMessages(i);
    }
  });

  it("goes on with the credentials it had where the upstream tells none any more", async () => {
    await using relay = await startRelay();
    const { upstream } = relay;
    const chat = upstream.chat(VIDEO, TEXT);
    chat.say(1);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
    for (const on of ["sw.js", "sw.js_data"] as const) {
      upstream.fault({ on, times: Number.POSITIVE_INFINITY, as: { status: 404 } });
    }
    upstream.credentials.onPages = false;
    chat.expireTokens();
    await upstream.requested("popout");
    chat.say(1);
    await viewer.untilMessages(2);
    assert.equal(bootstraps(relay), 2);
  });

  it("counts a token refused again before any answer came", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "3" } });
    relay.upstream.chat(VIDEO, TEXT).say(1);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
    const fault = relay.upstream.fault({
      on: "get_live_chat",
      times: Number.POSITIVE_INFINITY,
      as: "invalid-argument",
    });
    assert.equal((await viewer.ended())?.event, "error");
    assert.equal(fault.fired, 4); // the first is free
  });
});

describe("room polling, errors accumulate up to the threshold", () => {
  it("room stops with an error frame at the Nth failure in a row", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "3" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(1);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
    const fault = relay.upstream.fault({ on: "get_live_chat", times: 3, as: { status: 503 } });
    const last = await viewer.ended();
    assert.equal(last?.event, "error");
    assert.match(JSON.stringify(last?.data), /^{"code":"UPSTREAM_ERROR","message":"[^"]+"}$/);
    assert.equal(fault.fired, 3);
  });

  it("an answer in between starts the count anew", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "3" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(1);
    await using viewer = await open(relay);
    for (let round = 2; round < 5; round++) {
      const fault = relay.upstream.fault({ on: "get_live_chat", times: 2, as: { status: 503 } });
      chat.say(1);
      await viewer.untilMessages(round);
      assert.equal(fault.fired, 2);
    }
  });

  it("a new viewer opens a new room, whose cursors go on", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "1" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(2);
    await using viewer = await open(relay);
    await viewer.untilMessages(2);
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: "html" });
    assert.equal((await viewer.ended())?.event, "error");
    chat.say(1);
    const lastEventId = viewer.cursors.at(-1) ?? 0;
    await using again = await open(relay, { lastEventId });
    await again.untilMessages(1);
    assert.deepEqual(again.cursors, [lastEventId + 1]);
  });
});
