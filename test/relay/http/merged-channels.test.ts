/** `GET /v1/merged` with `channels` and `cursors`: channels beside videos, and where each chat begins. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mergedAsked } from "../../../src/http/streams/merged.ts";
import { mergedIdOf, parseMergedId } from "../../../src/protocol/merged-id.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { endFalsely, HANDLE, MINUTE, watched } from "../../support/watched-channel.ts";

const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const [ONE, LIVE, NEXT, OTHER] = ["video-one-1", "live-first1", "live-secon1", "@other"] as const;

/** A video, and the channel whose stream it is. */
const BOTH = { videoIds: LIVE, channels: HANDLE };

const asked = (query: object, lastEventId?: string) =>
  mergedAsked({ query, headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId } });

describe("the id of a connection with channels", () => {
  it("is read as it is written: the cursors of the videos, then a place in each channel", () => {
    const places = { cursors: [5, undefined], places: [{ videoId: LIVE, cursor: 41 }, undefined] };
    assert.equal(mergedIdOf(places), `5._.15:${LIVE}._`);
    assert.deepEqual(parseMergedId(mergedIdOf(places), 2, 2), places);
    const channel = { cursors: [], places: [{ videoId: LIVE, cursor: 0 }] };
    assert.deepEqual(parseMergedId(mergedIdOf(channel), 0, 1), channel);
  });

  for (const id of [undefined, "", "5._", `5._.15:${LIVE}`, `5.1:${LIVE}.15:${LIVE}._`, "5._.15:short._"])
    it(`of another form or length is ignored: ${id}`, () => assert.equal(parseMergedId(id, 2, 2), undefined));

  it("of another writing is ignored", () => {
    for (const id of [`01:${LIVE}`, `-1:${LIVE}`, `:${LIVE}`, `A:${LIVE}`, `1:${LIVE}:x`, "5"])
      assert.equal(parseMergedId(id, 0, 1), undefined, id);
  });
});

describe("the query of several chats", () => {
  it("begins each chat at its cursor, in any order, unless the last id has another", () => {
    const query = { videoIds: `${ONE},${LIVE}`, cursors: `${NEXT}:7,${LIVE}:1795163753064` };
    assert.deepEqual(asked(query).cursors, [undefined, 1_795_163_753_064]);
    assert.deepEqual(asked({ ...query, lastEventId: "a._" }).cursors, [10, 1_795_163_753_064]);
    assert.deepEqual(asked(query, "a.b").cursors, [10, 11]);
    assert.deepEqual(asked(query, "a.b.c").cursors, [undefined, 1_795_163_753_064], "of another length");
    assert.deepEqual(asked({ ...query, cursors: " " }).cursors, [undefined, undefined]);
  });

  for (const [name, query, words] of [
    ["no name", {}, /^videoIds or channels: at least one/],
    ["a channel twice", { channels: "@a,https://www.youtube.com/@A/live" }, /^channels: names @a twice/],
    ["no channel", { channels: "@a,example.org/@b" }, /^channel is .*“example.org\/@b”/],
    [
      "too many",
      { videoIds: `${ONE}`, channels: names(20) },
      /^videoIds, channels: .* more than 20 together/,
    ],
    ["an end", { channels: "@a", until: "now" }, /^until: a channel has no end/],
    ["a cursor that is none", { videoIds: ONE, cursors: `${ONE}:x` }, /^cursors: must be pairs .*:x”/],
    ["a cursor without a video", { videoIds: ONE, cursors: "5" }, /^cursors: must be pairs .*“5”/],
    ["a video twice in cursors", { videoIds: ONE, cursors: `${ONE}:5,${ONE}:6` }, /^cursors: names .* twice/],
  ] as const)
    it(`is refused for ${name}`, () => {
      assert.throws(() => asked(query), { code: "INVALID_REQUEST", message: words });
    });
});

/** A connection of a video and its channel, whose chat has said two messages. */
async function sentBoth() {
  const { relay, channel, upstream } = watched();
  const { chat } = channel.broadcast(LIVE, { chat: CHAT });
  const viewer = new ChannelVisitor(relay.service, undefined, BOTH);
  await relay.advance(MINUTE);
  const said = chat.say(2);
  await relay.advance(MINUTE);
  return { relay, channel, upstream, chat, viewer, said };
}

/** The same of a stream that had no chat before its start, and has said three messages since. */
async function startedLater() {
  const { relay, channel, in: inMs } = watched();
  const stream = channel.broadcast(LIVE, { chat: CHAT, startsAt: inMs(3 * MINUTE) });
  stream.chat.change({ kind: "off", stream: "upcoming" });
  const viewer = new ChannelVisitor(relay.service, undefined, BOTH);
  await relay.advance(MINUTE);
  assert.ok(viewer.news().includes(`error ${LIVE} NO_LIVE_CHAT`));
  stream.start();
  await relay.advance(2 * MINUTE);
  const said = stream.chat.say(3);
  await relay.advance(3 * MINUTE);
  return { relay, channel, viewer, said };
}

describe("channels on one connection with videos", () => {
  it("send their streams one after the other beside the videos, and resume exactly by one id", async () => {
    const { relay, channel, upstream } = watched();
    const one = upstream.chat(ONE, CHAT);
    const first = channel.broadcast(LIVE, { chat: CHAT });
    const query = { videoIds: ONE, channels: HANDLE };
    const viewer = new ChannelVisitor(relay.service, undefined, query);
    await relay.advance(MINUTE);
    one.say(2);
    first.chat.say(3);
    await relay.advance(MINUTE);
    const names = viewer.events.filter(({ event }) => event === "init").map(({ data }) => data);
    assert.deepEqual(
      new Map(names.map(({ videoId, channel }) => [videoId, channel])),
      new Map([
        [ONE, undefined],
        [LIVE, HANDLE],
      ]),
    );
    assert.match(viewer.text, /data: \{"videoId":"live-first1","channel":"@somebody",/);
    const news = viewer.news();
    assert.ok(news.includes(`channel live ${LIVE}`) && news.includes(`message ${LIVE}`), news.join());
    assert.match(viewer.lastId ?? "", /^[0-9a-z]+\.[0-9a-z]+:live-first1$/);
    viewer.leave();
    const missed = [...one.say(1), ...first.chat.say(2)];
    await relay.advance(MINUTE);
    const back = new ChannelVisitor(relay.service, viewer.lastId, query);
    await relay.advance(MINUTE);
    back.news();
    assert.deepEqual(back.ids.toSorted(), missed.toSorted());
    first.end();
    const said = channel.broadcast(NEXT, { chat: CHAT }).chat.say(2);
    await relay.advance(3 * MINUTE);
    assert.deepEqual(back.news().slice(-3), [`channel live ${NEXT}`, `init ${NEXT}`, `message ${NEXT}`]);
    assert.deepEqual(back.ids.slice(-2), said);
    one.end("reload-only");
    await relay.advance(3 * MINUTE);
    assert.deepEqual(back.news(), [`end ${ONE} no more continuations`]);
    assert.equal(back.sink.closedBy, undefined, "a channel has no end");
  });

  it("send a video once that both a video and channels name", async () => {
    const { relay, channel } = watched();
    const { chat } = channel.broadcast(LIVE, { chat: CHAT });
    const said = chat.say(3);
    const { channelId } = channel;
    for (const query of [BOTH, { channels: `${HANDLE},${channelId}` }]) {
      const viewer = new ChannelVisitor(relay.service, undefined, query);
      await relay.advance(2 * MINUTE);
      viewer.news();
      assert.deepEqual(viewer.ids, said, JSON.stringify(query));
      viewer.leave();
    }
  });

  it("send a video that the request names as well, once it has a chat", async () => {
    const { viewer, said } = await startedLater();
    assert.deepEqual(viewer.news().slice(-3), [`channel live ${LIVE}`, `init ${LIVE}`, `message ${LIVE}`]);
    assert.deepEqual(viewer.ids, said);
  });

  it("send the rest of a video whose room failed, and resume it, if the request also names it", async () => {
    const { relay, upstream, chat, viewer, said } = await sentBoth();
    const times = Number.POSITIVE_INFINITY;
    const outage = upstream.fault({ on: "get_live_chat", times, as: { status: 503 } });
    await relay.advance(4 * MINUTE);
    assert.ok(viewer.news().includes(`error ${LIVE} UPSTREAM_ERROR`));
    outage.cancel();
    await relay.advance(6 * MINUTE);
    said.push(...chat.say(3));
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news().slice(-3), [`channel live ${LIVE}`, `init ${LIVE}`, `message ${LIVE}`]);
    assert.deepEqual(withoutGaps(viewer.ids), said);
    viewer.leave();
    const missed = chat.say(2);
    const back = new ChannelVisitor(relay.service, viewer.lastId, BOTH);
    await relay.advance(MINUTE);
    back.news();
    assert.deepEqual(back.ids, missed);
  });

  it("send a video that the request names as well, if its chat goes on after its end", async () => {
    const { relay, chat, viewer, said } = await sentBoth();
    await endFalsely(relay, chat);
    await relay.advance(MINUTE);
    const end = [`end ${LIVE} no more continuations`, "channel waiting"];
    assert.deepEqual(viewer.news().slice(-4), [...end, `channel live ${LIVE}`, `init ${LIVE}`]);
    said.push(...chat.say(3));
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), [`message ${LIVE}`]);
    assert.deepEqual(withoutGaps(viewer.ids), said);
  });

  it("go on with a video that the request names, and with the next stream, and resume both exactly", async () => {
    const { relay, channel, viewer, said } = await startedLater();
    const next = channel.broadcast(NEXT, { chat: CHAT });
    await relay.advance(2 * MINUTE);
    said.push(...next.chat.say(2));
    await relay.advance(MINUTE);
    viewer.news();
    assert.deepEqual(viewer.ids, said);
    viewer.leave();
    const missed = next.chat.say(1);
    const back = new ChannelVisitor(relay.service, viewer.lastId, BOTH);
    await relay.advance(MINUTE);
    back.news();
    assert.deepEqual(back.ids, missed);
  });

  it("turn back to a video that went on after its end, and that the request names as well", async () => {
    const { relay, channel, chat, viewer, said } = await sentBoth();
    await endFalsely(relay, chat);
    await relay.advance(MINUTE);
    const newer = channel.broadcast(NEXT, { chat: CHAT });
    await relay.advance(3 * MINUTE);
    newer.end();
    await relay.advance(3 * MINUTE);
    said.push(...chat.say(5));
    await relay.advance(3 * MINUTE);
    viewer.news();
    assert.deepEqual(withoutGaps(viewer.ids), said);
  });

  for (const seed of [1, 2])
    it(`send a video once that ends falsely, at an edge whose lines are of unequal speed (${seed})`, async () => {
      const { relay, channel } = watched({}, { seed });
      const edge = await virtualEdge(relay);
      const { chat } = channel.broadcast(LIVE, { chat: CHAT });
      const viewer = new ChannelVisitor(edge.life, undefined, BOTH);
      await relay.advance(MINUTE);
      const said = chat.say(10);
      await relay.advance(MINUTE);
      edge.line.latency = { leastMs: 1, jitterMs: 200 };
      await endFalsely(relay, chat);
      await relay.advance(MINUTE);
      said.push(...chat.say(3));
      await relay.advance(MINUTE);
      viewer.news();
      assert.deepEqual(viewer.ids, said);
    });

  it("with two names resume from the place of one of them", async () => {
    const { relay, channel } = watched();
    const { chat } = channel.broadcast(LIVE, { chat: CHAT });
    const query = { channels: `${HANDLE},${channel.channelId}` };
    const viewer = new ChannelVisitor(relay.service, undefined, query);
    await relay.advance(MINUTE);
    chat.say(10);
    await relay.advance(MINUTE);
    viewer.news();
    viewer.leave();
    const missed = chat.say(60);
    await relay.advance(1000);
    const back = new ChannelVisitor(relay.service, viewer.lastId, query);
    await relay.advance(MINUTE);
    back.news();
    assert.deepEqual(back.ids, missed);
  });

  it("with two names resume from the later place if both name one video", async () => {
    const { relay, channel } = watched();
    const { chat } = channel.broadcast(LIVE, { chat: CHAT });
    chat.say(10);
    const there = await relay.enter({ videoId: LIVE, backfill: 500 });
    const cursors = (await there.untilMessages(10)).map(({ cursor }) => cursor);
    const [earlier = 0, later = 0] = [cursors[3], cursors[7]];
    // This name is known first.
    new ChannelVisitor(relay.service, undefined, { channels: channel.channelId });
    await relay.advance(MINUTE);
    for (const places of [
      [later, earlier],
      [earlier, later],
    ]) {
      const id = mergedIdOf({ cursors: [], places: places.map((cursor) => ({ videoId: LIVE, cursor })) });
      const viewer = new ChannelVisitor(relay.service, id, { channels: `${HANDLE},${channel.channelId}` });
      await relay.advance(MINUTE);
      viewer.news();
      assert.deepEqual(viewer.ids, there.ids.slice(8));
      viewer.leave();
    }
  });

  it("begin their streams at the cursors of `cursors`", async () => {
    const { relay, channel } = watched();
    const { chat } = channel.broadcast(LIVE, { chat: CHAT });
    const [, , ...rest] = chat.say(5);
    const there = await relay.enter({ videoId: LIVE, backfill: 500 });
    const [, second] = await there.untilMessages(5);
    const cursors = `${LIVE}:${second?.cursor}`;
    const viewer = new ChannelVisitor(relay.service, undefined, { channels: HANDLE, cursors });
    await relay.advance(MINUTE);
    viewer.news();
    assert.deepEqual(viewer.ids, rest);
  });

  it("that do not exist send an error of their own, and leave the others alone", async () => {
    const { relay, channel, upstream } = watched();
    upstream.channel(OTHER, { state: "gone" });
    const { chat } = channel.broadcast(LIVE, { chat: CHAT });
    const viewer = new ChannelVisitor(relay.service, undefined, { channels: `${OTHER},${HANDLE}` });
    await relay.advance(MINUTE);
    chat.say(1);
    await relay.advance(MINUTE);
    const [error] = viewer.events.filter(({ event }) => event === "error");
    assert.deepEqual([error?.data.channel, error?.data.code], [OTHER, "NO_LIVE_CHAT"]);
    assert.ok(viewer.news().includes(`message ${LIVE}`));
    assert.match(viewer.lastId ?? "", /^_\.[0-9a-z]+:live-first1$/);
    assert.equal(viewer.sink.closedBy, undefined);
  });

  it("begin with the first look at each, or after two seconds", async () => {
    const { relay, channel, upstream } = watched();
    channel.broadcast(LIVE, { chat: CHAT });
    const soon = new ChannelVisitor(relay.service, undefined, { channels: HANDLE });
    await relay.advance(MINUTE);
    assert.deepEqual(soon.news().slice(0, 2), [`channel live ${LIVE}`, `init ${LIVE}`]);
    upstream.channel(OTHER);
    upstream.fault({ on: ["live"], times: 1, as: { delayMs: 5000 } });
    const late = new ChannelVisitor(relay.service, undefined, { channels: OTHER });
    await relay.advance(1900);
    assert.deepEqual(late.news(), []);
    await relay.advance(500);
    assert.match(late.news().join(), /^channel waiting .*not been read yet$/);
  });

  it("count as one viewer each, and leave no watch behind", async () => {
    const { relay, upstream } = watched({}, { settings: { RELAY_MAX_VIEWERS: "2" } });
    upstream.channel(OTHER);
    const viewer = new ChannelVisitor(relay.service, undefined, { channels: `${HANDLE},${OTHER}` });
    await relay.advance(1000);
    assert.equal(relay.rooms.viewerCount, 2);
    const refused = new ChannelVisitor(relay.service, undefined, { channels: HANDLE });
    await relay.advance(1000);
    assert.equal((refused.refusal as { code?: string }).code, "CAPACITY");
    viewer.leave();
    await relay.advance(1000);
    assert.deepEqual([relay.rooms.viewerCount, await relay.metric("relay_channels")], [0, 0]);
  });
});

function withoutGaps(ids: readonly string[]): string[] {
  return ids.filter((id) => !id.startsWith("gap:"));
}

function names(count: number): string {
  return Array.from({ length: count }, (_, n) => `@name-${n}`).join();
}
