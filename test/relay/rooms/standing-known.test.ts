/**
 * A chat that is over, or that never was one, ends for everybody; one whose standing is not known ends for
 * nobody: in an open room, in one that lingers, after a restart, in a recording, for viewers of its channel,
 * at an edge.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Scenario } from "../../../simulator/scenario.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorded } from "../../support/recorder-parts.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { VIDEO, virtualRoom, withoutGaps } from "../../support/virtual-room.ts";
import { MINUTE, watched } from "../../support/watched-channel.ts";

const SECOND = 1000;
const TEXT = { kinds: ["text"], timeoutMs: 5000 } as const;
const ENDED = { event: "end", data: { reason: "no more continuations" } };
const PAGES = ["popout", "watch", "next"] as const;

/** By what its pages say of a chat that was read. */
const FINAL: Record<string, Partial<Scenario>> = {
  "over, and its chat is disabled": { kind: "disabled" },
  "a replay now": { kind: "replay" },
  "no stream": { kind: "none" },
};
/** What means the same as one of these: its other consequences are the same, too. */
const ALIKE: Record<string, Partial<Scenario>> = {
  "over, and private to others": { kind: "members-only", stream: "ended" },
  "no stream, and behind a sign-in": { kind: "age-limit", stream: "never" },
  gone: { kind: "unavailable" },
};

/** The answers in place of its pages. */
const UNKNOWN = {
  "a sign-in of a bot": "bot",
  "another video's page": "other-video",
  "pages that fail": { status: 503 },
  "a consent form": "consent",
  "a page without data": "no-data",
} as const;
const WALLS_LIKE_A_SIGN_IN = ["a consent form", "a page without data"];

/** Hides the pages of all videos, and what they have said, until it is cancelled. */
function hide({ upstream }: VirtualRelay, as: (typeof UNKNOWN)[keyof typeof UNKNOWN]) {
  return upstream.fault({ on: PAGES, times: 10_000, as });
}

for (const [what, scenario] of Object.entries({ ...FINAL, ...ALIKE })) {
  describe(`a chat that was read and is ${what}`, () => {
    it("ends an open room, for its viewers", async () => {
      const { relay, chat, viewer } = await virtualRoom(3);
      chat.change(scenario);
      await relay.advance(30 * SECOND);
      assert.deepEqual([viewer.end, viewer.ids.length], [ENDED, 3]);
    });

    if (what in ALIKE) return;

    it("ends a lingering room: a viewer that comes back and a newcomer get the rest and the end", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "90000" });
      const { relay, chat, viewer } = room;
      const [first = 0] = viewer.cursors;
      viewer.leave();
      chat.change(scenario);
      await relay.advance(30 * SECOND);
      for (const lastEventId of [first, undefined]) {
        const back = await room.open({ lastEventId });
        assert.deepEqual(await back.ended(), ENDED);
        assert.deepEqual(back.ids, room.ids().slice(lastEventId === undefined ? 0 : 1));
      }
    });

    it("is over for viewers that come back after a restart, with one gap at its unread end", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" }, {}, { hasDisk: true });
      const { relay, chat, viewer } = room;
      const last = viewer.cursors.at(-1) ?? 0;
      await relay.advance(SECOND);
      relay.kill();
      chat.say(2);
      chat.change(scenario);
      await relay.advance(10 * MINUTE);
      relay.start();
      for (let times = 0; times < 2; times++) {
        const back = await room.open({ lastEventId: last });
        assert.deepEqual(await back.ended(), ENDED);
        assert.deepEqual(back.ids, [`gap:${last}`]);
        await relay.advance(MINUTE);
      }
    });

    it("ends its recording", async () => {
      const { relay, chat, now } = recorded();
      chat.say(3);
      await relay.advance(30 * SECOND);
      assert.equal((await now()).state, "recording");
      chat.change(scenario);
      await relay.advance(2 * MINUTE);
      assert.equal((await now()).state, "ended");
    });

    it("is left by the viewers of its channel, who read the next stream", async () => {
      const { relay, channel } = watched();
      const { chat } = channel.broadcast(VIDEO, { chat: TEXT });
      const said = chat.say(3);
      const viewer = new ChannelVisitor(relay.service);
      await relay.advance(MINUTE);
      chat.change(scenario);
      await relay.advance(2 * MINUTE);
      const { state, videoId } = viewer.events.at(-1)?.data ?? {};
      assert.deepEqual([state, videoId], ["waiting", undefined]);
      const next = channel.broadcast("another-one", { chat: TEXT });
      said.push(...next.chat.say(2));
      await relay.advance(2 * MINUTE);
      const news = viewer.news();
      assert.deepEqual(viewer.ids, said, news.join());
    });

    it("ends for the viewers of an edge, and for those that come back there", async () => {
      const room = await virtualRoom(3);
      const { relay, chat } = room;
      const { life } = await virtualEdge(relay);
      const viewer = await relay.enter({ videoId: VIDEO }, life.rooms);
      const [first = 0] = viewer.cursors;
      chat.change(scenario);
      assert.deepEqual(await viewer.ended(), ENDED);
      await relay.advance(10 * MINUTE);
      const back = await relay.enter({ videoId: VIDEO, lastEventId: first }, life.rooms);
      assert.deepEqual(await back.ended(), ENDED);
      assert.deepEqual(back.ids, room.ids().slice(1));
    });
  });
}

for (const how of ["its viewer has left", "its reading has failed", "its service was killed"] as const)
  it(`a gone video's replay ends, with all read, for those back after ${how}`, async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "1000" }, hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, kind: "replay", pageSize: 2 });
    const said = chat.say(20);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(4);
    if (how === "its viewer has left") viewer.leave();
    if (how === "its reading has failed") chat.change({ kind: "private" });
    if (how === "its service was killed") relay.kill();
    await relay.advance(10 * MINUTE);
    chat.change({ kind: "unavailable" });
    if (how === "its service was killed") relay.start();
    const back = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors[1] });
    assert.deepEqual(await back.ended(), ENDED);
    assert.ok(back.ids.length >= 2, "what the viewer saw is kept");
    assert.deepEqual(back.ids, said.slice(2, 2 + back.ids.length));
  });

for (const [what, as] of Object.entries(UNKNOWN)) {
  describe(`a chat in whose place there is ${what}`, () => {
    it("goes on with its viewers, and those that come meanwhile", async () => {
      const room = await virtualRoom(3);
      const { relay, chat, viewer } = room;
      const wall = hide(relay, as);
      chat.expireTokens();
      await relay.advance(40 * SECOND);
      const newcomer = await room.open();
      const back = await room.open({ lastEventId: viewer.cursors[0] });
      wall.cancel();
      chat.say(2);
      await relay.advance(MINUTE);
      assert.deepEqual(withoutGaps(viewer.ids), room.ids());
      assert.deepEqual(withoutGaps(newcomer.ids), room.ids());
      assert.deepEqual(withoutGaps(back.ids), room.ids().slice(1));
      assert.deepEqual([viewer.end, newcomer.end, back.end], [undefined, undefined, undefined]);
    });

    if (WALLS_LIKE_A_SIGN_IN.includes(what)) return;

    it("goes on in a room that lingers", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "90000" });
      const { relay, chat, viewer } = room;
      viewer.leave();
      const wall = hide(relay, as);
      chat.expireTokens();
      await relay.advance(40 * SECOND);
      const back = await room.open({ lastEventId: viewer.cursors[0] });
      wall.cancel();
      chat.say(2);
      await relay.advance(MINUTE);
      assert.deepEqual(withoutGaps(back.ids), room.ids().slice(1));
      assert.equal(back.end, undefined);
    });

    it("is not over for viewers that come back after a restart, and not remembered", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" }, {}, { hasDisk: true });
      const { relay, chat, viewer } = room;
      relay.kill();
      await relay.advance(10 * MINUTE);
      relay.start();
      const wall = hide(relay, as);
      for (const lastEventId of [0, viewer.cursors[0], undefined]) {
        const refusal = await relay.refusal({ videoId: VIDEO, lastEventId });
        assert.doesNotMatch(refusal.message, /^No live chat found: /);
      }
      wall.cancel();
      chat.say(2);
      const back = await room.open({ lastEventId: viewer.cursors[0] });
      await relay.advance(10 * SECOND);
      assert.deepEqual(withoutGaps(back.ids), room.ids().slice(1));
      assert.equal(back.end, undefined);
    });

    it("stays recorded, whether it is missing at first or later", async () => {
      const { relay, chat, now, stored, said } = recorded();
      chat.say(3);
      const walls = [hide(relay, as)];
      for (let times = 0; times < 2; times++) {
        chat.expireTokens();
        await relay.advance(5 * MINUTE);
        assert.notEqual((await now()).state, "ended");
        for (const wall of walls.splice(0)) wall.cancel();
        chat.say(2);
        await relay.advance(3 * MINUTE);
        assert.equal((await now()).state, "recording");
        assert.deepEqual(withoutGaps(await stored()), said());
        walls.push(hide(relay, as));
      }
    });

    it("is waited for by the viewers of its channel, with the reason, and read again", async () => {
      const { relay, channel } = watched();
      const { chat } = channel.broadcast(VIDEO, { chat: TEXT });
      const said = chat.say(3);
      const viewer = new ChannelVisitor(relay.service);
      await relay.advance(MINUTE);
      viewer.news();
      const wall = hide(relay, as);
      chat.expireTokens();
      await relay.advance(4 * MINUTE);
      const { state, reason } = viewer.events.at(-1)?.data ?? {};
      assert.equal(state, "waiting");
      assert.ok(reason);
      wall.cancel();
      said.push(...chat.say(2));
      await relay.advance(3 * MINUTE);
      const news = viewer.news();
      assert.ok(!news.includes("end"), news.join());
      assert.deepEqual(withoutGaps(viewer.ids), said);
    });

    it("does not end for viewers of an edge, and its newcomers get the origin's words", async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" });
      const { relay, chat } = room;
      const { life } = await virtualEdge(relay);
      const viewer = await relay.enter({ videoId: VIDEO }, life.rooms);
      room.viewer.leave();
      const wall = hide(relay, as);
      chat.expireTokens();
      await relay.advance(40 * SECOND);
      const newcomer = await relay.enter({ videoId: VIDEO }, life.rooms);
      const stranger = { videoId: "another-one" };
      relay.upstream.chat(stranger.videoId, TEXT);
      const [there, here] = [await relay.refusal(stranger), await relay.refusal(stranger, life.rooms)];
      assert.deepEqual(here.body, there.body);
      wall.cancel();
      chat.say(2);
      await relay.advance(MINUTE);
      for (const each of [viewer, newcomer])
        assert.deepEqual([withoutGaps(each.ids), each.end], [room.ids(), undefined]);
      assert.equal((await relay.enter(stranger, life.rooms)).end, undefined);
    });
  });
}
