/** The answers about a finished chat, and about a video without a chat. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestKind } from "../../../simulator/requests.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { failAlways, PLACES } from "../../support/opening.ts";
import { unreadEnd, VIDEO, virtualRoom, withoutGaps } from "../../support/virtual-room.ts";

const TEXT = { kinds: ["text"] } as const;
const REPLAY = { kind: "replay", pageSize: 40 } as const;
/** Longer than any grace time here. */
const MINUTE = 60_000;

const codeOf = async (relay: VirtualRelay, lastEventId?: number) =>
  (await relay.refusal({ videoId: VIDEO, lastEventId })).code;

/** A room whose chat is over, and whose viewer has been sent the end. */
async function endedRoom(
  said: number,
  settings: VirtualRelayOptions["settings"],
  scenario: Partial<Scenario> = {},
) {
  const room = await virtualRoom(said, settings, scenario);
  if (scenario.kind !== "replay") room.chat.end("reload-only");
  assert.equal((await room.viewer.ended())?.event, "end");
  return room;
}

describe("a room that nobody read when its chat ended", () => {
  it("ends with a gap and an end for its first viewer, and for all others", async () => {
    const { relay, viewer, upstream, open } = await unreadEnd();
    const last = viewer.cursors.at(-1) ?? 0;
    const back = await open({ lastEventId: last });
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual(back.ids, [`gap:${last}`]);
    const calls = upstream.requests.length;
    for (const lastEventId of [undefined, 0]) {
      const other = await relay.enter({ videoId: VIDEO, lastEventId });
      assert.equal((await other.ended())?.event, "end");
      assert.deepEqual(other.ids, [...viewer.ids, ...back.ids]);
    }
    assert.equal(upstream.requests.length, calls);
    await relay.advance(60_000); // its grace time is over
    const late = await open({ lastEventId: last });
    assert.equal((await late.ended())?.event, "end");
    assert.deepEqual(late.ids, back.ids);
    assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
  });
});

describe("an ended room", () => {
  it("gives a viewer with a cursor what it missed, one without a cursor its backfill, then end", async () => {
    const room = await endedRoom(9, {});
    const resumed = await room.open({ lastEventId: room.viewer.cursors[5] ?? 0 });
    const fresh = await room.open({ backfill: 2 });
    assert.equal((await resumed.ended())?.event, "end");
    assert.equal((await fresh.ended())?.event, "end");
    assert.deepEqual(resumed.messages, room.viewer.messages.slice(6));
    assert.deepEqual(fresh.messages, room.viewer.messages.slice(7));
    assert.equal(room.bootstraps(), 1);
  });

  for (const kind of ["live", "replay"] as const) {
    it(`of a ${kind} chat gives all its messages, then end, after a failover that moved its cursors`, async () => {
      const relay = new VirtualRelay();
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], kind });
      chat.say(60);
      const viewer = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
      if (kind === "live") chat.end("reload-only");
      await relay.until(() => viewer.end !== undefined);
      assert.equal(await relay.when(relay.store.moveCursors()), 1);
      const last = viewer.cursors.at(-1) ?? 0;
      for (const [lastEventId, count] of [
        [0, 60],
        [last, kind === "live" ? 50 : 60],
      ] as const) {
        const back = await relay.enter({ videoId: VIDEO, lastEventId });
        await relay.advance(1000);
        assert.deepEqual(back.ids, viewer.ids.slice(-count));
        assert.ok((back.cursors[0] ?? 0) > last);
        assert.equal(back.end?.event, "end");
      }
    });
  }

  it("gives a viewer with a cursor its messages, then end, even if its checkpoint cannot be read", async () => {
    const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_GRACE_MS: "1000" } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    const said = chat.say(3);
    const viewer = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
    chat.end("reload-only");
    assert.equal((await viewer.ended())?.event, "end");
    await relay.advance(10_000);
    relay.disk.rewrite(VIDEO, () => '{"position":"of another version"}');
    const back = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual(back.ids, said);
  });

  it("after its grace time costs the upstream no call for viewers that come back with a cursor", async () => {
    const room = await endedRoom(9, { RELAY_GRACE_MS: "1", RELAY_NO_CHAT_MS: "60000" });
    await room.relay.advance(MINUTE);
    const { requests } = room.upstream;
    const comeBack = async () => {
      const back = await room.open({ lastEventId: room.viewer.cursors[5] ?? 0 });
      assert.equal((await back.ended())?.event, "end");
      assert.deepEqual(back.messages, room.viewer.messages.slice(6));
    };
    const before = requests.length;
    for (let times = 0; times < 10; times++) await comeBack();
    assert.equal(requests.length, before);
    assert.equal(await codeOf(room.relay), "NO_LIVE_CHAT");
    const asked = requests.length;
    assert.ok(asked > before);
    assert.equal(await codeOf(room.relay), "NO_LIVE_CHAT");
    await comeBack();
    assert.equal(requests.length, asked);
  });
});

it("a room without a grace time asks each second at most whether another instance has viewers", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "0" } });
  relay.upstream.chat(VIDEO, TEXT).say(1);
  const viewer = await relay.enter({ videoId: VIDEO });
  const asked: number[] = [];
  relay.store.ownership.watchedForMs = async () => {
    asked.push(relay.clock.monotonic());
    return asked.length > 3 ? 0 : 400;
  };
  viewer.leave();
  await relay.advance(5000);
  assert.deepEqual(
    asked.map((at) => at - (asked[0] ?? 0)),
    [0, 400, 800, 1200],
  );
  assert.equal((await relay.when(relay.list.all()))[0]?.state, "released");
});

describe("a viewer that resumes a released room", () => {
  const cases: [what: string, Partial<Scenario>, walled: readonly RequestKind[]][] = [
    ["whose chat is over gets the messages it missed, then end", { kind: "disabled" }, []],
    ["behind a wall gets the error, and the chat once the wall is gone", {}, PLACES],
    ["gets the same if the only source of the chat fails", { foundOn: "next" }, ["next"]],
  ];
  for (const [what, scenario, walled] of cases) {
    it(what, async () => {
      const room = await virtualRoom(9, { RELAY_GRACE_MS: "1", RELAY_NO_CHAT_MS: "60000" });
      room.viewer.leave();
      await room.relay.advance(5000); // after more than ten, its end would have a gap
      room.chat.change(scenario);
      const repair = failAlways(room.relay, walled, { status: 503 });
      const cursor = room.viewer.cursors[5] ?? 0;
      if (walled.length > 0) {
        assert.equal(await codeOf(room.relay, cursor), "NO_LIVE_CHAT");
        repair();
      }
      const back = await room.open({ lastEventId: cursor });
      await back.untilMessages(3);
      assert.deepEqual(back.messages, room.viewer.messages.slice(6));
      if (walled.length === 0) assert.equal((await back.ended())?.event, "end");
    });
  }
});

it("a chat that is off is not taken for one without messages if the store fails in a look", async () => {
  const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_GRACE_MS: "1000" } });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
  const said = chat.say(3);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(3);
  viewer.leave();
  await relay.advance(10_000);
  chat.change({ kind: "off" });
  const calls = relay.upstream.requests.length;
  const fresh = relay.visit({ videoId: VIDEO });
  await relay.until(() => relay.upstream.requests.length > calls);
  relay.disk.goneUntil = Number.POSITIVE_INFINITY;
  await assert.rejects(relay.when(fresh.entered), { code: "NO_LIVE_CHAT" });
  relay.disk.calm();
  await assert.rejects(relay.when(relay.visit({ videoId: VIDEO, lastEventId: 0 }).entered), {
    code: "STORE_UNAVAILABLE",
  });
  await relay.advance(5000);
  const back = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
  await back.untilMessages(3);
  assert.deepEqual(withoutGaps(back.ids), said);
});

it("a chat that is over is not taken for one without messages if the store fails in a look", async () => {
  const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_GRACE_MS: "1000" } });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
  const said = chat.say(3);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(3);
  viewer.leave();
  await relay.advance(10_000);
  chat.end("reload-only");
  const calls = relay.upstream.requests.length;
  const fresh = relay.visit({ videoId: VIDEO });
  const resumed = relay.visit({ videoId: VIDEO, lastEventId: 0 });
  await relay.until(() => relay.upstream.requests.length > calls);
  relay.disk.goneUntil = Number.POSITIVE_INFINITY;
  await assert.rejects(relay.when(fresh.entered), { code: "STORE_UNAVAILABLE" });
  await assert.rejects(relay.when(resumed.entered), { code: "STORE_UNAVAILABLE" });
  relay.disk.calm();
  await relay.advance(5000);
  const back = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
  assert.equal((await back.ended())?.event, "end");
  assert.deepEqual(withoutGaps(back.ids), said);
});

describe("a replay", () => {
  for (const [replayRenderer, perWrapper] of [
    ["liveChatReplayRenderer", 1],
    ["liveChatRenderer", 4],
  ] as const) {
    it(`(${replayRenderer}, ${perWrapper} each) is sent whole to the viewer that opens it, then ends`, async () => {
      const relay = new VirtualRelay();
      const chat = relay.upstream.chat(VIDEO, { ...TEXT, ...REPLAY, replayRenderer, perWrapper, page: 5 });
      const ids = chat.say(300);
      const viewer = await relay.enter({ videoId: VIDEO, backfill: 0 });
      assert.equal((await viewer.ended())?.event, "end");
      assert.equal(viewer.init.chatType, "liveChatReplayRenderer");
      assert.deepEqual(viewer.ids, ids);
      const [first] = relay.upstream.requests.filter(({ client, status }) => client && status === 200);
      assert.match(first?.body ?? "", /"playerOffsetMs":"0"/, "read from its beginning");
    });
  }

  it("is sent whole to viewers without a cursor and a backfill: open, lingering, or in the store", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "5000" } });
    const ids = relay.upstream.chat(VIDEO, { ...TEXT, ...REPLAY }).say(200);
    const open = (options = {}) => relay.enter({ videoId: VIDEO, ...options });
    const opener = await open();
    await opener.untilMessages(80);
    const during = await open();
    const named = await open({ backfill: 2 });
    assert.equal((await opener.ended())?.event, "end");
    assert.equal(await relay.metric('relay_rooms{state="ended"}'), 1);
    const kept = await open();
    await relay.advance(MINUTE);
    assert.equal(await relay.metric('relay_rooms{state="ended"}'), 0);
    const stored = await open();
    for (const viewer of [opener, during, kept, stored]) {
      assert.equal((await viewer.ended())?.event, "end");
      assert.deepEqual(viewer.ids, ids);
    }
    await named.ended();
    assert.notEqual(named.ids[0], ids[0]);
  });

  it("that is over is one room with shared reads for any number of viewers", async () => {
    const scenario = { ...REPLAY, page: 5, pageSize: 500 };
    const { relay } = await endedRoom(1000, { RELAY_GRACE_MS: "1" }, scenario);
    await relay.advance(MINUTE);
    const reads = async () => (await relay.metric('relay_store_operations_total{kind="read"}')) ?? 0;
    const before = await reads();
    const viewers = Array.from({ length: 10 }, () => relay.visit({ videoId: VIDEO }));
    for (const again of viewers) assert.equal((await again.ended())?.event, "end");
    for (const again of viewers) assert.equal(again.messages.length, 1000);
    assert.ok((await reads()) - before <= 13, `${(await reads()) - before} reads`);
  });

  it("that was read to its end is answered from the store for an hour, without upstream calls", async () => {
    const room = await endedRoom(100, { RELAY_GRACE_MS: "1" }, REPLAY);
    await room.relay.advance(MINUTE);
    const calls = room.upstream.requests.length;
    for (const [options, expected] of [
      [{}, room.viewer.messages],
      [{ backfill: 3 }, room.viewer.messages.slice(-3)],
    ] as const) {
      const again = await room.open(options);
      assert.equal((await again.ended())?.event, "end");
      assert.deepEqual(again.messages, expected);
    }
    assert.equal(room.upstream.requests.length, calls);
  });

  it("that was read to its end and is there after an hour is not read again: its log stays shut", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "1000" } });
    const ids = relay.upstream.chat(VIDEO, { ...TEXT, ...REPLAY }).say(400);
    await (await relay.enter({ videoId: VIDEO })).ended();
    const reads = () => relay.upstream.requests.filter(({ kind }) => kind === "get_live_chat_replay").length;
    const before = reads();
    await relay.advance(61 * 60_000);
    const newcomer = await relay.enter({ videoId: VIDEO });
    assert.equal((await newcomer.ended())?.event, "end");
    assert.deepEqual(newcomer.ids, ids);
    assert.equal(reads() - before, 2, "they prove that it is there: ten would read it");
    await relay.advance(59 * 60_000);
    const calls = relay.upstream.requests.length;
    const later = await relay.enter({ videoId: VIDEO });
    assert.equal((await later.ended())?.event, "end");
    assert.equal(relay.upstream.requests.length, calls);
  });
});

describe("a video without a chat", () => {
  it("is answered from memory, with the time to come again, until RELAY_NO_CHAT_MS is over", async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { kind: "disabled" });
    chat.say(1);
    const first = await relay.refusal({ videoId: VIDEO });
    const calls = relay.upstream.requests.length;
    await relay.advance(29_999);
    const second = await relay.refusal({ videoId: VIDEO });
    assert.deepEqual([first.retryAfterMs, second.retryAfterMs], [30_000, 1]);
    assert.equal(relay.upstream.requests.length, calls);
    chat.change({ kind: "live" });
    await relay.advance(1);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(1);
  });

  it("does not count the refused viewers as its viewers", async () => {
    const relay = new VirtualRelay();
    const { ownership } = relay.store;
    relay.upstream.chat(VIDEO, { kind: "disabled" });
    for (const isFromMemory of [false, true]) {
      const calls = relay.upstream.requests.length;
      await relay.refusal({ videoId: VIDEO });
      assert.equal(relay.upstream.requests.length === calls, isFromMemory);
      assert.equal(await ownership.watchedForMs(VIDEO), 0);
    }
  });

  it("is looked up again at once if its page could not be read", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_NO_CHAT_MS: "60000" } });
    relay.upstream.chat(VIDEO, TEXT).say(1);
    relay.upstream.fault({ on: PLACES, times: 3, as: "html" });
    assert.equal(await codeOf(relay), "NO_LIVE_CHAT");
    await (await relay.enter({ videoId: VIDEO })).untilMessages(1);
  });
});
