/**
 * Several egresses to the upstream: which rooms each reads, and what happens to them if one is throttled or
 * dies. Callers' own calls, and the addresses that a system sends from, are tested over real sockets.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestKind } from "../../../../simulator/requests.ts";
import type { Chat } from "../../../../simulator/simulated-chat.ts";
import { VirtualRelay } from "../../../harness/virtual-relay.ts";
import { carry } from "../../../simulation/carry.ts";
import { post, session } from "../../../support/api.ts";
import { failAlways } from "../../../support/opening.ts";
import { startRelay } from "../../../support/relay.ts";
import { assertConsecutive, Stream } from "../../../support/stream.ts";
import { requestsOf } from "../../../support/virtual-room.ts";

const ALL: readonly RequestKind[] = ["sw.js", "popout", "watch", "next", "get_live_chat"];
const FOR_EVER = Number.POSITIVE_INFINITY;
/** How long the upstream keeps messages, in milliseconds. */
const HELD_MS = 10_000;
const THROTTLES = { status: 429, headers: { "retry-after": "3600" } };

/** A relay whose egresses are called a, b and so on, and rooms on it. */
function withEgresses(count: number, options = {}) {
  const names = [..."abcdefgh"].slice(0, count);
  const settings = { RELAY_EGRESS: names.map((name) => `${name}=direct`).join() };
  const relay = new VirtualRelay({ settings, ...options });
  const newChat = (name: string) => relay.upstream.chat(name.padEnd(11, "-"), { kinds: ["text"] });
  return {
    relay,
    newChat,
    /** A room of a new chat, in which two messages are said a second, and its viewer. */
    watch: async (name: string) => {
      const chat = newChat(name);
      chat.say(1);
      const viewer = await relay.enter({ videoId: chat.videoId });
      chat.speak(2);
      return { chat, viewer };
    },
    /** By which each room is read. */
    egresses: async () => {
      const listed = await relay.when(relay.list.all());
      return Object.fromEntries(listed.map(({ videoId, egress }) => [videoId.replace(/-+$/, ""), egress]));
    },
    throttle: (from: string, on: readonly RequestKind[] = ["get_live_chat"]) =>
      relay.upstream.fault({ on, from, times: FOR_EVER, as: THROTTLES }),
  };
}

/**
 * Asserts that the room has gone on, and that its viewer was sent all up to the last seconds, once and in
 * order.
 */
function assertWhole({ chat, viewer }: { chat: Chat; viewer: { ids: string[]; cursors: number[] } }): void {
  const said = chat.ledger.map(({ id }) => id);
  assert.deepEqual(viewer.ids, said.slice(0, viewer.ids.length));
  assert.ok(viewer.ids.length > said.length - 6, `${viewer.ids.length} of ${said.length}`);
  assertConsecutive(viewer.cursors, viewer.cursors[0] === undefined ? 0 : viewer.cursors[0] - 1);
}

describe("rooms on two egresses", () => {
  it("are spread over both and stay there; if one is throttled, its rooms move, unnoticed by others", async () => {
    const { relay, watch, egresses, throttle } = withEgresses(2);
    const { upstream } = relay;
    const [first, second] = [await watch("first"), await watch("second")];
    assert.deepEqual(await egresses(), { first: "a", second: "b" });
    Object.assign(upstream.credentials, { visitorData: "CgtvaXNpdG9yLXR3bw%3D%3D" });
    const fault = throttle("a");
    await relay.advance(40_000);
    assert.deepEqual(await egresses(), { first: "b", second: "b" });
    assert.equal(fault.fired, 1);
    for (const room of [first, second]) assertWhole(room);
    const of = (videoId: string) =>
      requestsOf(relay, "get_live_chat").filter((request) => request.videoId === videoId);
    assert.deepEqual(new Set(of(second.chat.videoId).map(({ from }) => from)), new Set(["b"]));
    const pages = requestsOf(relay, "popout").map(({ videoId, from }) => [videoId, from]);
    assert.deepEqual(pages, [
      [first.chat.videoId, "a"],
      [second.chat.videoId, "b"],
      [first.chat.videoId, "b"],
    ]);
    const visitors = new Map(
      of(first.chat.videoId).map(({ from, headers }) => [from, headers["x-goog-visitor-id"]]),
    );
    assert.equal(visitors.get("b"), "CgtvaXNpdG9yLXR3bw%3D%3D");
    assert.notEqual(visitors.get("a"), visitors.get("b"));
    assert.equal(await relay.metric('relay_egress_moves_total{egress="a",reason="throttled"}'), 1);
  });

  it("stay if neither egress works any more, and new rooms are refused for as long", async () => {
    const { relay, watch, egresses, throttle, newChat } = withEgresses(2);
    await watch("first");
    await watch("second");
    for (const egress of ["a", "b"]) throttle(egress, ALL);
    await relay.advance(20_000);
    const { code, retryAfterMs = 0 } = await relay.refusal({ videoId: newChat("third").videoId });
    assert.equal(code, "RATE_LIMITED");
    assert.ok(retryAfterMs > 3_570_000 && retryAfterMs <= 3_600_000, `${retryAfterMs}`);
    const found = await egresses();
    assert.deepEqual(Object.keys(found).sort(), ["first", "second"]);
    for (const calls of ["a", "b"].map((name) =>
      requestsOf(relay, "get_live_chat").filter((r) => r.from === name),
    ))
      assert.ok(calls.length > 0);
  });

  it("refuse a new room until the earliest is free again, even if the other was throttled last", async () => {
    const { relay, newChat } = withEgresses(2);
    const throttles = (from: string, seconds: number) =>
      relay.upstream.fault({
        on: ["sw.js"],
        from,
        times: 1,
        as: { status: 429, headers: { "retry-after": `${seconds}` } },
      });
    throttles("a", 60);
    throttles("b", 86_400);
    const { code, retryAfterMs = 0 } = await relay.refusal({ videoId: newChat("first").videoId });
    assert.equal(code, "RATE_LIMITED");
    assert.ok(retryAfterMs > 50_000 && retryAfterMs <= 60_000, `${retryAfterMs}`);
  });

  for (const on of ["sw.js", "get_live_chat"] as const) {
    it(`a chat is opened by the other egress if the first one turns out throttled at ${on}`, async () => {
      const { relay, watch, egresses } = withEgresses(2);
      relay.upstream.fault({ on, from: "a", times: 1, as: THROTTLES });
      await watch("room");
      assert.deepEqual(await egresses(), { room: "b" });
      assert.equal(await relay.metric('relay_egress_rooms{egress="a"}'), 0);
      assert.equal(await relay.metric('relay_egress_rooms{egress="b"}'), 1);
    });
  }

  it("move to the other egress if connections break, and nothing is lost", async () => {
    const { relay, watch, egresses } = withEgresses(2);
    const rooms = [await watch("first"), await watch("second"), await watch("third")];
    const fault = relay.upstream.fault({ on: ALL, from: "a", times: FOR_EVER, as: "reset" });
    await relay.advance(30_000);
    assert.deepEqual(await egresses(), { first: "b", second: "b", third: "b" });
    for (const room of rooms) assertWhole(room);
    assert.ok(fault.fired >= 2, `${fault.fired} connections broke`);
  });

  it("continue from their position if they are replays, and load no page", async () => {
    const { relay } = withEgresses(2);
    const { upstream } = relay;
    const chat = upstream.chat("the-replay1", { kind: "replay", kinds: ["text"] });
    const ids = chat.say(600);
    const on = "get_live_chat_replay";
    const viewer = relay.visit({ videoId: chat.videoId });
    await relay.requested(on, { count: 3, finished: true });
    const fault = upstream.fault({ on, from: "a", times: FOR_EVER, as: THROTTLES });
    assert.equal((await viewer.ended())?.event, "end");
    assert.deepEqual(viewer.ids, ids);
    assert.equal(fault.fired, 1);
    assert.deepEqual(
      requestsOf(relay, "popout").map(({ from }) => from),
      ["a"],
    );
  });
});

describe("an egress that reaches nothing, before it has any room", () => {
  const isUp = (relay: VirtualRelay, name: string) => relay.metric(`relay_egress_up{egress="${name}"}`);

  it("counts as down from its first call, so that the other opens chats, and recovers by itself", async () => {
    const { relay, watch, egresses } = withEgresses(2);
    relay.network.refused.add("a");
    await watch("first");
    assert.deepEqual(await egresses(), { first: "b" });
    assert.deepEqual([await isUp(relay, "a"), await isUp(relay, "b")], [0, 1]);
    await relay.advance(60_000);
    assert.equal(await isUp(relay, "a"), 0);
    relay.network.refused.delete("a");
    await relay.advance(15_000);
    assert.equal(await isUp(relay, "a"), 1);
    await watch("second");
    assert.deepEqual(await egresses(), { first: "b", second: "a" });
  });

  it("counts as down if there is no other, reports this, and recovers by itself", async () => {
    const { relay, watch, newChat } = withEgresses(1);
    relay.network.refused.add("a");
    const { message } = await relay.refusal({ videoId: newChat("first").videoId });
    assert.match(message, /cannot be reached/);
    const said = relay.log.filter(({ msg }) => msg.startsWith("upstream unavailable"));
    assert.deepEqual(
      said.map(({ level, egress }) => [level, egress]),
      [[50, "a"]],
    );
    assert.equal(await isUp(relay, "a"), 0);
    relay.network.refused.delete("a");
    await relay.advance(15_000);
    assert.equal(await isUp(relay, "a"), 1);
    await watch("second");
  });
});

it("a chat that is throttled everywhere affects at most two other egresses", async () => {
  const { relay, watch } = withEgresses(5);
  await watch("everywhere");
  const fault = relay.upstream.fault({ on: "get_live_chat", times: FOR_EVER, as: THROTTLES });
  await relay.advance(60_000);
  assert.equal(fault.fired, 3);
  assert.deepEqual(new Set(relay.upstream.requests.map(({ from }) => from)), new Set(["a", "b", "c"]));
});

it("after a restart, a room is read by the egress of the same name, or by another if that is gone", async () => {
  const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_EGRESS: "a=direct,b=direct" } });
  const chats = ["room-one---", "room-two---"].map((id) => relay.upstream.chat(id, { kinds: ["text"] }));
  for (const [ways, ...expected] of [
    ["a=direct,b=direct", "a", "b"],
    ["b=direct,a=direct", "a", "b"],
    ["b=direct", "b", "b"],
  ] as const) {
    await relay.restart(0, { RELAY_EGRESS: ways });
    for (const chat of chats) {
      chat.say(1);
      const viewer = await relay.enter({ videoId: chat.videoId, lastEventId: 0 });
      await viewer.untilMessages(chat.ledger.length);
    }
    const listed = await relay.when(relay.list.all());
    assert.deepEqual(
      chats.map(({ videoId }) => listed.find((room) => room.videoId === videoId)?.egress),
      expected,
    );
  }
  assert.deepEqual(
    requestsOf(relay, "popout").map(({ from }) => from),
    ["a", "b", "b"],
  );
  assert.deepEqual(
    relay.log.filter(({ msg }) => msg === "room re-bootstrapped").map(({ why }) => why),
    ["another egress is used: its own is not in RELAY_EGRESS"],
  );
});

it("a start is refused if an address of an egress does not belong to this machine", async () => {
  await assert.rejects(
    startRelay({ settings: { RELAY_EGRESS: "direct,ip:192.0.2.7" } }),
    /^UsageError: RELAY_EGRESS: 192\.0\.2\.7 is not an address of this machine$/,
  );
});

it("a session and its polls use one address while that works", async () => {
  const [ONE, TWO] = ["127.0.0.2", "127.0.0.3"];
  await using relay = await startRelay({ settings: { RELAY_EGRESS: `ip:${ONE},ip:${TWO}` } });
  const { upstream } = relay;
  const [VIDEO, OTHER] = ["egress-six6", "egress-7777"];
  for (const videoId of [VIDEO, OTHER]) upstream.chat(videoId, { kinds: ["text"], timeoutMs: 50 }).say(1);
  const { client, endpoint, apiKey, webVersion, ...opened } = await session(relay.url, { videoId: VIDEO });
  await using viewer = await Stream.open(relay.url, { videoId: OTHER });
  await viewer.untilMessages(1); // the first address has more to do than the second now
  let { token } = opened;
  const poll = async () => {
    const asked = { client, endpoint, token, apiKey, webVersion };
    const { status, body } = await post<{ token: string }>(relay.url, "/v1/poll", asked);
    assert.equal(status, 200);
    token = body.token;
    return upstream.requests.findLast(({ videoId }) => videoId === VIDEO)?.from;
  };
  assert.deepEqual([await poll(), await poll()], [ONE, ONE]);
  upstream.fault({ on: "get_live_chat", from: ONE, videoId: VIDEO, times: 1, as: THROTTLES });
  assert.deepEqual([await poll(), await poll()], [TWO, TWO]);
  const before = upstream.requests.length;
  await session(relay.url, { videoId: VIDEO });
  const asked = upstream.requests.slice(before).filter(({ videoId }) => videoId === VIDEO);
  assert.deepEqual(new Set(asked.map(({ from }) => from)), new Set([TWO]));
  failAlways(relay, ALL, THROTTLES);
  assert.equal((await post(relay.url, "/v1/sessions", { videoId: "egress-new1" })).status, 502);
});

describe("on an upstream that counts calls by address and keeps messages for 10 s", () => {
  const settings = { RELAY_GATE_SPACING_MS: "1000" };

  it("eight addresses read eight times the rooms of one, at most two spacings late, and lose nothing", async () => {
    const asked = { seed: 1, timeoutsMs: [10_000], arrivalMs: 60_000, forMs: 90_000, settings };
    const one = await carry({ ...asked, rooms: 7 });
    const eight = await carry({ ...asked, rooms: 56, egresses: 8 });
    assert.deepEqual([one.open, one.refused, one.lost, one.gaps], [6, 1, 0, 0]);
    assert.deepEqual([eight.open, eight.refused, eight.lost, eight.gaps], [48, 8, 0, 0]);
    assert.deepEqual(
      eight.byEgress,
      Array.from({ length: 8 }, () => one.open),
    );
    assert.ok(
      eight.lateness.largest <= 2 * Number(settings.RELAY_GATE_SPACING_MS),
      `${eight.lateness.largest} ms`,
    );
  });

  it("a new room goes to the address with the least load, not the fewest rooms", async () => {
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
  ] as const) {
    it(`${rooms / addresses} rooms of a ${as} address of ${addresses} move to others in ${withinMs} ms, without a loss`, async () => {
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

  it("rooms of a throttled address stay if the others are full", async () => {
    const trouble = { atMs: 45_000, as: "throttled" } as const;
    const asked = { seed: 1, rooms: 12, egresses: 2, timeoutsMs: [10_000], arrivalMs: 20_000, settings };
    const carried = await carry({ ...asked, forMs: 80_000, trouble });
    assert.deepEqual([carried.open, carried.moves, carried.byEgress], [12, 0, [6, 6]]);
    assert.ok(carried.silentMs.others < 10_500, `${carried.silentMs.others} ms`);
  });
});
