/** A channel's connection in virtual time: the chats of its streams, one after the other, each whole. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChannelScenario } from "../../../simulator/simulated-channel.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import type { VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { ChannelVisitor, KEEPALIVE_MS } from "../../support/channel-visitor.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { MINUTE, watched } from "../../support/watched-channel.ts";

const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const said = (...chats: { ledger: readonly { id: string }[] }[]) =>
  chats.flatMap(({ ledger }) => ledger.map(({ id }) => id));

/** The events for a client that comes back after an earlier stream. */
const REST_THEN_TODAY = [
  "channel live live-secon1",
  "init live-first1",
  "message live-first1",
  "channel live live-secon1",
  "init live-secon1",
  "message live-secon1",
];

function visited(scenario: Partial<ChannelScenario> = {}, options: VirtualRelayOptions = {}) {
  const parts = watched(scenario, options);
  const { relay, channel } = parts;
  const visit = (lastEventId?: string, query = {}) => new ChannelVisitor(relay.service, lastEventId, query);
  const live = (videoId: string) => channel.broadcast(videoId, { chat: CHAT });
  return {
    ...parts,
    visit,
    live,
    /** A viewer that has left a stream after three of its seven messages. */
    cutOff: async () => {
      const first = live("live-first1");
      const cut = visit();
      first.chat.say(3);
      await relay.advance(MINUTE);
      cut.news();
      cut.leave();
      first.chat.say(4);
      await relay.advance(MINUTE / 2);
      return { first, cut };
    },
    /** Two viewers of a stream, of which one takes nothing. */
    slowAndQuick: async () => {
      const { chat } = live("live-first1");
      const [slow, quick] = [visit(), visit()];
      await relay.advance(1000);
      slow.sink.stall();
      return { chat, slow, quick };
    },
  };
}

describe("a viewer of a channel", () => {
  it("gets one stream after the other, with waits in between, and each message once", async () => {
    const { relay, channel, visit, live, in: from } = visited();
    const viewer = visit();
    await relay.advance(1000);
    assert.deepEqual(viewer.news(), ["channel waiting"]);
    const morning = live("morning-001");
    await relay.advance(MINUTE);
    morning.chat.say(3);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), ["channel live morning-001", "init morning-001", "message morning-001"]);
    const evening = channel.broadcast("evening-001", { startsAt: from(10 * MINUTE), chat: CHAT });
    morning.chat.say(4);
    morning.end();
    await relay.advance(2 * MINUTE);
    const upcoming = viewer.events.find(({ data }) => data.state === "upcoming");
    assert.equal(Date.parse(upcoming?.data.startsAt ?? ""), evening.startsAt);
    assert.deepEqual(viewer.news(), [
      "message morning-001",
      "channel waiting",
      "channel upcoming evening-001",
      "init evening-001",
    ]);
    evening.chat.say(2);
    await relay.advance(10 * MINUTE);
    evening.start();
    await relay.advance(MINUTE);
    evening.chat.say(2);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), [
      "message evening-001",
      "channel live evening-001",
      "message evening-001",
    ]);
    assert.deepEqual(viewer.ids, said(morning.chat, evening.chat));
    assert.match(viewer.lastId ?? "", /^evening-001\.\d+$/);
  });

  it("turns to the newest stream, and resumes the older one where it left it", async () => {
    const { relay, visit, live } = visited();
    const first = live("live-first1");
    const viewer = visit();
    first.chat.say(2);
    await relay.advance(MINUTE);
    const second = live("live-secon1");
    second.chat.say(2);
    await relay.advance(MINUTE + 10_000); // it leaves once the older one is read again
    first.chat.say(5);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), [
      "channel live live-first1",
      "init live-first1",
      "message live-first1",
      "channel live live-secon1",
      "init live-secon1",
      "message live-secon1",
    ]);
    second.end();
    await relay.advance(2 * MINUTE);
    assert.deepEqual(viewer.news(), ["channel live live-first1", "init live-first1", "message live-first1"]);
    const [one, two] = [said(first.chat), said(second.chat)];
    assert.deepEqual(viewer.ids, [...one.slice(0, 2), ...two, ...one.slice(2)]);
  });

  it("gets all that was said in its stream before its end and the next one, here and at an edge", async () => {
    const { relay, visit, channel, live } = visited({}, { settings: { RELAY_CHANNEL_MS: "2000" } });
    const first = channel.broadcast("live-first1", { chat: { ...CHAT, timeoutMs: 10_000 } });
    const edge = await virtualEdge(relay);
    const viewers = [visit(), new ChannelVisitor(edge.life)];
    first.chat.say(2);
    await relay.advance(MINUTE);
    await relay.requested("get_live_chat", { finished: true });
    first.chat.say(3);
    first.end();
    const second = live("live-secon1");
    second.chat.say(1);
    await relay.advance(MINUTE);
    for (const viewer of viewers) {
      viewer.news();
      assert.deepEqual(viewer.ids, said(first.chat, second.chat));
    }
  });

  it("gets all that was said in its stream before the next one, though its chat is polled seldom", async () => {
    const settings = { RELAY_CHANNEL_MS: "2000", RELAY_POLL_MAX_MS: "40000" };
    const { relay, visit, channel, live } = visited({}, { settings });
    const first = channel.broadcast("live-first1", { chat: { ...CHAT, timeoutMs: 40_000 } });
    const viewer = visit();
    first.chat.say(2);
    await relay.advance(MINUTE);
    await relay.requested("get_live_chat", { finished: true });
    first.chat.say(3);
    const second = live("live-secon1");
    second.chat.say(1);
    await relay.advance(MINUTE);
    viewer.news();
    assert.deepEqual(viewer.ids, said(first.chat, second.chat));
  });

  it("resumes in a finished stream with its remaining messages, and continues with today's", async () => {
    const { relay, visit, live, cutOff } = visited();
    const { first, cut } = await cutOff();
    const stays = visit();
    await relay.advance(1000);
    first.end();
    await relay.advance(MINUTE);
    assert.equal(stays.events.at(-1)?.data.state, "waiting");
    const second = live("live-secon1");
    second.chat.say(2);
    await relay.advance(MINUTE);
    const back = visit(cut.lastId);
    await relay.advance(MINUTE);
    assert.deepEqual(back.news(), REST_THEN_TODAY);
    assert.deepEqual(back.ids, [...said(first.chat).slice(3), ...said(second.chat)]);
  });

  it("resumes behind a stream that goes on beside today's from the store, and turns to today's", async () => {
    const { relay, visit, live, cutOff } = visited();
    const { first, cut } = await cutOff();
    live("live-secon1").chat.say(2);
    await relay.advance(MINUTE);
    const back = visit(cut.lastId);
    await relay.advance(MINUTE);
    assert.deepEqual(back.news(), REST_THEN_TODAY);
    assert.deepEqual(back.ids.slice(0, 4), said(first.chat).slice(3));
  });

  it("waits with the reason if the room fails, and gets what it missed once the room is read again", async () => {
    const { relay, upstream, visit, live } = visited({}, { settings: { RELAY_FAILING_MS: "0" } });
    const { chat } = live("live-first1");
    const viewer = visit();
    chat.say(2);
    await relay.advance(MINUTE);
    viewer.news();
    chat.expireTokens();
    const wall = upstream.fault({ on: ["popout", "watch", "next"], times: 1000, as: "bot" });
    await relay.advance(5 * MINUTE);
    const [waiting = "", ...more] = viewer.news();
    assert.match(waiting, /^channel waiting \S+/);
    assert.ok(
      more.every((word) => /^channel (live live-first1|waiting .+)$/.test(word)),
      more.join(),
    );
    wall.cancel();
    chat.say(3);
    await relay.advance(2 * MINUTE);
    assert.deepEqual(viewer.news().slice(-2), ["init live-first1", "message live-first1"]);
    assert.deepEqual(
      viewer.ids.filter((id) => said(chat).includes(id)),
      said(chat),
    );
    assert.equal(viewer.sink.closedBy, undefined);
  });

  it("that reads slowly is sent the rest of a chat that ended meanwhile", async () => {
    const { relay, slowAndQuick } = visited();
    const { chat, slow, quick } = await slowAndQuick();
    chat.say(300);
    await relay.advance(MINUTE / 4);
    chat.end("reload-only");
    await relay.advance(10_000);
    assert.equal(quick.news().at(-1), "channel waiting");
    slow.sink.readOn();
    await relay.advance(1000);
    assert.equal(slow.news().at(-1), "channel waiting");
    assert.deepEqual(slow.ids, quick.ids);
    assert.ok(slow.ids.length >= 300);
  });

  it("that reads slowly gets the rest of a failed room, and does not disturb viewers of the next one", async () => {
    const { relay, upstream, slowAndQuick } = visited(
      {},
      { settings: { RELAY_FAILING_MS: "0", RELAY_CHANNEL_MS: "5000" } },
    );
    const { chat, slow, quick } = await slowAndQuick();
    chat.say(100);
    await relay.advance(5000);
    quick.news();
    chat.expireTokens();
    const wall = upstream.fault({ on: ["popout", "watch", "next"], times: 1000, as: "bot" });
    await relay.until(() => quick.events.length > 0);
    wall.cancel();
    chat.say(5);
    await relay.advance(8000);
    const [failed = "", ...back] = quick.news();
    assert.match(failed, /^channel waiting \S+/);
    assert.deepEqual(back.slice(-2), ["init live-first1", "message live-first1"]);
    slow.sink.readOn();
    await relay.advance(10_000);
    assert.deepEqual(quick.news(), []);
    slow.news();
    assert.deepEqual([slow.sink.closedBy, slow.ids], [undefined, quick.ids]);
  });

  it("that does not read holds one state of the channel, and gets the last one before what follows", async () => {
    const { relay, channel, visit, in: from } = visited();
    const stream = channel.broadcast("later-strm1", { startsAt: from(60 * MINUTE), chat: CHAT });
    const viewer = visit();
    await relay.advance(1000);
    viewer.news();
    viewer.sink.stall();
    stream.chat.say(20);
    await relay.advance(MINUTE);
    assert.ok(viewer.sink.isBackPressured);
    const { heldBytes } = viewer.sink;
    for (let changes = 0; changes < 20; changes++) {
      stream.reschedule(from((60 + changes) * MINUTE));
      await relay.advance(2 * MINUTE);
    }
    assert.equal(viewer.sink.heldBytes, heldBytes);
    stream.chat.say(1);
    await relay.advance(MINUTE);
    viewer.sink.readOn();
    const states = viewer.events.filter(({ event }) => event === "channel");
    assert.deepEqual(
      states.map(({ data }) => Date.parse(data.startsAt ?? "")),
      [stream.startsAt],
    );
    await relay.advance(1000);
    assert.deepEqual(viewer.news(), [
      "init later-strm1",
      "message later-strm1",
      "channel upcoming later-strm1",
      "message later-strm1",
    ]);
    assert.deepEqual(viewer.ids, said(stream.chat));
  });

  it("gets the id of filtered messages before the stream's end", async () => {
    const { relay, visit, live } = visited();
    const stream = live("live-first1");
    const viewer = visit(undefined, { types: "paid" });
    await relay.advance(1000);
    stream.chat.say(5);
    stream.end();
    await relay.advance(10_000);
    const init = viewer.events.find(({ event }) => event === "init");
    const written = viewer.text;
    assert.ok(written.includes(`id: live-first1.${(init?.data.cursor ?? 0) + 5}\n\n`), written);
    assert.deepEqual(viewer.news(), ["channel live live-first1", "init live-first1", "channel waiting"]);
  });

  it("gets the cursor past filtered messages with its connection's keepalive", async () => {
    const { relay, visit, live } = visited();
    const { chat } = live("live-first1");
    chat.change({ timeoutMs: 1000 });
    visit();
    await relay.advance(5000);
    const viewer = visit(undefined, { types: "paid" });
    await relay.advance(KEEPALIVE_MS + 12_500);
    const start = viewer.events.find(({ event }) => event === "init")?.data.cursor ?? 0;
    for (let said = 1; said < 4; said++) {
      chat.say(1);
      await relay.advance(5000);
      assert.ok(viewer.text.endsWith(`id: live-first1.${start + said}\n\n: keepalive\n\n`), viewer.text);
      await relay.advance(KEEPALIVE_MS - 5000);
    }
  });

  it("of a channel that does not exist is refused, or gets an error frame by a later first look", async () => {
    const { relay, upstream, visit } = visited({ state: "gone" });
    const refused = visit();
    await relay.advance(5000);
    assert.ok(refused.refusal instanceof RelayError && refused.refusal.code === "NO_LIVE_CHAT");
    await relay.advance(2 * MINUTE);
    upstream.fault({ on: "live", times: 1, as: { delayMs: 5000 } });
    const since = relay.clock.monotonic();
    const late = visit();
    await relay.advance(3000);
    assert.equal((late.beganAt ?? 0) - since, 2000);
    assert.deepEqual(late.news(), ["channel waiting the channel's pages have not been read yet"]);
    await relay.advance(7000);
    assert.deepEqual(late.news(), ["error NO_LIVE_CHAT"]);
    assert.equal(late.sink.closedBy, "end");
  });

  it("counts as one viewer, waiting or reading, and a stop ends it without an end frame", async () => {
    const { relay, visit, live } = visited({}, { settings: { RELAY_MAX_VIEWERS: "2" } });
    const [one, two, three] = [visit(), visit(), visit()];
    await relay.advance(1000);
    assert.ok(three.refusal instanceof RelayError && three.refusal.code === "CAPACITY");
    assert.equal(relay.rooms.viewerCount, 2);
    const stream = live("live-first1");
    await relay.advance(MINUTE);
    assert.equal(one.news().at(-1), "init live-first1");
    assert.equal(relay.rooms.viewerCount, 2);
    stream.end();
    await relay.advance(MINUTE);
    assert.equal(one.news().at(-1), "channel waiting");
    assert.equal(relay.rooms.viewerCount, 2);
    one.leave();
    await relay.advance(1000);
    assert.equal(relay.rooms.viewerCount, 1);
    two.news();
    await relay.stop();
    assert.deepEqual([two.news(), two.sink.closedBy, relay.rooms.viewerCount], [[], "end", 0]);
  });

  for (const [where, isOpen] of [
    ["that others watch", true],
    ["not open yet", false],
  ] as const)
    it(`counts as it enters a room ${where}, and a stop ends it even if the store hangs`, async () => {
      const { relay, visit, live } = visited();
      const stream = live("live-first1");
      if (isOpen) await relay.enter({ videoId: "live-first1" });
      const viewers = isOpen ? 2 : 1;
      const silent = () => new Promise<never>(() => {});
      relay.store.getRoom = silent;
      relay.store.ownership.take = silent;
      const viewer = visit();
      await relay.advance(MINUTE);
      assert.deepEqual(viewer.news(), ["channel live live-first1"]);
      assert.equal(relay.rooms.viewerCount, viewers);
      await relay.stop();
      assert.deepEqual([viewer.news(), viewer.sink.closedBy], [[], "end"]);
      stream.end();
    });

  it("waits for its turn if this instance has no room for the stream", async () => {
    const { relay, upstream, visit, live } = visited({}, { settings: { RELAY_MAX_ROOMS: "1" } });
    upstream.chat("other-one-1", CHAT);
    const stranger = await relay.enter({ videoId: "other-one-1" });
    live("live-first1").chat.say(1);
    const viewer = visit();
    await relay.advance(1000);
    assert.deepEqual(viewer.news(), ["channel live live-first1", "channel waiting Too many rooms are open"]);
    stranger.leave();
    await relay.advance(3 * MINUTE + 10_000);
    assert.deepEqual(viewer.news(), ["channel live live-first1", "init live-first1", "message live-first1"]);
  });
});
