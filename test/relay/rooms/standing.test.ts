/**
 * The standing of a chat, for rooms with viewers and without, newcomers, viewers with a cursor, and restarts:
 * a chat that is off or hidden is not over.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Scenario } from "../../../simulator/scenario.ts";
import type { Details } from "../../../src/protocol/kinds.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { requestsOf, VIDEO, virtualRoom } from "../../support/virtual-room.ts";

const SECOND = 1000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ENDED = { event: "end", data: { reason: "no more continuations" } };

/** By what the watch page says; a viewer waits in all of them. */
const AWAITED: Record<string, Partial<Scenario>> = {
  "switched off": { kind: "off" },
  private: { kind: "private" },
};
/** What means the same as one of these: its other consequences are the same, too. */
const ALIKE: Record<string, Partial<Scenario>> = {
  "switched off before the stream begins": { kind: "off", stream: "upcoming" },
  "for members": { kind: "members-only" },
  "behind a sign-in": { kind: "age-limit" },
};

const stateOf = async (room: Awaited<ReturnType<typeof virtualRoom>>) => {
  const [listed] = await room.relay.when(room.relay.list.all());
  return listed?.state;
};

/** By what becomes of a replay's video; none of it says that the replay was read to its end. */
const REPLAY_GONE: Record<string, Partial<Scenario>> = {
  "video becomes private": { kind: "private" },
  "video is left to members": { kind: "members-only", stream: "ended" },
  "chat is taken away": { kind: "disabled" },
};

/** The gap behind the three first messages. */
function gapIn({ messages }: VirtualViewer) {
  const { gap = { since: "", reason: "" } } = (messages[3]?.message.details ?? {}) as Partial<Details>;
  return gap;
}

for (const [what, scenario] of Object.entries({ ...AWAITED, ...ALIKE })) {
  describe(`the chat of an open room that is ${what}`, () => {
    it("is waited for with its viewers and newcomers, and goes on under its cursors", async () => {
      const room = await virtualRoom(3);
      const { relay, chat, viewer } = room;
      chat.change(scenario);
      await relay.advance(10 * SECOND);
      assert.equal(await stateOf(room), "waiting");
      const newcomer = await room.open({ backfill: 2 });
      const resumed = await room.open({ lastEventId: viewer.cursors[0] ?? 0 });
      await relay.advance(10 * MINUTE);
      assert.match(viewer.text, /(: keepalive\n\n){10}/);
      assert.equal(await stateOf(room), "waiting");
      chat.change({ kind: "live" });
      const said = chat.say(2);
      await relay.advance(40 * SECOND);
      assert.deepEqual(viewer.ids, room.ids());
      assert.deepEqual(newcomer.ids, room.ids().slice(1));
      assert.deepEqual(resumed.ids, room.ids().slice(1));
      assert.deepEqual(viewer.ids.slice(3), said);
      assert.deepEqual([viewer.end, newcomer.end, await stateOf(room)], [undefined, undefined, "polling"]);
    });

    if (what in ALIKE) return;

    it("is looked for at once and then every 30 s, once for all viewers", async () => {
      const room = await virtualRoom(3, { RELAY_LOOK_MS: "30000" });
      const { relay, chat } = room;
      for (let i = 0; i < 5; i++) await room.open();
      const before = room.bootstraps();
      chat.change(scenario);
      await relay.advance(5 * SECOND);
      assert.equal(room.bootstraps() - before, 1);
      await relay.advance(10 * MINUTE);
      const checks = requestsOf(relay, "popout").slice(before);
      assert.ok(checks.length >= 20 && checks.length <= 21, `${checks.length} checks`);
      const calls = relay.upstream.requests.length;
      await relay.advance(20 * SECOND);
      assert.ok(relay.upstream.requests.length - calls <= 4, "nothing but a check");
    });

    it("lingers and is released without viewers, and then refuses newcomers with the reason", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "90000", RELAY_NO_CHAT_MS: "30000" });
      const { relay, chat, viewer } = room;
      chat.change(scenario);
      await relay.advance(MINUTE);
      viewer.leave();
      await relay.advance(10 * SECOND);
      assert.equal(await stateOf(room), "lingering");
      await relay.advance(2 * MINUTE);
      assert.equal(await stateOf(room), "released");
      const refusal = await relay.refusal({ videoId: VIDEO });
      assert.equal(refusal.code, "NO_LIVE_CHAT");
      assert.match(refusal.message, /^No live chat found: /);
      const asked = room.bootstraps();
      await relay.advance(20 * SECOND);
      assert.ok(((await relay.refusal({ videoId: VIDEO })).retryAfterMs ?? 0) > 0);
      assert.equal(room.bootstraps(), asked, "it is remembered");
      chat.change({ kind: "live" });
      await relay.advance(30 * SECOND);
      await room.open();
    });

    for (const cursor of [0, "its last"] as const) {
      it(`is waited for by a viewer that comes with cursor ${cursor} after the room was released`, async () => {
        const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" });
        const { relay, chat, viewer } = room;
        const last = viewer.cursors.at(-1) ?? 0;
        viewer.leave();
        await relay.advance(10 * SECOND);
        chat.change(scenario);
        await relay.advance(10 * MINUTE);
        assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
        const back = await room.open({ lastEventId: cursor === 0 ? 0 : last });
        assert.equal(await stateOf(room), "waiting");
        const newcomer = await room.open();
        await relay.advance(5 * MINUTE);
        chat.change({ kind: "live" });
        chat.say(2);
        await relay.advance(40 * SECOND);
        const isFromTheStart = cursor === 0;
        assert.deepEqual(back.ids, isFromTheStart ? room.ids() : room.ids().slice(3));
        assert.deepEqual(newcomer.ids, room.ids());
        assert.equal(back.end, undefined);
      });
    }

    it("is waited for by a viewer with a cursor, although the room's checkpoint cannot be read", async () => {
      const room = await virtualRoom(3, {}, {}, { hasDisk: true });
      const { relay, chat, viewer } = room;
      relay.kill();
      relay.disk.rewrite(VIDEO, () => '{"position":"of another version"}');
      chat.change(scenario);
      await relay.advance(MINUTE);
      relay.start();
      const back = await room.open({ lastEventId: viewer.cursors[0] ?? 0 });
      assert.equal(await stateOf(room), "waiting");
      await relay.advance(5 * MINUTE);
      chat.change({ kind: "live" });
      const said = chat.say(2);
      await relay.advance(40 * SECOND);
      const ids = back.messages.flatMap(({ message: { type, id } }) => (type === "gap" ? [] : id));
      assert.deepEqual(ids, [...room.ids().slice(1, 3), ...said]);
      assert.equal(back.end, undefined);
    });

    it("is not waited for by one with a cursor of no room", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" });
      room.viewer.leave();
      await room.relay.advance(10 * SECOND);
      room.chat.change(scenario);
      assert.equal((await room.relay.refusal({ videoId: VIDEO, lastEventId: 17 })).code, "NO_LIVE_CHAT");
    });

    for (const how of ["stopped", "killed"] as const) {
      it(`is waited for at once after the service was ${how}, and never ended by it`, async () => {
        const room = await virtualRoom(3, {}, {}, { hasDisk: true });
        const { relay, chat, viewer } = room;
        const last = viewer.cursors.at(-1) ?? 0;
        chat.change(scenario);
        await relay.advance(5 * MINUTE);
        if (how === "stopped") await relay.stop();
        else relay.kill();
        await relay.advance(2 * SECOND);
        const calls = requestsOf(relay, "get_live_chat").length;
        relay.start();
        const back = await room.open({ lastEventId: last });
        await relay.advance(3 * SECOND);
        assert.equal(await stateOf(room), "waiting");
        assert.equal(requestsOf(relay, "get_live_chat").length, calls, "no call with a token of before");
        chat.change({ kind: "live" });
        const said = chat.say(2);
        await relay.advance(40 * SECOND);
        assert.deepEqual(back.ids, said);
        assert.deepEqual([viewer.end, back.end], [undefined, undefined]);
      });
    }
  });
}

describe("a chat that is hidden", () => {
  it("counts as over 6 h after the last page that was not hidden, through a restart", async () => {
    const room = await virtualRoom(3, {}, {}, { hasDisk: true });
    const { relay, chat, viewer } = room;
    chat.change({ kind: "private" });
    await relay.advance(3 * HOUR);
    relay.kill();
    relay.start();
    const back = await room.open({ lastEventId: viewer.cursors.at(-1) ?? 0 });
    await relay.advance(3 * HOUR - 2 * MINUTE);
    assert.equal(back.end, undefined);
    await relay.advance(3 * MINUTE);
    assert.deepEqual(back.end, ENDED);
  });

  it("counts as over 6 h after its opening, if the service was killed before it was polled again", async () => {
    const { relay, chat, viewer, open } = await virtualRoom(3, {}, {}, { hasDisk: true });
    relay.kill();
    chat.change({ kind: "private" });
    await relay.advance(6 * HOUR);
    relay.start();
    const back = await open({ lastEventId: viewer.cursors[0] });
    assert.deepEqual(await back.ended(), ENDED);
  });

  for (const [first, then] of [
    [40, 0],
    [-40, 0],
    [0, 40],
    [0, -40],
  ] as const) {
    for (const isSeenHidden of [true, false]) {
      const when = isSeenHidden ? "while it is" : "before seen so";
      it(`does not end sooner by a clock that is ahead by ${first} days, ${then} after a restart ${when}`, async () => {
        let days: number = first;
        const aheadMs = () => days * 24 * HOUR;
        const settings = { RELAY_HIDDEN_MS: `${20 * MINUTE}` };
        const room = await virtualRoom(3, settings, {}, { hasDisk: true, aheadMs });
        const { relay, chat, viewer } = room;
        await relay.advance(MINUTE);
        if (!isSeenHidden) relay.kill();
        chat.change({ kind: "private" });
        await relay.advance(MINUTE);
        if (isSeenHidden) relay.kill();
        days = then;
        relay.start();
        const back = await room.open({ lastEventId: viewer.cursors.at(-1) ?? 0 });
        await relay.advance(8 * MINUTE);
        relay.kill();
        relay.start();
        const again = await room.open({ lastEventId: viewer.cursors.at(-1) ?? 0 });
        await relay.advance(8 * MINUTE);
        assert.deepEqual([back.end, again.end], [undefined, undefined]);
        await relay.advance(5 * MINUTE);
        assert.deepEqual(again.end, ENDED);
      });
    }
  }

  for (const kind of ["private", "age-check", "content-check"] as const)
    it(`leaves a gap with the reason (${kind}) if later messages do not join earlier ones`, async () => {
      const { relay, chat, viewer } = await virtualRoom(3, {}, { page: 5, holdsMs: 10_000 });
      const since = relay.clock.now();
      chat.change({ kind });
      await relay.advance(MINUTE);
      chat.say(20);
      chat.change({ kind: "live" });
      await relay.advance(40 * SECOND);
      const [gap] = viewer.messages.slice(3);
      assert.equal(gap?.message.type, "gap");
      assert.match(gap?.message.message ?? "", /private/);
      const detailed = await relay.enter({ videoId: VIDEO, lastEventId: 0, details: true });
      const told = gapIn(detailed);
      assert.equal(told.reason, "hidden");
      assert.ok(Math.abs(Date.parse(told.since) - since) < 3000, told.since);
    });

  for (const [what, scenario, downMs] of [
    ["there again", { kind: "live" }, 0],
    ["over", { kind: "disabled" }, 0],
    ["there again, after the grace time", { kind: "live" }, 10 * MINUTE],
    ["over, after the grace time", { kind: "disabled" }, 10 * MINUTE],
  ] as const)
    it(`is the reason of the gap if a restarted service finds it ${what}`, async () => {
      const room = await virtualRoom(3, {}, { page: 5, holdsMs: 10_000 }, { hasDisk: true });
      const { relay, chat } = room;
      const since = relay.clock.now();
      chat.change({ kind: "private" });
      await relay.advance(MINUTE);
      relay.kill();
      chat.say(20);
      chat.change(scenario);
      await relay.advance(downMs);
      relay.start();
      const back = await room.open({ lastEventId: 0, details: true });
      await relay.advance(10 * SECOND);
      const told = gapIn(back);
      assert.equal(told.reason, "hidden");
      assert.ok(Math.abs(Date.parse(told.since) - since) < 3000, told.since);
    });
});

it("a page that says a chat is off is a good answer: only later messages may be missing", async () => {
  const { relay, chat, viewer } = await virtualRoom(3, {}, { page: 5, holdsMs: 10_000 });
  chat.change({ kind: "off" });
  await relay.advance(10 * MINUTE);
  const off = relay.clock.now();
  chat.change({ kind: "live" });
  chat.say(20);
  await relay.advance(40 * SECOND);
  assert.equal(viewer.messages[3]?.message.type, "gap");
  const detailed = await relay.enter({ videoId: VIDEO, lastEventId: 0, details: true });
  const since = Date.parse(gapIn(detailed).since);
  assert.ok(off - since >= 0 && off - since <= 31 * SECOND, `${off - since} ms`);
});

it("a chat that is off is looked for every 30 s for hours, though nobody watches its open room", async () => {
  const settings = { RELAY_LOOK_MS: "30000", RELAY_GRACE_MS: `${6 * HOUR}` };
  const { relay, chat, viewer, bootstraps } = await virtualRoom(3, settings);
  chat.change({ kind: "off" });
  viewer.leave();
  await relay.advance(90 * MINUTE);
  const before = bootstraps();
  await relay.advance(20 * MINUTE);
  const looks = bootstraps() - before;
  assert.ok(looks >= 38 && looks <= 40, `${looks} looks`);
});

for (const [what, settings, alone] of [
  ["elsewhere", {}, 0],
  ["and recorded elsewhere", { RELAY_RECORD: "another-one" }, 1],
] as const)
  it(`a recorded chat, seldom sought, is sought every 30 s while watched ${what}`, async () => {
    const { relay, chat, bootstraps } = await virtualRoom(3, settings);
    let elsewhere: number = alone;
    relay.store.ownership.wantedElsewhere = async (keys, beyond = 0) => (elsewhere > beyond ? keys : []);
    relay.recorded.take(VIDEO);
    chat.change({ kind: "off" });
    await relay.advance(3 * HOUR);
    const looksIn = async (ms: number) => {
      const before = bootstraps();
      await relay.advance(ms);
      return bootstraps() - before;
    };
    assert.equal(await looksIn(HOUR), 6);
    elsewhere += 1;
    await relay.advance(31 * SECOND);
    assert.ok((await looksIn(10 * MINUTE)) >= 19);
    elsewhere = alone;
    await relay.advance(HOUR);
    assert.equal(await looksIn(HOUR), 6);
  });

it("a gap after an off page has the reason unreachable, even if that page opened the room", async () => {
  const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" }, { page: 5, holdsMs: 10_000 });
  const { relay, chat, viewer } = room;
  viewer.leave();
  await relay.advance(5 * SECOND);
  chat.change({ kind: "off" });
  const back = await room.open({ lastEventId: 0, details: true });
  await relay.advance(10 * SECOND);
  chat.say(20);
  chat.change({ kind: "live" });
  await relay.advance(40 * SECOND);
  assert.equal(gapIn(back).reason, "unreachable");
});

it("a late off page that opens a room again leaves a gap from the last read", async () => {
  const settings = { RELAY_GRACE_MS: "1000" };
  const scenario = { page: 5, holdsMs: 10_000, timeoutMs: 1000 };
  const { relay, upstream, chat, viewer, open } = await virtualRoom(3, settings, scenario);
  const read = relay.clock.now();
  viewer.leave();
  await relay.advance(8 * SECOND);
  upstream.fault({ on: "popout", times: 1, as: { delayMs: 6 * SECOND } });
  chat.say(20);
  chat.change({ kind: "off" });
  const back = await open({ lastEventId: 0, details: true });
  await relay.advance(10 * SECOND);
  chat.change({ kind: "live" });
  chat.say(20);
  await relay.advance(40 * SECOND);
  const { since, reason } = gapIn(back);
  assert.equal(reason, "unwatched");
  assert.ok(Math.abs(Date.parse(since) - read) < 3 * SECOND, since);
});

for (const kind of ["off", "private"] as const)
  it(`a chat read to its end stays over, also for cursor 0, if its page later says ${kind}`, async () => {
    const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" }, {}, { hasDisk: true });
    const { relay, chat, viewer } = room;
    chat.end("reload-only");
    await viewer.ended();
    await relay.advance(MINUTE);
    chat.change({ kind, stream: "live" });
    for (const lastEventId of [0, viewer.cursors[0], 0]) {
      const back = await room.open({ lastEventId });
      assert.deepEqual(await back.ended(), ENDED);
      assert.deepEqual(back.ids, room.ids().slice(lastEventId === 0 ? 0 : 1));
      assert.equal((await relay.when(relay.store.getRoom(VIDEO)))?.end?.state, "ended");
    }
    assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
  });

it("a chat that is off for two seconds goes on, with all of its messages and no gap", async () => {
  const { relay, chat, viewer, ids } = await virtualRoom(3);
  chat.say(1);
  chat.change({ kind: "off" });
  await relay.advance(2 * SECOND);
  chat.change({ kind: "live" });
  const speech = chat.speak(1);
  await relay.advance(MINUTE);
  speech.stop();
  await relay.advance(5 * SECOND);
  assert.deepEqual(viewer.ids, ids());
});

for (const [kind, isRestarted] of [
  ["off", false],
  ["private", false],
  ["private", true],
] as const) {
  const which = `${kind === "off" ? "" : ` for a ${kind} chat`}${isRestarted ? " after a restart" : ""}`;
  it(`a room that waits${which} fails only after two minutes of walls`, async () => {
    const room = await virtualRoom(3, {}, {}, { hasDisk: isRestarted });
    const { relay, upstream, chat } = room;
    chat.change({ kind });
    await relay.advance(5 * MINUTE);
    const wall = upstream.fault({ on: ["popout", "watch", "next"], times: 1000, as: "bot" });
    if (isRestarted) {
      relay.kill();
      relay.start();
    }
    const viewer = isRestarted ? await room.open({ lastEventId: 0 }) : room.viewer;
    await relay.advance(100 * SECOND);
    wall.cancel();
    chat.change({ kind: "live" });
    const said = chat.say(1);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.ids.slice(3), said);
    assert.equal(viewer.end, undefined);
  });
}

for (const [what, gone] of Object.entries(REPLAY_GONE)) {
  describe(`a replay whose ${what} while it is read`, () => {
    async function goneReplay() {
      const relay = new VirtualRelay();
      const chat = relay.upstream.chat(VIDEO, { kind: "replay", kinds: ["text"], pageSize: 2 });
      const ids = chat.say(20);
      const viewer = await relay.enter({ videoId: VIDEO });
      await viewer.untilMessages(4);
      chat.change(gone);
      return { relay, chat, ids, viewer };
    }

    it("is read on to its end if it is shown again within two minutes", async () => {
      const { relay, chat, ids, viewer } = await goneReplay();
      await relay.advance(MINUTE);
      assert.equal(viewer.end, undefined);
      chat.change({ kind: "replay" });
      assert.deepEqual(await viewer.ended(), ENDED);
      assert.deepEqual(viewer.ids, ids);
    });

    it("fails, but is not over: a viewer that comes back when it is shown again gets the rest", async () => {
      const { relay, chat, ids, viewer } = await goneReplay();
      assert.equal((await viewer.ended())?.event, "error");
      chat.change({ kind: "replay" });
      await relay.advance(MINUTE);
      const back = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors.at(-1) ?? 0 });
      assert.deepEqual(await back.ended(), ENDED);
      assert.deepEqual([...viewer.ids, ...back.ids], ids);
    });

    it("is not kept as whole: a newcomer gets all of it when it is shown again", async () => {
      const { relay, chat, ids, viewer } = await goneReplay();
      viewer.leave();
      await relay.advance(10 * MINUTE);
      assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
      chat.change({ kind: "replay" });
      await relay.advance(MINUTE);
      const newcomer = await relay.enter({ videoId: VIDEO });
      assert.deepEqual(await newcomer.ended(), ENDED);
      assert.deepEqual(newcomer.ids, ids);
    });
  });
}
