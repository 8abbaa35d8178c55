/**
 * The specification's table "States and transitions", row by row. The steps of an opening are in
 * bootstrap.test.ts and bootstrap-client.test.ts, the meanings of an answer in upstream-answers.test.ts.
 */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { History } from "../../../src/serving/history/history.ts";
import { historyAnswer } from "../../harness/origin-api.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { assertConsecutive } from "../../support/stream.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { requestsOf, VIDEO, virtualRoom } from "../../support/virtual-room.ts";

/** As the list of rooms shows the room. */
async function stateOf({ relay }: Pick<Awaited<ReturnType<typeof virtualRoom>>, "relay">) {
  const listed = await relay.when(relay.list.all());
  return listed.find(({ videoId }) => videoId === VIDEO)?.state;
}

describe("no room for the video, first viewer connects, bootstrap succeeds", () => {
  it("opens one room for any number of viewers, even while it bootstraps", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(10);
    const viewers = Array.from({ length: 40 }, () => relay.visit({ videoId: VIDEO }));
    await relay.requested("popout");
    viewers.push(relay.visit({ videoId: VIDEO }));
    await relay.advance(2000);
    assert.equal(requestsOf(relay, "popout").length, 1);
    for (const viewer of viewers) assert.deepEqual(viewer.messages, viewers[0]?.messages);
    assert.equal(viewers[0]?.messages.length, 10);
  });
});

describe("no room for the video, a reader of its log connects that asks for what follows", () => {
  const ways: [what: string, options: VirtualRelayOptions, isAtEdge: boolean][] = [
    ["from memory", {}, false],
    ["from a disk", { hasDisk: true }, false],
    ["at an edge", {}, true],
  ];
  for (const [what, options, isAtEdge] of ways)
    it(`gives it (${what}) nothing of the backlog, and all later messages`, async () => {
      const relay = new VirtualRelay(options);
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], onlyInAll: () => false });
      chat.say(5);
      const rooms = isAtEdge ? (await virtualEdge(relay)).life.rooms : relay.rooms;
      const reader = await relay.enter({ videoId: VIDEO, log: "now" }, rooms);
      await relay.advance(1000);
      const said = chat.say(2);
      await relay.advance(30_000);
      assert.deepEqual(reader.ids, said);
    });
});

describe("room polling, another viewer connects for the same video", () => {
  it("same messages and cursors; no extra upstream load", async () => {
    const room = await virtualRoom(5);
    const viewers = Array.from({ length: 30 }, () => room.relay.visit({ videoId: VIDEO }));
    await room.relay.advance(1000);
    room.chat.say(5);
    await room.viewer.untilMessages(10);
    for (const viewer of viewers) assert.deepEqual(viewer.messages, room.viewer.messages);
    assert.equal(room.bootstraps(), 1);
    const { requests } = room.upstream;
    assert.equal(requests.filter(({ kind }) => kind === "sw.js").length, 1);
    const polls = requests.filter(({ kind }) => kind === "get_live_chat");
    assert.equal(new Set(polls.map(({ continuation }) => continuation)).size, polls.length);
  });
});

describe("room polling, last viewer disconnects", () => {
  it("room lingers: the poller is not stopped, nothing is missed, no fresh bootstrap", async () => {
    const room = await virtualRoom(2);
    const lastEventId = room.viewer.cursors[1] ?? 0;
    room.viewer.leave();
    assert.equal(await stateOf(room), "lingering");
    room.chat.say(3);
    await room.relay.requested("get_live_chat", { count: 2 });
    const second = await room.open({ lastEventId });
    await second.untilMessages(3);
    assert.equal(await stateOf(room), "polling");
    assert.deepEqual(second.ids, room.ids().slice(2));
    assert.equal(room.bootstraps(), 1);
  });
});

describe("room lingering, grace period elapses with no viewer", () => {
  it("polling stops and the room is released, just then", async () => {
    const room = await virtualRoom(2);
    const { relay, viewer, upstream } = room;
    viewer.leave();
    await relay.advance(90_000 - 1);
    assert.equal(await stateOf(room), "lingering");
    await relay.advance(1 + 1000); // a poll in hand may still end
    assert.equal(await stateOf(room), "released");
    const requests = upstream.requests.length;
    await relay.advance(600_000);
    assert.equal(upstream.requests.length, requests);
  });

  it("nothing follows the room any more, even if its release cannot be stored", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const { store } = relay;
    let followers = 0;
    const follow = store.follow.bind(store);
    store.follow = async function* (...parts) {
      followers += 1;
      yield* follow(...parts);
      followers -= 1;
    };
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(2);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(2);
    viewer.leave();
    await relay.advance(89_000);
    assert.equal(followers, 1);
    relay.disk.goneUntil = relay.clock.monotonic() + 20_000;
    await relay.advance(30_000);
    assert.equal(followers, 0);
  });

  it("a viewer that comes later opens the room again, and its cursors continue", async () => {
    const room = await virtualRoom(3, {}, { page: 3 });
    const { relay, viewer } = room;
    const lastEventId = viewer.cursors[2] ?? 0;
    viewer.leave();
    await relay.advance(100_000);
    room.chat.say(2);
    const second = await room.open({ lastEventId });
    await second.untilMessages(2);
    assert.deepEqual(second.ids, room.ids().slice(-2));
    assertConsecutive(second.cursors, lastEventId);
    assert.equal(room.bootstraps(), 2);
  });

  it("it is opened again before videos that nobody has read yet, asked for earlier or later", async () => {
    const { relay, viewer, upstream } = await virtualRoom(3);
    viewer.leave();
    await relay.advance(100_000);
    const before = upstream.requests.length;
    const stranger = (n: number) => relay.visit({ videoId: `stranger-${n}`, address: `address ${n}` });
    for (let n = 10; n < 30; n++) stranger(n);
    relay.visit({ videoId: VIDEO });
    for (let n = 30; n < 50; n++) stranger(n);
    await relay.advance(60_000);
    const asked = upstream.requests.slice(before).flatMap(({ videoId }) => videoId ?? []);
    const earlier = new Set(asked.slice(0, asked.indexOf(VIDEO)));
    assert.ok(asked.includes(VIDEO) && earlier.size < 10, `${earlier.size} of 40 came first`);
  });
});

describe("room polling, upstream returns no next continuation token", () => {
  const rows: [what: string, ends: (chat: Chat) => void, bootstraps: number][] = [
    ["reload-only", (chat) => chat.end("reload-only"), 1],
    ["seek-only", (chat) => chat.end("seek-only"), 1],
    ["continuations-absent", (chat) => chat.end("continuations-absent"), 1],
    ["continuations-empty", (chat) => chat.end("continuations-empty"), 1],
    ["an answer without chat, and none found again", (chat) => chat.end("no-contents"), 2],
    ["a live chat that became a replay", (chat) => chat.change({ kind: "replay" }), 2],
  ];
  for (const [what, ends, bootstraps] of rows) {
    it(`${what}: last messages, then 'no more continuations'`, async () => {
      const room = await virtualRoom(2);
      if (bootstraps === 1) room.chat.say(3); // an answer without chat has no place for them
      ends(room.chat);
      assert.deepEqual((await room.viewer.ended())?.data, { reason: "no more continuations" });
      assert.deepEqual(room.viewer.ids, room.ids());
      assert.equal(room.bootstraps(), bootstraps);
      assert.equal(await stateOf(room), "ended");
    });
  }
});

describe("room polling, it ends while a page of it is read", () => {
  it("the page does not say that it ended with fewer messages than it has", async () => {
    const room = await virtualRoom(2);
    const { relay, viewer } = room;
    const { rooms, store, clock } = relay;
    const read = store.read.bind(store);
    store.read = async (...part) => {
      store.read = read;
      room.chat.say(3);
      room.chat.end("reload-only");
      await viewer.ended();
      return await read(...part);
    };
    const parts = { rooms, history: new History(store, clock), isBlanking: () => false };
    const page = async () => {
      const answer = await historyAnswer(`videoId=${VIDEO}`, parts, AbortSignal.any([]));
      const { state, base, head } = JSON.parse(await text(answer.body));
      return [state, head - base];
    };
    assert.deepEqual(await page(), ["polling", 2]);
    assert.deepEqual(await page(), ["ended", 5]);
  });
});

describe("room polling, HTTP 200 with an error object that is a quota signal", () => {
  it("is a rate limit: all rooms pause, viewers stay connected, and polling continues by itself", async () => {
    const room = await virtualRoom(1, { RELAY_COOLDOWN_MS: "8000" });
    const { relay, upstream, chat, viewer } = room;
    const other = upstream.chat("other-video", { kinds: ["text"] });
    other.say(1);
    const witness = await room.open({ videoId: "other-video" });
    const fault = upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 1, as: "quota" });
    await relay.until(() => fault.fired === 1);
    await relay.advance(1000); // it is answered, and so are earlier calls
    const before = upstream.requests.length;
    for (const one of [chat, other]) one.say(1);
    await relay.advance(6000);
    assert.equal(upstream.requests.length, before);
    await relay.advance(3000);
    assert.deepEqual([viewer.ids.length, witness.ids.length, room.bootstraps()], [2, 2, 1]);
    assert.deepEqual(viewer.ids, room.ids());
  });

  it("is not a failure, however often it comes", async () => {
    const room = await virtualRoom(1, { RELAY_MAX_FAILURES: "1", RELAY_FAILING_MS: "0" });
    const fault = room.upstream.fault({ on: "get_live_chat", times: 4, as: { status: 429 } });
    room.chat.say(1);
    await room.viewer.untilMessages(2);
    assert.equal(fault.fired, 4);
  });
});

describe("room polling, HTTP 200 with an error object that is not a quota signal", () => {
  it("does not count the first expiry after an answer, even if one failure is the limit", async () => {
    const room = await virtualRoom(1, { RELAY_MAX_FAILURES: "1", RELAY_FAILING_MS: "0" });
    for (let i = 2; i < 6; i++) {
      room.chat.expireTokens();
      await room.relay.requested("popout");
      room.chat.say(1);
      await room.viewer.untilMessages(i);
    }
  });

  it("continues with its old credentials if the upstream provides none any more", async () => {
    const room = await virtualRoom(1);
    const { upstream } = room;
    for (const on of ["sw.js", "sw.js_data"] as const) {
      upstream.fault({ on, times: Number.POSITIVE_INFINITY, as: { status: 404 } });
    }
    upstream.credentials.onPages = false;
    room.chat.expireTokens();
    await room.relay.requested("popout");
    room.chat.say(1);
    await room.viewer.untilMessages(2);
    assert.equal(room.bootstraps(), 2);
  });

  it("counts a token that is refused again before any answer", async () => {
    const room = await virtualRoom(1, { RELAY_MAX_FAILURES: "3", RELAY_FAILING_MS: "0" });
    const times = Number.POSITIVE_INFINITY;
    const fault = room.upstream.fault({ on: "get_live_chat", times, as: "invalid-argument" });
    assert.equal((await room.viewer.ended())?.event, "error");
    assert.equal(fault.fired, 4); // the first is free
  });
});

describe("room polling, errors accumulate up to the threshold", () => {
  it("a new viewer opens a new room, whose cursors continue", async () => {
    const room = await virtualRoom(2, { RELAY_MAX_FAILURES: "1", RELAY_FAILING_MS: "0" });
    room.upstream.fault({ on: "get_live_chat", times: 1, as: "html" });
    assert.equal((await room.viewer.ended())?.event, "error");
    room.chat.say(1);
    const lastEventId = room.viewer.cursors.at(-1) ?? 0;
    const again = await room.open({ lastEventId });
    await again.untilMessages(1);
    assert.deepEqual(again.cursors, [lastEventId + 1]);
  });
});
