/** The standing of a chat, for recordings, for viewers of its channel, and for those of an edge. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ERRORS } from "../../../src/protocol/errors.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorded } from "../../support/recorder-parts.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { requestsOf, VIDEO, virtualRoom } from "../../support/virtual-room.ts";
import { MINUTE, watched } from "../../support/watched-channel.ts";

const SECOND = 1000;
const HOUR = 60 * MINUTE;
const TEXT = { kinds: ["text"], timeoutMs: 5000 } as const;
/** Two standings; what else means the same is in `standing.test.ts`. */
const AWAITED = ["off", "private"] as const;
const ENDED = { event: "end", data: { reason: "no more continuations" } };

describe("the recording of a video", { timeout: 120_000 }, () => {
  for (const kind of AWAITED)
    for (const stream of ["upcoming", "live"] as const) {
      it(`waits for a chat that is ${kind} before it was ever there, and its stream ${stream}`, async () => {
        const { relay, chat, now, stored, said } = recorded({ kind, stream });
        await relay.advance(10 * SECOND);
        const { state, videoId, error } = await now();
        assert.deepEqual([state, videoId], ["waiting", VIDEO]);
        assert.match(error ?? "", /^No live chat found: /);
        await relay.advance(45 * MINUTE);
        const checks = requestsOf(relay, "popout").length;
        assert.ok(checks >= 85 && checks <= 92, `${checks} checks`);
        chat.change({ kind: "live" });
        chat.say(3);
        await relay.advance(40 * SECOND);
        assert.deepEqual([(await now()).state, await stored()], ["recording", said()]);
        chat.end("reload-only");
        await relay.advance(MINUTE);
        assert.equal((await now()).state, "ended");
      });
    }

  for (const kind of AWAITED) {
    it(`waits for a chat that is ${kind} in its midst, through a restart, and records it to its end`, async () => {
      const { relay, chat, now, restart, stored, said } = recorded();
      chat.say(3);
      await relay.advance(20 * SECOND);
      assert.equal((await now()).state, "recording");
      chat.change({ kind });
      await relay.advance(30 * SECOND);
      const { state, videoId, error } = await now();
      assert.deepEqual([state, videoId], ["waiting", VIDEO]);
      assert.ok(error);
      await restart();
      await relay.advance(30 * SECOND);
      assert.equal((await now()).state, "waiting");
      chat.change({ kind: "live" });
      chat.say(3);
      await relay.advance(40 * SECOND);
      assert.deepEqual([(await now()).state, await stored()], ["recording", said()]);
      chat.end("reload-only");
      await relay.advance(MINUTE);
      assert.equal((await now()).state, "ended");
    });
  }

  it("looks for it at growing waits to ten minutes after an hour", async () => {
    for (const said of [0, 3]) {
      const { relay, chat } = recorded(said > 0 ? {} : { kind: "off" });
      chat.say(said);
      await relay.advance(20 * SECOND);
      chat.change({ kind: "off" });
      await relay.advance(3 * HOUR);
      const before = requestsOf(relay, "popout").length;
      await relay.advance(HOUR);
      assert.equal(requestsOf(relay, "popout").length - before, 6);
    }
  });

  it("is not failed by pages that fail for less than two minutes after a long wait", async () => {
    const { relay, upstream, chat, now } = recorded();
    chat.say(3);
    await relay.advance(20 * SECOND);
    chat.change({ kind: "off" });
    await relay.advance(3 * HOUR);
    const looks = requestsOf(relay, "popout").length;
    const wall = upstream.fault({ on: ["popout", "watch", "next"], times: 1000, as: "bot" });
    await relay.until(() => requestsOf(relay, "popout").length > looks);
    await relay.advance(MINUTE);
    wall.cancel();
    await relay.advance(MINUTE);
    assert.equal((await now()).state, "waiting");
    for (const code of Object.keys(ERRORS))
      assert.equal((await relay.metric(`relay_rooms_failed_total{code="${code}"}`)) ?? 0, 0, code);
  });

  it("goes on if its room has ended, and its pages show the chat", async () => {
    const { relay, chat, now, stored, said } = recorded();
    chat.say(3);
    await relay.advance(20 * SECOND);
    const viewer = await relay.enter({ videoId: VIDEO });
    chat.end("reload-only");
    await relay.until(() => viewer.end !== undefined);
    assert.deepEqual(viewer.end, ENDED);
    chat.change({ kind: "live" });
    chat.say(3);
    await relay.advance(2 * MINUTE);
    assert.deepEqual([(await now()).state, await stored()], ["recording", said()]);
  });

  it("is not ended by an answer without a continuation while the chat is off", async () => {
    const { relay, upstream, chat, now, restart, stored, said } = recorded();
    chat.say(3);
    await relay.advance(20 * SECOND);
    upstream.fault({ on: "get_live_chat", times: 1, as: ENDING });
    chat.change({ kind: "off" });
    await relay.advance(MINUTE);
    assert.equal((await now()).state, "waiting");
    await restart();
    await relay.advance(MINUTE);
    assert.equal((await now()).state, "waiting");
    chat.change({ kind: "live" });
    chat.say(2);
    await relay.advance(40 * SECOND);
    assert.deepEqual([(await now()).state, await stored()], ["recording", said()]);
  });

  it("ends if the chat was hidden for RELAY_HIDDEN_MS since a page has shown it, through a restart", async () => {
    const { relay, chat, now, restart } = recorded({}, { settings: { RELAY_HIDDEN_MS: `${2 * HOUR}` } });
    chat.say(3);
    await relay.advance(20 * SECOND);
    chat.change({ kind: "private" });
    await relay.advance(HOUR);
    await restart();
    await relay.advance(HOUR - 5 * MINUTE);
    assert.equal((await now()).state, "waiting");
    await relay.advance(16 * MINUTE);
    assert.equal((await now()).state, "ended");
  });
});

/** An answer of a chat without a next continuation. */
const ENDING = {
  status: 200,
  body: { responseContext: {}, continuationContents: { liveChatContinuation: { continuations: [] } } },
};

describe("a viewer of a channel", () => {
  for (const kind of AWAITED)
    for (const isScheduled of [true, false]) {
      const when = isScheduled ? "before the stream" : "of a live stream";
      it(`waits with the reason for a chat that is ${kind} ${when} and reads it once there`, async () => {
        const { relay, channel, in: from } = watched();
        const startsAt = isScheduled ? { startsAt: from(10 * MINUTE) } : {};
        const stream = channel.broadcast(VIDEO, { chat: TEXT, ...startsAt });
        stream.chat.change({ kind });
        const viewer = new ChannelVisitor(relay.service);
        await relay.advance(MINUTE);
        const last = viewer.events.at(-1)?.data;
        assert.deepEqual([last?.state, last?.videoId], ["waiting", VIDEO]);
        assert.match(last?.reason ?? "", /^No live chat found: /);
        await relay.advance(5 * MINUTE);
        viewer.news();
        if (isScheduled) stream.startedAt = relay.clock.now();
        stream.chat.change({ kind: "live" });
        const said = stream.chat.say(2);
        await relay.advance(95 * SECOND);
        const news = viewer.news();
        assert.deepEqual(news.slice(-2), [`init ${VIDEO}`, `message ${VIDEO}`], news.join());
        assert.deepEqual(viewer.ids, said);
      });
    }

  it("goes on with a stream whose room has ended, if its pages show the chat", async () => {
    const { relay, upstream, channel } = watched();
    const { chat } = channel.broadcast(VIDEO, { chat: TEXT });
    const before = chat.say(3);
    const viewer = new ChannelVisitor(relay.service);
    await relay.advance(MINUTE);
    upstream.fault({ on: "get_live_chat", times: 1, as: ENDING });
    await relay.advance(10 * SECOND);
    const after = chat.say(2);
    await relay.advance(MINUTE);
    const news = viewer.news();
    assert.deepEqual(viewer.ids, [...before, ...after], news.join());
    assert.ok(!news.includes("end"));
  });
});

describe("an edge", () => {
  for (const kind of AWAITED) {
    it(`waits with its viewers and newcomers for a chat that is ${kind}`, async () => {
      const room = await virtualRoom(3);
      const { relay, chat } = room;
      const { life } = await virtualEdge(relay);
      const viewer = await relay.enter({ videoId: VIDEO }, life.rooms);
      chat.change({ kind });
      await relay.advance(5 * MINUTE);
      const newcomer = await relay.enter({ videoId: VIDEO }, life.rooms);
      await relay.advance(MINUTE);
      assert.equal(life.rooms.openHere(VIDEO)?.state, "waiting");
      chat.change({ kind: "live" });
      chat.say(2);
      await relay.advance(40 * SECOND);
      assert.equal(life.rooms.openHere(VIDEO)?.state, "polling");
      for (const each of [viewer, newcomer]) assert.deepEqual([each.ids, each.end], [room.ids(), undefined]);
    });

    it(`refuses newcomers to a ${kind} chat as its origin does, and lets those with a cursor wait`, async () => {
      const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" });
      const { relay, chat, viewer } = room;
      viewer.leave();
      await relay.advance(10 * SECOND);
      chat.change({ kind });
      const { life } = await virtualEdge(relay);
      const [there, here] = [
        await relay.refusal({ videoId: VIDEO }),
        await relay.refusal({ videoId: VIDEO }, life.rooms),
      ];
      assert.deepEqual(here.body, there.body);
      for (const lastEventId of [0, viewer.cursors.at(-1) ?? 0]) {
        const from = relay.clock.monotonic();
        const back = await relay.enter({ videoId: VIDEO, lastEventId }, life.rooms);
        assert.ok(relay.clock.monotonic() - from < 4000, "at once");
        await relay.advance(MINUTE);
        assert.equal(back.end, undefined);
        back.leave();
      }
      const back = await relay.enter({ videoId: VIDEO, lastEventId: 0 }, life.rooms);
      chat.change({ kind: "live" });
      chat.say(2);
      await relay.advance(40 * SECOND);
      assert.deepEqual([back.ids, back.end], [room.ids(), undefined]);
    });
  }

  it("passes a channel's wait on, with its video and its reason", async () => {
    const { relay, channel } = watched();
    const stream = channel.broadcast(VIDEO, { chat: TEXT });
    stream.chat.change({ kind: "off" });
    const { life } = await virtualEdge(relay);
    const [there, here] = [new ChannelVisitor(relay.service), new ChannelVisitor(life)];
    await relay.advance(2 * MINUTE);
    const last = ({ events }: ChannelVisitor) => events.at(-1)?.data;
    assert.deepEqual([last(here)?.state, last(here)?.videoId], ["waiting", VIDEO]);
    assert.deepEqual(last(here), last(there));
    stream.chat.change({ kind: "live" });
    const said = stream.chat.say(2);
    await relay.advance(MINUTE);
    here.news();
    assert.deepEqual(here.ids, said);
  });
});
