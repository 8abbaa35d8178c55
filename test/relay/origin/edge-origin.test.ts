/** What an edge asks of its origin while that is in trouble, in virtual time. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { pino } from "pino";
import { systemClock } from "../../../src/base/clock.ts";
import { OriginHttpConnections } from "../../../src/origin/http-connections.ts";
import { Origin } from "../../../src/origin/origin.ts";
import { OriginChannelWatch } from "../../../src/origin/origin-channel-watch.ts";
import { OriginRoomLog } from "../../../src/origin/origin-log.ts";
import { Channels } from "../../../src/rooms/channels/channels.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { OriginEvents } from "../../../src/telemetry/origin-events.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import type { EdgeLife } from "../../harness/edge-life.ts";
import { answerPage, requestLog } from "../../harness/origin-api.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ChannelVisitor, KEEPALIVE_MS } from "../../support/channel-visitor.ts";
import { inTime } from "../../support/eventually.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { VIDEO as UNREAD, unreadEnd } from "../../support/virtual-room.ts";
import { endFalsely, MINUTE, watched } from "../../support/watched-channel.ts";

const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const VIDEO = "dQw4w9WgXcQ";
const OTHER = "looked-at-1";
const LOG = `/v1/log/${VIDEO}?offset=-1`;
/** More clients than an edge has connections of its own, and more bytes than the system buffers. */
const SLOW_CLIENTS = 70;
const LARGE = Buffer.alloc(4 * 1024 * 1024);
/** Each silence begins at another moment between two questions, which come every 5 s. */
const SILENCES = 50;
const SILENT_MS = 4900;
const CALM_MS = 10_000;
/** Three keepalive intervals, and the longest wait before a stream is opened again. */
const RESUMED_MS = 3 * KEEPALIVE_MS + 5000;
/** The longest time until an edge knows that its origin is back, and for the opening of a room. */
const HEALTH_MS = 12_000;
const PAGES = ["popout", "watch", "next"] as const;

describe("a page of an origin", () => {
  const MESSAGE = Buffer.from('{"cursor":1,"id":"a","details":{}}\n');
  const MEGABYTE = Buffer.from(`${"x".repeat(1024 * 1024 - 1)}\n`);

  /** An origin whose pages never end, and the number of bytes that it has sent. */
  function endless(chunk: Buffer) {
    const sent = { bytes: 0, isOver: false };
    async function* body() {
      try {
        for (;;) {
          sent.bytes += chunk.length;
          yield chunk;
        }
      } finally {
        sent.isOver = true;
      }
    }
    const ask = async () => ({ statusCode: 200, headers: {}, body: Readable.from(body()) });
    const connections = { stream: ask, page: ask, relay: ask, close: async () => {} };
    const origin = new Origin("", connections, systemClock, 1000);
    return { origin, sent };
  }

  it("that never ends is refused for every question, with or without line ends", async () => {
    const many = endless(MESSAGE);
    await assert.rejects(many.origin.messagesAfter(VIDEO, 0, 100), /more messages than were asked for/);
    const large = endless(MEGABYTE);
    await assert.rejects(large.origin.messagesUpTo(VIDEO, 9, 1000), /page of messages is too long/);
    const account = endless(MEGABYTE);
    await assert.rejects(account.origin.range(VIDEO), /page of messages is too long/);
    for (const { sent } of [many, large, account]) {
      assert.ok(sent.isOver);
      assert.ok(sent.bytes < 100 * MEGABYTE.length, `${sent.bytes} bytes`);
    }
  });
});

it("an edge and its clients reach the origin while other clients do not read their answers", async (t) => {
  const server = createServer(({ url }, response) => {
    if (url === "/healthz") response.end('{"status":"alive"}');
    else response.write(LARGE);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = new Origin(url, new OriginHttpConnections(url), systemClock, 1000);
  t.after(() => origin.close());
  const { signal } = new AbortController();
  const asked = { method: "GET", path: "/v1/rooms", headers: {}, body: null };
  const unread = Array.from({ length: SLOW_CLIENTS }, (_, i) =>
    i % 2 === 0
      ? origin.pass({ path: `/v1/messages?limit=all&after=${i}`, headers: {} }, signal)
      : origin.relay(asked, signal),
  );
  const { length } = await inTime(Promise.all(unread), "answers for all clients");
  assert.equal(length, SLOW_CLIENTS);
  assert.equal(await origin.isRelay(), true);
});

it("the words of an origin's refusal are whole, wherever their bytes are cut", async () => {
  const words = Buffer.from(JSON.stringify({ code: "NO_LIVE_CHAT", message: "Der Chat – er ist aus." }));
  const cut = words.indexOf("–") + 1;
  const body = Readable.from([words.subarray(0, cut), words.subarray(cut)]);
  const page = async () => ({ statusCode: 404, headers: {}, body });
  const origin = new Origin("", { page } as unknown as OriginHttpConnections, systemClock, 1000);
  await assert.rejects(origin.messagesAfter(VIDEO, 0, 100), /Der Chat – er ist aus/);
});

it("an origin whose refusal breaks off is away", async () => {
  const body = Readable.from(
    (async function* () {
      yield Buffer.from('{"code":"STORE');
      throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    })(),
  );
  const stream = async () => ({ statusCode: 503, headers: {}, body });
  const origin = new Origin("", { stream } as unknown as OriginHttpConnections, systemClock, 1000);
  const { signal } = new AbortController();
  const away = { name: "OriginAwayError", message: /read ECONNRESET/ };
  await assert.rejects(origin.channel("@channel", signal), away);
});

it("an edge stays ready while its origin is silent for less than 10 s, whenever that begins", async () => {
  const relay = new VirtualRelay();
  const { life, line } = await virtualEdge(relay);
  const unready: number[] = [];
  for (let silence = 0; silence < SILENCES; silence++) {
    line.silence(SILENT_MS);
    for (let passedMs = 0; passedMs < CALM_MS + 100 * silence; passedMs += 100) {
      if ((await relay.when(life.rooms.unreadiness())).length > 0) unready.push(passedMs);
      await relay.advance(100);
    }
  }
  assert.deepEqual(unready, []);
});

describe("a channel at an edge", () => {
  const CHANNEL = "@channel";
  const LIVE = { state: "live", videoId: VIDEO, title: "a title" };

  /** The first state of a channel whose origin sends these events, and the log. */
  async function shown(...events: object[]) {
    const lines = events.map(
      (event) => `${JSON.stringify({ event: "channel", channel: "@other", ...event })}\n`,
    );
    const body = new Readable({ read() {} });
    body.push(lines.join(""));
    const stream = async (_request: object, signal: AbortSignal) => {
      signal.addEventListener("abort", () => body.destroy());
      return { statusCode: 200, headers: {}, body };
    };
    const notStored = { code: "NOT_STORED", message: "Nothing is stored." };
    const page = async () => {
      return { statusCode: 404, headers: {}, body: Readable.from([JSON.stringify(notStored)]) };
    };
    const connections = { stream, page, relay: page, close: async () => {} };
    const origin = new Origin("", connections, systemClock, 60_000);
    const log: string[] = [];
    const telemetry = new Telemetry(pino({}, { write: (line) => log.push(line) }));
    const channels = new Channels(
      telemetry,
      1,
      (channel, watchers) =>
        new OriginChannelWatch(channel, { origin, clock: systemClock, telemetry }, watchers),
    );
    const watch = channels.watch(CHANNEL, "192.0.2.1");
    const state = await watch.broadcasts.known(new AbortController().signal);
    channels.close();
    return { watch, origin, state, log };
  }

  it("is shown with the fields that a state has, and no others", async () => {
    const { state, log } = await shown({ ...LIVE, key: "a secret", startsAt: undefined });
    assert.deepEqual([state, log], [{ channel: CHANNEL, ...LIVE }, []]);
    const startsAt = "2026-01-01T20:00:00.000Z";
    const upcoming = { state: "upcoming", videoId: VIDEO, channelId: `UC${"x".repeat(22)}`, startsAt };
    assert.deepEqual((await shown(upcoming)).state, { channel: CHANNEL, ...upcoming });
  });

  it("waits if its origin sends an invalid state, and shows nothing of that", async () => {
    const others = [
      { ...LIVE, state: "sleeping" },
      { ...LIVE, videoId: "<script>" },
      { ...LIVE, channelId: "@name" },
      { ...LIVE, startsAt: "soon" },
      { ...LIVE, state: "waiting" },
      { state: 5 },
    ];
    for (const other of others) {
      const reason = "The origin of this edge does not answer; try again shortly";
      assert.deepEqual((await shown(other)).state, { channel: CHANNEL, state: "waiting", reason });
    }
  });
});

it("the log of a room closes its stream when the room is left, even during the first messages", async () => {
  const init = '{"event":"init","cursor":1,"chatType":"liveChatRenderer"}\n';
  const body = new Readable({ read() {} });
  body.push(init);
  const ask = async () => ({ statusCode: 200, headers: {}, body });
  const connections = { stream: ask, page: ask, relay: ask, close: async () => {} };
  const origin = new Origin("", connections, systemClock, 60_000);
  const left = new AbortController();
  const stream = await origin.stream(VIDEO, {}, new AbortController().signal);
  const recent = [{ cursor: 1, id: "a", body: "{}", details: "{}" }];
  const events = new OriginEvents(new Telemetry(silentLog));
  const log = new OriginRoomLog(origin, systemClock, events, { recent, stream });
  const followed = log.follow(VIDEO, 0, left.signal);
  assert.deepEqual((await followed.next()).value, recent);
  left.abort();
  assert.equal(origin.openStreams, 0);
});

/** The status of an edge's answer to a reader of the log from its beginning. */
async function statusOfLog(life: EdgeLife): Promise<number> {
  const { signal } = new AbortController();
  const { statusCode } = await requestLog(life, { path: LOG, headers: {} }, "reader", signal);
  return statusCode;
}

it("an edge of an edge serves the origin's new replay, not the old one of the edge between", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat(VIDEO, { kind: "replay", kinds: ["text"], pageSize: 5 }).say(10);
  const between = await virtualEdge(relay);
  const earlier = await relay.enter({ videoId: VIDEO }, between.life.rooms);
  assert.equal((await earlier.ended())?.event, "end");
  relay.kill(); // with the store, which is in memory
  relay.start();
  const again = await relay.enter({ videoId: VIDEO });
  assert.equal((await again.ended())?.event, "end");
  const last = await virtualEdge(relay, {}, () => between.life);
  const newcomer = await relay.enter({ videoId: VIDEO }, last.life.rooms);
  assert.equal((await newcomer.ended())?.event, "end");
  assert.deepEqual([newcomer.ids, newcomer.init?.cursor], [again.ids, again.init?.cursor]);
});

describe("an edge", () => {
  it("closes a dead stream before it opens the next one, as the origin may have one place only", async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const relay = new VirtualRelay({ seed });
      relay.upstream.chat(VIDEO).say(3);
      const edge = await virtualEdge(relay);
      const viewer = await relay.enter({ videoId: VIDEO }, edge.life.rooms);
      edge.line.silence(60_000);
      await relay.advance(90_000);
      // As the silence ends, the request may be made again while its answer is on the way.
      assert.ok(["1,0,1", "1,0,1,0,1"].includes(edge.streams.join()), edge.streams.join());
      assert.equal(viewer.sink.closedBy, undefined);
    }
  });

  for (const [outageMs, how] of [
    [3000, "open"],
    [3000, "broken"],
    [14_000, "broken"],
    [50_000, "open"],
    [75_000, "open"],
  ] as const) {
    it(`resumes rooms and channels after ${outageMs} ms of silence on ${how} lines, also behind an edge`, async () => {
      for (const isBetweenEdges of [false, true]) {
        const { relay, channel } = watched({}, { settings: { RELAY_CHANNEL_MS: "5000" } });
        const chat = relay.upstream.chat("other-one-1", CHAT);
        const edge = await virtualEdge(relay);
        const second = await virtualEdge(relay, {}, () => edge.life);
        const { line } = isBetweenEdges ? second : edge;
        const lives = [edge.life, second.life];
        const visitors = lives.map((life) => new ChannelVisitor(life));
        const viewers = [];
        for (const { rooms } of lives) viewers.push(await relay.enter({ videoId: "other-one-1" }, rooms));
        await relay.advance(MINUTE);
        if (how === "broken") line.cut(0);
        line.swallow(outageMs);
        await relay.advance(outageMs);
        channel.broadcast(VIDEO, { chat: CHAT });
        const missed = chat.say(4);
        await relay.advance(RESUMED_MS);
        for (const visitor of visitors) assert.ok(visitor.news().includes(`init ${VIDEO}`));
        for (const viewer of viewers) {
          assert.deepEqual(viewer.ids, missed);
          assert.equal(viewer.sink.closedBy, undefined);
        }
      }
    });
  }

  for (const [who, staysOpen] of [
    ["staying viewers", true],
    ["later viewers", false],
  ] as const)
    it(`waits for a channel that it has seen, with ${who}, if a restarted origin lacks it`, async () => {
      const { relay, channel } = watched({}, { settings: { RELAY_CHANNEL_MS: "5000" }, hasDisk: true });
      const edge = await virtualEdge(relay);
      const first = new ChannelVisitor(edge.life);
      await relay.advance(MINUTE);
      assert.deepEqual(first.news(), ["channel waiting"]);
      if (!staysOpen) first.leave();
      await relay.restart();
      channel.change({ state: "gone" });
      edge.line.cut(0);
      const viewer = staysOpen ? first : new ChannelVisitor(edge.life);
      await relay.advance(MINUTE);
      const why = "channel waiting There is no channel @somebody on YouTube";
      assert.deepEqual(viewer.news().slice(0, 1), [why]);
      channel.change({ state: "open" });
      channel.broadcast(VIDEO, { chat: CHAT });
      await relay.advance(MINUTE);
      assert.deepEqual(viewer.news().slice(-2), [`channel live ${VIDEO}`, `init ${VIDEO}`]);
    });

  it("follows a channel through another edge that is replaced between and within streams", async () => {
    const { relay, channel } = watched({}, { settings: { RELAY_CHANNEL_MS: "5000" } });
    let between = await virtualEdge(relay);
    const last = await virtualEdge(relay, {}, () => between.life);
    const viewer = new ChannelVisitor(last.life);
    const said: string[] = [];
    const replace = async () => {
      between.life.kill();
      between = await virtualEdge(relay);
      last.line.cut(0);
    };
    for (const videoId of [VIDEO, "live-secon1", "live-third1"]) {
      const broadcast = channel.broadcast(videoId, { chat: CHAT });
      const { chat } = broadcast;
      await relay.advance(MINUTE);
      said.push(...chat.say(2));
      await relay.advance(5000);
      await replace();
      said.push(...chat.say(3));
      await relay.advance(MINUTE);
      broadcast.end();
      await relay.advance(MINUTE);
      await replace();
      await relay.advance(MINUTE);
      assert.deepEqual(viewer.news().slice(-2), [`message ${videoId}`, "channel waiting"]);
    }
    assert.deepEqual(viewer.ids, said);
    assert.equal(viewer.sink.closedBy, undefined);
  });

  it("answers a viewer that asked for a room in a network outage soon after its end", async () => {
    const relay = new VirtualRelay();
    const edge = await virtualEdge(relay);
    for (let before = 0; before < 20; before++) {
      const videoId = `${before}`.padStart(11, "v");
      relay.upstream.chat(videoId, CHAT);
      const outageMs = 15_000 + 500 * before; // it ends at another moment between two health checks
      edge.line.swallow(outageMs);
      await relay.advance(outageMs - 1000);
      const viewer = relay.visit({ videoId }, edge.life.rooms);
      await relay.advance(1000);
      let answer = "nothing";
      viewer.entered.then(
        () => (answer = "init"),
        ({ code }) => (answer = code),
      );
      await relay.advance(HEALTH_MS);
      assert.ok(answer === "init" || answer === "CAPACITY", `${answer} after ${outageMs} ms`);
      viewer.leave();
    }
  });

  it("is ready within 8 s of the end of a network outage, whenever that comes", async () => {
    const relay = new VirtualRelay();
    const edge = await virtualEdge(relay);
    for (let before = 0; before < 20; before++) {
      const outageMs = 14_000 + 500 * before;
      edge.line.swallow(outageMs);
      await relay.advance(outageMs);
      assert.equal((await edge.life.rooms.unreadiness()).length, 1);
      await relay.advance(8000);
      assert.deepEqual(await edge.life.rooms.unreadiness(), [], `after ${outageMs} ms`);
      await relay.advance(137); // the next one begins at another moment between two questions
    }
  });

  it("answers readers of a log in an outage, and soon after its end, and so does an edge of an edge", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, CHAT).say(3);
    await relay.enter({ videoId: VIDEO });
    const edge = await virtualEdge(relay);
    const second = await virtualEdge(relay, {}, () => edge.life);
    for (const [outageMs, expected] of [
      [9000, 200],
      [60_000, 503],
    ] as const) {
      edge.line.swallow(outageMs);
      await relay.advance(100);
      const answers: number[] = [];
      for (const life of [edge.life, second.life])
        void statusOfLog(life).then((status) => answers.push(status));
      await relay.advance(HEALTH_MS + 5000);
      assert.deepEqual(answers, [expected, expected], `${outageMs} ms`);
      await relay.advance(outageMs);
    }
  });

  it("refuses a reader of a log's page after a minute if only that request was lost", async () => {
    const relay = new VirtualRelay();
    const edge = await virtualEdge(relay);
    await relay.advance(HEALTH_MS / 2);
    edge.line.swallow(100); // between two looks at the origin's health
    const answer = statusOfLog(edge.life);
    let isOver = false;
    void answer.then(() => {
      isOver = true;
    });
    await relay.advance(59_000);
    assert.equal(isOver, false);
    await relay.advance(1000);
    assert.ok(isOver);
    assert.equal(await answer, 503);
  });

  it("waits longer for the channel of a video than for a page: the origin may have to look for it", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GATE_SPACING_MS: "12000" } });
    const channel = relay.upstream.channel("@mine");
    for (const videoId of [OTHER, VIDEO]) channel.broadcast(videoId);
    const edge = await virtualEdge(relay);
    const gone = new AbortController();
    void relay.service.videoChannels.namesOf({ videoId: OTHER }, () => "", gone.signal);
    const path = `/v1/videos/${VIDEO}?channels=@mine`;
    const { statusCode, body } = await relay.when(answerPage(edge.life, { path, headers: {} }, gone.signal));
    assert.deepEqual(
      [statusCode, JSON.parse(await text(body)).channels],
      [200, [channel.channelId, "@mine"]],
    );
  });

  it("continues reading old messages after the origin's store was away for a while", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 400 });
    chat.say(400);
    const edge = await virtualEdge(relay, { RELAY_EDGE_TAIL: "20" });
    await relay.enter({ videoId: VIDEO, backfill: 500 }, edge.life.rooms);
    const viewer = relay.visit({ videoId: VIDEO, lastEventId: 0 }, edge.life.rooms);
    viewer.sink.stall();
    await relay.when(viewer.entered);
    relay.disk.goneUntil = relay.clock.monotonic() + 8000;
    viewer.sink.readOn();
    await relay.advance(5000);
    assert.ok(viewer.ids.length < 400);
    await relay.advance(15_000);
    assert.deepEqual(
      viewer.ids,
      chat.ledger.map(({ id }) => id),
    );
  });

  for (const [types, of] of [
    ["", "all types"],
    ["superchat", "rare types"],
  ] as const)
    it(`lets slow viewers of ${of} come back, without an end, if its origin has lost the chat`, async () => {
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO, { kind: "replay", kinds: ["paid"] }).say(300);
      const edge = await virtualEdge(relay, { RELAY_EDGE_TAIL: "20" });
      const viewer = await relay.enter({ videoId: VIDEO, types }, edge.life.rooms);
      viewer.sink.stall();
      const other = await relay.enter({ videoId: VIDEO }, edge.life.rooms);
      assert.equal((await other.ended())?.event, "end");
      relay.kill(); // with the store, which is in memory
      relay.start();
      const again = await relay.enter({ videoId: VIDEO });
      assert.equal((await again.ended())?.event, "end");
      viewer.sink.readOn();
      assert.equal(await viewer.ended(), undefined);
      assert.ok(viewer.ids.length < 300);
      const back = await relay.enter(
        { videoId: VIDEO, types, lastEventId: viewer.cursors.at(-1) },
        edge.life.rooms,
      );
      assert.equal((await back.ended())?.event, "end");
      assert.deepEqual(back.cursors, again.cursors);
    });

  it("honours a viewer's cursor although the origin's pending answer to another viewer is older", async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 500 });
    chat.say(30);
    const edge = await virtualEdge(relay, { RELAY_EDGE_TAIL: "20" });
    const { rooms, reads } = edge.life;
    const there = await relay.enter({ videoId: VIDEO, backfill: 500 });
    await relay.enter({ videoId: VIDEO }, rooms);
    edge.line.latency = { leastMs: 4000, jitterMs: 0 };
    const first = relay.visit({ videoId: VIDEO, lastEventId: 0 }, rooms);
    await relay.advance(4500); // the origin's answer is on the way
    chat.say(1);
    const newest = (await there.untilMessages(31)).at(-1)?.cursor ?? 0;
    assert.ok((rooms.roomOf(VIDEO)?.tail.head ?? 0) < newest);
    const viewer = relay.visit({ videoId: VIDEO, lastEventId: newest }, rooms);
    const asked = { videoId: VIDEO, position: newest, isGzip: false, address: () => "reader" };
    const poll = reads.poll(asked, new AbortController().signal);
    await relay.when(Promise.all([first.entered, viewer.entered, poll]));
    assert.equal(viewer.init.cursor, newest);
    chat.say(1);
    assert.deepEqual(await viewer.untilMessages(1), (await there.untilMessages(32)).slice(-1));
    assert.equal((await poll).answer?.headers["stream-next-offset"], offsetOf(newest + 1));
  });

  it("asks for a chat behind a wall once for each viewer, however many edges are in a row", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "1000" } });
    relay.upstream.chat(VIDEO).say(3);
    const first = await virtualEdge(relay);
    const second = await virtualEdge(relay, {}, () => first.life);
    const viewer = await relay.enter({ videoId: VIDEO });
    viewer.leave();
    await relay.advance(30_000);
    const wall = relay.upstream.fault({ on: PAGES, videoId: VIDEO, times: 1000, as: "bot" });
    for (const [viewers, rooms] of [relay.rooms, first.life.rooms, second.life.rooms].entries()) {
      assert.equal((await relay.refusal({ videoId: VIDEO }, rooms)).code, "NO_LIVE_CHAT");
      assert.equal(wall.fired, PAGES.length * (viewers + 1));
    }
  });

  it("sends the rest of a chat that is over, even if its origin has forgotten the end", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "1000", RELAY_NO_CHAT_MS: "0" } });
    const chat = relay.upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const first = await virtualEdge(relay, { RELAY_GRACE_MS: "1000" });
    const second = await virtualEdge(relay, { RELAY_GRACE_MS: "1000" }, () => first.life);
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 }, second.life.rooms);
    await viewer.untilMessages(3);
    chat.say(4);
    chat.end("reload-only");
    assert.equal((await viewer.ended())?.event, "end");
    await relay.advance(MINUTE);
    for (const rooms of [relay.rooms, first.life.rooms, second.life.rooms]) {
      const lastEventId = viewer.cursors[1] ?? 0;
      assert.equal((await relay.refusal({ videoId: VIDEO }, rooms)).code, "NO_LIVE_CHAT");
      const back = await relay.enter({ videoId: VIDEO, lastEventId }, rooms);
      assert.equal((await back.ended())?.event, "end");
      assert.deepEqual(back.ids, viewer.ids.slice(2));
      await relay.advance(5000);
    }
  });

  it("sends the last gap of a chat that nobody had read when it ended, and the end", async () => {
    const { relay, viewer } = await unreadEnd();
    const { rooms } = (await virtualEdge(relay)).life;
    for (const lastEventId of [viewer.cursors.at(-1), 0, undefined]) {
      const back = await relay.enter({ videoId: UNREAD, lastEventId }, rooms);
      assert.equal((await back.ended())?.event, "end");
      const ids = lastEventId ? [] : viewer.ids;
      assert.deepEqual(back.ids, [...ids, `gap:${viewer.cursors.at(-1)}`]);
    }
  });

  for (const [next, hasNext] of [
    ["of the end", false],
    ["of the next stream", true],
  ] as const) {
    it(`sends the last messages of a channel's stream, even if it learns ${next} first`, async () => {
      const { relay, channel } = watched({}, { settings: { RELAY_CHANNEL_MS: "5000" } });
      const edges = [];
      for (let left = 6; left > 0; left--) edges.push(await virtualEdge(relay));
      const { chat } = channel.broadcast(VIDEO, { chat: CHAT });
      const viewers = edges.map(({ life }) => new ChannelVisitor(life));
      await relay.advance(MINUTE);
      for (const { line } of edges) line.latency = { leastMs: 1, jitterMs: 60_000 };
      chat.say(5);
      if (hasNext) channel.broadcast("live-secon1", { chat: CHAT });
      else chat.end("reload-only");
      await relay.advance(MINUTE / 2);
      for (const { line } of edges) line.calm();
      await relay.advance(2 * MINUTE);
      for (const viewer of viewers) {
        assert.equal(viewer.news().at(-1), hasNext ? "init live-secon1" : "channel waiting");
        assert.deepEqual(
          viewer.ids,
          chat.ledger.map(({ id }) => id),
        );
      }
    });
  }

  it("enters a channel's chat again that goes on after its end", async () => {
    const { relay, channel } = watched();
    const edge = await virtualEdge(relay);
    const { chat } = channel.broadcast(VIDEO, { chat: CHAT });
    const viewer = new ChannelVisitor(edge.life);
    await relay.advance(MINUTE);
    viewer.news();
    await endFalsely(relay, chat);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), ["channel waiting", `channel live ${VIDEO}`, `init ${VIDEO}`]);
    const said = chat.say(4);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), [`message ${VIDEO}`]);
    assert.deepEqual(viewer.ids.slice(-4), said);
  });

  for (const has of ["the cursor of its end", "a later cursor", "no cursor"])
    it(`opens an ended chat again that its origin reads on, for a viewer with ${has}`, async () => {
      const { relay, channel } = watched();
      const edge = await virtualEdge(relay);
      const { chat } = channel.broadcast(VIDEO, { chat: CHAT });
      const staying = new ChannelVisitor(relay.service);
      const viewer = relay.visit({ videoId: VIDEO }, edge.life.rooms);
      await relay.advance(MINUTE);
      chat.say(3);
      await relay.advance(MINUTE);
      await endFalsely(relay, chat);
      await relay.advance(MINUTE / 2);
      chat.say(4);
      await relay.advance(MINUTE / 3);
      assert.equal((await viewer.ended())?.event, "end");
      const later = Number(staying.lastId?.split(".")[1]);
      const lastEventId = { "the cursor of its end": viewer.cursors.at(-1), "a later cursor": later }[has];
      const asked = { videoId: VIDEO, ...(lastEventId !== undefined && { lastEventId }) };
      const [here, there] = [relay.visit(asked), relay.visit(asked, edge.life.rooms)];
      await relay.when(Promise.all([here.entered, there.entered]));
      const said = chat.say(2);
      await relay.advance(MINUTE / 4);
      assert.deepEqual(here.ids.slice(-2), said);
      assert.deepEqual(there.ids, here.ids);
      assert.equal(there.sink.closedBy, undefined);
    });

  it("sends the last messages of a channel's stream that is over when the origin restarts", async () => {
    const settings = { RELAY_CHANNEL_MS: "5000" };
    const { relay, channel, upstream } = watched({}, { settings, hasDisk: true });
    const edge = await virtualEdge(relay);
    const broadcast = channel.broadcast(VIDEO, { chat: CHAT });
    const { chat } = broadcast;
    const viewer = new ChannelVisitor(edge.life);
    chat.say(3);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news().slice(1), [`init ${VIDEO}`, `message ${VIDEO}`]);
    relay.kill();
    const missed = chat.say(4);
    broadcast.end("continuations-absent");
    upstream.fault({ on: ["get_live_chat"], times: 1, as: { delayMs: 3000 } });
    relay.start();
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), [`message ${VIDEO}`, "channel waiting"]);
    assert.deepEqual(viewer.ids.slice(3), missed);
    channel.broadcast("live-secon1", { chat: CHAT }).chat.say(2);
    await relay.advance(MINUTE);
    assert.deepEqual(viewer.news(), ["channel live live-secon1", "init live-secon1", "message live-secon1"]);
  });
});
