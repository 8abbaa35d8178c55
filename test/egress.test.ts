/** Several ways out to the upstream: who is read by which, and what becomes of rooms where one is throttled or dies. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { carry } from "../simulation/carry.ts";
import type { ListedRoom } from "../src/rooms/listing.ts";
import type { Chat } from "../src/simulator/chat.ts";
import { type Simulator, startSimulator } from "../src/simulator/index.ts";
import type { RequestKind } from "../src/simulator/requests.ts";
import { ask, post, session } from "./support/api.ts";
import { inTime } from "./support/opening.ts";
import { metric, startRelay, type TestRelay } from "./support/relay.ts";
import { temporaryFile } from "./support/store-subject.ts";
import { assertConsecutive, Stream, streamUrl } from "./support/stream.ts";
import { TEXT } from "./support/watched-room.ts";

const ONE = "127.0.0.2";
const TWO = "127.0.0.3";
const CHAT: readonly RequestKind[] = ["get_live_chat"];
const ALL: readonly RequestKind[] = ["sw.js", "popout", "watch", "next", "get_live_chat"];
type Session = Record<"client" | "endpoint" | "token" | "apiKey" | "webVersion", string>;
/** For how long the upstream holds what was said, in milliseconds. */
const HELD_MS = 10_000;
const THROTTLES = { status: 429, headers: { "retry-after": "3600" } };

describe("rooms on two addresses", () => {
  let relay: TestRelay;
  const streams = new AsyncDisposableStack();
  const settings = { RELAY_EGRESS: `ip:${ONE},ip:${TWO}`, RELAY_COOLDOWN_MS: "3600000" };

  before(async () => {
    relay = await startRelay({ settings });
  });
  after(async () => {
    await streams.disposeAsync();
    await relay[Symbol.asyncDispose]();
  });

  const rooms = async () => (await ask<{ rooms: ListedRoom[] }>(relay.url, "/v1/rooms")).body.rooms;
  const egressOf = async (videoId: string) =>
    (await rooms()).find((room) => room.videoId === videoId)?.egress;
  const requestsOf = (videoId: string, kinds: readonly RequestKind[] = CHAT) =>
    relay.upstream.requests.filter((request) => request.videoId === videoId && kinds.includes(request.kind));
  const throttle = (from: string, on = CHAT) =>
    relay.upstream.fault({ on, from, times: Number.POSITIVE_INFINITY, as: THROTTLES });

  async function watch(videoId: string): Promise<{ chat: Chat; viewer: Stream }> {
    const chat = relay.upstream.chat(videoId, { ...TEXT, timeoutMs: 50 });
    chat.say(3);
    const viewer = streams.use(await Stream.open(relay.url, { videoId }));
    await inTime(viewer.untilMessages(3), "the first messages");
    return { chat, viewer };
  }

  it("are spread over them, stay there, and move by their page where one is throttled; others notice nothing", async () => {
    const first = await watch("egress-one1");
    const second = await watch("egress-two2");
    assert.deepEqual([await egressOf("egress-one1"), await egressOf("egress-two2")], [ONE, TWO]);
    const pages = requestsOf("egress-two2", ["popout", "watch"]).length;
    Object.assign(relay.upstream.credentials, { visitorData: "CgtvaXNpdG9yLXR3bw%3D%3D" });
    const fault = throttle(ONE);
    for (let said = 4; said <= 40; said++) {
      first.chat.say(1);
      second.chat.say(1);
      await inTime(
        Promise.all([first, second].map(({ viewer }) => viewer.untilMessages(said))),
        "each message",
      );
    }
    assert.equal(await egressOf("egress-one1"), TWO);
    assert.equal(fault.fired, 1);
    for (const { chat, viewer } of [first, second]) {
      assert.deepEqual(
        viewer.ids,
        chat.ledger.map(({ id }) => id),
      );
      assertConsecutive(viewer.cursors, viewer.init.cursor);
    }
    assert.deepEqual(new Set(requestsOf("egress-two2").map(({ from }) => from)), new Set([TWO]));
    assert.equal(requestsOf("egress-two2", ["popout", "watch"]).length, pages);
    const visitors = new Map(
      requestsOf("egress-one1").map(({ from, headers }) => [from, headers["x-goog-visitor-id"]]),
    );
    assert.equal(visitors.get(TWO), "CgtvaXNpdG9yLXR3bw%3D%3D");
    assert.notEqual(visitors.get(ONE), visitors.get(TWO));
    assert.equal(await metric(relay, `relay_egress_moves_total{egress="${ONE}",reason="throttled"}`), 1);
    fault.cancel();
  });

  it("are opened by one that works, and so are sessions and probes", async () => {
    await watch("egress-3333");
    assert.equal(await egressOf("egress-3333"), TWO);
    const opened = await post<Session>(relay.url, "/v1/sessions", { videoId: "egress-3333" });
    assert.equal(opened.status, 200);
    const { client, endpoint, token, apiKey, webVersion } = opened.body;
    const polled = await post(relay.url, "/v1/poll", { client, endpoint, token, apiKey, webVersion });
    assert.equal(polled.status, 200);
    assert.deepEqual(new Set(requestsOf("egress-3333", ALL).map(({ from }) => from)), new Set([TWO]));
  });

  it("stay where nothing works any more, and those that come are answered 429", async () => {
    const faults = [throttle(TWO, ALL)];
    await watchThrottled();
    const videoId = "egress-four";
    relay.upstream.chat(videoId, TEXT).say(1);
    const response = await fetch(streamUrl(relay.url, { videoId }));
    assert.equal(response.status, 429);
    assert.ok(Number(response.headers.get("retry-after")) > 3000);
    assert.equal((await post(relay.url, "/v1/sessions", { videoId })).status, 502);
    assert.equal(await egressOf("egress-two2"), TWO);
    for (const fault of faults) fault.cancel();
  });

  async function watchThrottled(): Promise<void> {
    const throttled = `relay_upstream_throttled_total{egress="${TWO}"}`;
    for (const limit = AbortSignal.timeout(5000); ; await delay(5)) {
      if (((await metric(relay, throttled)) ?? 0) > 0) return;
      assert.ok(!limit.aborted, "not throttled");
    }
  }
});

for (const on of ["sw.js", "get_live_chat"] as const) {
  it(`a chat is opened by another address where ${on} turns out to be throttled at the first one`, async () => {
    await using relay = await startRelay({ settings: { RELAY_EGRESS: `ip:${ONE},ip:${TWO}` } });
    relay.upstream.fault({ on, from: ONE, times: 1, as: THROTTLES });
    relay.upstream.chat("egress-five", TEXT).say(2);
    await using viewer = await Stream.open(relay.url, { videoId: "egress-five" });
    await viewer.untilMessages(2);
    const { body } = await ask<{ rooms: ListedRoom[] }>(relay.url, "/v1/rooms");
    assert.equal(body.rooms[0]?.egress, TWO);
    assert.equal(await metric(relay, `relay_gate_rooms{egress="${ONE}"}`), 0);
    assert.equal(await metric(relay, `relay_gate_rooms{egress="${TWO}"}`), 1);
  });
}

it("rooms of an address on which connections break are read by another, and nothing is lost", async () => {
  await using relay = await startRelay({ settings: { RELAY_EGRESS: `ip:${ONE},ip:${TWO}` } });
  const { upstream } = relay;
  const scene = ["egress-cccc", "egress-dddd", "egress-eeee"].map((videoId) =>
    upstream.chat(videoId, { ...TEXT, timeoutMs: 50 }),
  );
  const viewers: Stream[] = [];
  await using streams = new AsyncDisposableStack();
  for (const chat of scene) {
    chat.say(1);
    const viewer = streams.use(await Stream.open(relay.url, { videoId: chat.videoId }));
    await inTime(viewer.untilMessages(1), "the first message");
    viewers.push(viewer);
  }
  const fault = upstream.fault({ on: ALL, from: ONE, times: Number.POSITIVE_INFINITY, as: "reset" });
  for (let said = 2; said <= 10; said++) {
    for (const chat of scene) chat.say(1);
    await inTime(Promise.all(viewers.map((viewer) => viewer.untilMessages(said))), "each message");
  }
  const { body } = await ask<{ rooms: ListedRoom[] }>(relay.url, "/v1/rooms");
  assert.deepEqual(new Set(body.rooms.map(({ egress }) => egress)), new Set([TWO]));
  for (const [i, viewer] of viewers.entries()) {
    assert.deepEqual(
      viewer.ids,
      scene[i]?.ledger.map(({ id }) => id),
    );
  }
  assert.ok(fault.fired >= 2, `${fault.fired} connections broke`);
});

it("a chat that is throttled wherever it is read takes two other addresses along at most", async () => {
  const addresses = [2, 3, 4, 5, 6].map((n) => `127.0.0.${n}`);
  await using relay = await startRelay({
    settings: { RELAY_EGRESS: addresses.map((address) => `ip:${address}`).join() },
  });
  const { upstream } = relay;
  const videoId = "egress-aaaa";
  const chat = upstream.chat(videoId, { ...TEXT, timeoutMs: 50 });
  chat.say(1);
  await using viewer = await Stream.open(relay.url, { videoId });
  await inTime(viewer.untilMessages(1), "the first message");
  const on = "get_live_chat";
  const fault = upstream.fault({ on, videoId, times: Number.POSITIVE_INFINITY, as: THROTTLES });
  for (const limit = AbortSignal.timeout(5000); fault.fired < 3; await delay(5)) assert.ok(!limit.aborted);
  await delay(300); // a fourth would have come by now
  assert.equal(fault.fired, 3);
  const asked = new Set(upstream.requests.map(({ from }) => from));
  assert.deepEqual([...asked].sort(), addresses.slice(0, 3));
});

it("a replay goes on from its place, and asks for no page", async () => {
  await using relay = await startRelay({ settings: { RELAY_EGRESS: `ip:${ONE},ip:${TWO}` } });
  const { upstream } = relay;
  const videoId = "egress-bbbb";
  const chat = upstream.chat(videoId, { kind: "replay", kinds: ["text"] });
  chat.say(600);
  const on = "get_live_chat_replay";
  const answered = upstream.requested(on, { videoId, count: 3, finished: true });
  await using viewer = await Stream.open(relay.url, { videoId });
  await inTime(answered, "three answers");
  const fault = upstream.fault({ on, from: ONE, times: Number.POSITIVE_INFINITY, as: THROTTLES });
  assert.equal((await inTime(viewer.ended(), "the end"))?.event, "end");
  assert.deepEqual(
    viewer.ids,
    chat.ledger.map(({ id }) => id),
  );
  assert.equal(fault.fired, 1);
  const pages = upstream.requests.filter(({ kind }) => kind === "popout");
  assert.deepEqual(
    pages.map(({ from }) => from),
    [ONE],
  );
});

it("the polls that follow a session go by its address, while that works", async () => {
  await using relay = await startRelay({ settings: { RELAY_EGRESS: `ip:${ONE},ip:${TWO}` } });
  const { upstream } = relay;
  for (const videoId of ["egress-six6", "egress-7777"])
    upstream.chat(videoId, { ...TEXT, timeoutMs: 50 }).say(1);
  const { client, endpoint, apiKey, webVersion, ...opened } = await session(relay.url, {
    videoId: "egress-six6",
  });
  await using viewer = await Stream.open(relay.url, { videoId: "egress-7777" });
  await viewer.untilMessages(1); // the first address has more to do than the second now
  let { token } = opened;
  const poll = async () => {
    const { status, body } = await post<{ token: string }>(relay.url, "/v1/poll", {
      client,
      endpoint,
      token,
      apiKey,
      webVersion,
    });
    assert.equal(status, 200);
    token = body.token;
    return upstream.requests.findLast(({ videoId }) => videoId === "egress-six6")?.from;
  };
  assert.deepEqual([await poll(), await poll()], [ONE, ONE]);
  upstream.fault({ on: "get_live_chat", from: ONE, videoId: "egress-six6", times: 1, as: THROTTLES });
  assert.deepEqual([await poll(), await poll()], [TWO, TWO]);
});

it("after a restart a room is read by the egress of the same name, and where that is gone by another, from its page", async (t) => {
  const path = await temporaryFile(t);
  const started = (ways: string, upstream: Simulator) =>
    startRelay({ upstream, settings: { RELAY_STORE: `sqlite:${path}`, RELAY_EGRESS: ways } });
  await using upstream = await startSimulator();
  const chats = ["egress-8888", "egress-9999"].map((id) => upstream.chat(id, { ...TEXT, timeoutMs: 50 }));
  const pages = () => upstream.requests.filter(({ kind }) => kind === "popout").map(({ from }) => from);
  for (const [ways, ...expected] of [
    [`a=ip:${ONE},b=ip:${TWO}`, "a", "b"],
    [`b=ip:${TWO},a=ip:${ONE}`, "a", "b"],
    [`b=ip:${TWO}`, "b", "b"],
  ] as const) {
    await using relay = await started(ways, upstream);
    for (const chat of chats) {
      chat.say(1);
      await using viewer = await Stream.open(relay.url, { videoId: chat.videoId, lastEventId: 0 });
      await inTime(viewer.untilMessages(chat.ledger.length), "what was said");
    }
    const { body } = await ask<{ rooms: ListedRoom[] }>(relay.url, "/v1/rooms");
    const found = new Map(body.rooms.map(({ videoId, egress }) => [videoId, egress]));
    assert.deepEqual(
      chats.map(({ videoId }) => found.get(videoId)),
      expected,
    );
  }
  assert.deepEqual(pages(), [ONE, TWO, TWO]);
});

describe("of an upstream that counts calls by address and holds what was said for 10 s", () => {
  const settings = { RELAY_GATE_SPACING_MS: "1000" };

  it("eight addresses read eight times the rooms of one, two spacings late at most, and lose nothing", async () => {
    const asked = { seed: 1, timeoutsMs: [10_000], arrivalMs: 60_000, forMs: 90_000, settings };
    const one = await carry({ ...asked, rooms: 8 });
    const eight = await carry({ ...asked, rooms: 64, egresses: 8 });
    assert.deepEqual([one.open, one.refused, one.lost], [5, 3, 0]);
    assert.deepEqual([eight.open, eight.refused, eight.lost], [40, 24, 0]);
    assert.deepEqual(
      eight.byEgress,
      Array.from({ length: 8 }, () => one.open),
    );
    assert.ok(
      eight.lateness.largest <= 2 * Number(settings.RELAY_GATE_SPACING_MS),
      `${eight.lateness.largest} ms`,
    );
  });

  it("a new room goes to the address that has the least to do, not the fewest rooms", async () => {
    const timeoutsMs = [2000, 10_000, 10_000, 10_000];
    const { byEgress } = await carry({
      seed: 1,
      rooms: 4,
      egresses: 2,
      timeoutsMs,
      arrivalMs: 20_000,
      forMs: 30_000,
    });
    assert.deepEqual(byEgress, [1, 3]);
  });

  for (const { as, withinMs, addresses, rooms, pollsMs } of [
    { as: "throttled", withinMs: 3000, addresses: 2, rooms: 24, pollsMs: 9000 },
    { as: "dead", withinMs: 15_000, addresses: 2, rooms: 24, pollsMs: 9000 },
    { as: "dead", withinMs: 7000, addresses: 3, rooms: 18, pollsMs: 9000 },
    { as: "dead", withinMs: 10_000, addresses: 4, rooms: 40, pollsMs: 4500 },
  ] as const) {
    it(`${rooms / addresses} rooms of one of ${addresses} that is ${as} are read by the others within ${withinMs} ms, and nothing is lost`, async () => {
      const trouble = { atMs: 35_000, as };
      const timeoutsMs = [pollsMs / 0.9];
      const asked = { seed: 1, rooms, egresses: addresses, timeoutsMs, arrivalMs: 20_000 };
      const carried = await carry({ ...asked, forMs: 65_000, trouble });
      assert.deepEqual([carried.open, carried.moves], [rooms, rooms / addresses]);
      assert.deepEqual([carried.byEgress[0], carried.lost, carried.gaps], [0, 0, 0]);
      assert.ok(carried.silentMs.troubled < pollsMs + withinMs, `${carried.silentMs.troubled} ms`);
      assert.ok(carried.silentMs.others < HELD_MS, `${carried.silentMs.others} ms`);
    });
  }

  it("rooms of one that is throttled stay where the others are full", async () => {
    const trouble = { atMs: 45_000, as: "throttled" } as const;
    const asked = { seed: 1, rooms: 10, egresses: 2, timeoutsMs: [10_000], arrivalMs: 20_000, settings };
    const carried = await carry({ ...asked, forMs: 80_000, trouble });
    assert.deepEqual([carried.open, carried.moves, carried.byEgress], [10, 0, [5, 5]]);
    assert.ok(carried.silentMs.others < 10_500, `${carried.silentMs.others} ms`);
  });
});
