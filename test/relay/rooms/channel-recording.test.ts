/** Recordings of channels in virtual time: every stream from its first message on, whatever is between. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { realisticHold } from "../../../simulator/index.ts";
import type { Broadcast, ChannelScenario } from "../../../simulator/simulated-channel.ts";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import { recordChat } from "../../../src/rooms/recordings/record-chat.ts";
import { Recordings } from "../../../src/rooms/recordings/recordings.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorderOf, runUntil } from "../../support/recorder-parts.ts";

const HANDLE = "@somebody";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Polls and drops messages as the real upstream does: a late poll loses messages. */
const CHAT = { ...realisticHold, kinds: ["text"], timeoutMs: 10_000 } as const;

function recorded(scenario: Partial<ChannelScenario> = {}, options: VirtualRelayOptions = {}) {
  const settings = { RELAY_RECORD: HANDLE, ...options.settings };
  const relay = new VirtualRelay({ ...options, settings });
  const { clock, upstream } = relay;
  const channel = upstream.channel(HANDLE, scenario);
  const record = () => {
    const { recordings } = relay.config;
    new Recordings(recordings, recorderOf(relay), new AbortController().signal).start({ isListRun: false });
  };
  record();
  const startAgain = () => {
    relay.start();
    record();
  };
  return {
    relay,
    clock,
    upstream,
    channel,
    startAgain,
    /** Kills the service in the middle of whatever it does, and starts it again. */
    killAndStart: () => {
      relay.kill();
      startAgain();
    },
    /** Adds a stream, scheduled if `startsAt` is a time. */
    stream: (videoId: string, startsAt?: number, isMembersOnly = false) =>
      channel.broadcast(videoId, { ...(startsAt !== undefined && { startsAt }), isMembersOnly, chat: CHAT }),
    in: (ms: number) => clock.now() + ms,
    loads: (kind: "live" | "streams" | "popout") =>
      upstream.requests.filter((request) => request.kind === kind),
    /** Whether a room of the video is read. */
    isRead: (videoId: string) => {
      const last = upstream.requests.findLast((request) => request.videoId === videoId);
      return last !== undefined && clock.monotonic() - last.at < MINUTE / 2;
    },
  };
}

/** The stream begins, its chat lasts this long, and it ends. `act` runs in the middle. */
async function goesLive(
  relay: VirtualRelay,
  stream: Broadcast,
  forMs: number,
  act = () => {},
): Promise<void> {
  stream.start();
  const speech = stream.chat.speak(0.5);
  await relay.advance(forMs / 2);
  act();
  await relay.advance(forMs / 2);
  speech.stop();
  stream.end();
  await relay.advance(MINUTE);
}

/** Asserts that the store holds all that the chat said, in order, and no gap. */
async function assertWhole(relay: VirtualRelay, { videoId, chat }: Broadcast): Promise<void> {
  const stored = await relay.stored(videoId);
  const gaps = stored.filter(({ type }) => type === "gap").length;
  const differsAt = chat.ledger.findIndex(({ id }, place) => id !== stored[place]?.id);
  const { length } = chat.ledger;
  assert.ok(length > 100, `${videoId}: ${length} messages`);
  assert.deepEqual(
    { videoId, gaps, differsAt, length: stored.length },
    { videoId, gaps: 0, differsAt: -1, length },
  );
}

/**
 * A recorded stream whose last messages only its replay has, since it ended while the service was down. The
 * next `times` loads of its pages fail.
 */
async function endedUnread(times: number, settings = {}) {
  const { relay, channel, startAgain, upstream } = recorded({}, { hasDisk: true, settings });
  const live = channel.broadcast("live-first1", { chat: { ...CHAT, pageSize: 2, onlyInAll: () => false } });
  const first = new ChannelVisitor(relay.service);
  await relay.advance(MINUTE);
  live.chat.say(3);
  await relay.advance(MINUTE);
  first.news();
  relay.kill();
  live.chat.say(4);
  live.end("reload-only");
  live.chat.change({ kind: "replay" });
  await relay.advance(10 * MINUTE);
  startAgain();
  while (!(await relay.when(relay.store.getRoom(live.videoId)))?.end) await relay.advance(100);
  const pages = upstream.fault({ on: ["popout", "watch", "next"], times, as: { status: 503 } });
  return {
    relay,
    upstream,
    startAgain,
    first,
    pages,
    isReplayWhole: async () => {
      const stored = await relay.stored(chatKey(live.videoId, "replay"));
      return isDeepStrictEqual(
        stored.map(({ id }) => id),
        live.chat.ledger.map(({ id }) => id),
      );
    },
  };
}

/** A service that was stopped while it recorded a stream, and whose channel is not found any more. */
async function stoppedAndGone() {
  const { relay, channel, stream, startAgain, isRead } = recorded({}, { hasDisk: true });
  const live = stream("live-first1");
  live.chat.say(3);
  await relay.advance(2 * MINUTE);
  channel.change({ state: "gone" });
  await relay.stop();
  return { relay, live, startAgain, isRead };
}

describe("a recorded channel", () => {
  it("is recorded through a day of three streams, with hours between, new times, a wall, a kill", async () => {
    const { relay, upstream, stream, killAndStart, in: from } = recorded({}, { hasDisk: true });
    await relay.advance(10 * MINUTE);
    const morning = stream("morning-001", from(10 * MINUTE));
    morning.chat.say(20); // before anybody knows of it
    await relay.advance(5 * MINUTE);
    morning.chat.say(60); // more than a page shows
    await relay.advance(5 * MINUTE);
    await goesLive(relay, morning, 4 * MINUTE);
    await relay.advance(HOUR);

    const noon = stream("noon-is-001", from(10 * MINUTE));
    await relay.advance(5 * MINUTE);
    const wall = upstream.fault({ on: ["live", "streams"], times: Number.POSITIVE_INFINITY, as: "consent" });
    noon.reschedule(from(HOUR));
    noon.chat.say(5);
    await relay.advance(10 * MINUTE);
    wall.cancel();
    noon.reschedule(from(5 * MINUTE));
    await relay.advance(8 * MINUTE); // it begins late
    await goesLive(relay, noon, 4 * MINUTE, killAndStart);

    await relay.advance(HOUR);
    const night = stream("night-is-01"); // not announced
    await goesLive(relay, night, 4 * MINUTE);
    await relay.advance(5 * MINUTE);

    for (const each of [morning, noon, night]) await assertWhole(relay, each);
    const pages = upstream.requests.filter(({ kind }) => kind === "live" || kind === "streams");
    const looks = pages.filter(({ at }, i) => at - (pages[i - 1]?.at ?? Number.NEGATIVE_INFINITY) > 10_000);
    const apart = looks.slice(1).map(({ at }, i) => at - (looks[i]?.at ?? 0));
    assert.ok(Math.min(...apart) >= MINUTE - 1000, `${Math.min(...apart)} ms between looks`);
    assert.ok(pages.length <= 2 * looks.length);
  });

  for (const days of [0, 40, -40])
    it(`records all live streams and one scheduled beside another, with a clock ahead by ${days} days`, async () => {
      const { relay, stream, in: from } = recorded({}, { aheadMs: () => days * 24 * HOUR });
      const [first, second] = [stream("live-first1"), stream("live-secon1")];
      stream("late-one-01", from(2 * MINUTE)); // begins late, so that it is the next one for long
      const next = stream("scheduled-1", from(4 * MINUTE));
      const speeches = [first, second].map(({ chat }) => chat.speak(0.5));
      await relay.advance(3 * MINUTE);
      next.chat.say(60); // more than a page shows
      await relay.advance(3 * MINUTE);
      await goesLive(relay, next, 4 * MINUTE);
      for (const speech of speeches) speech.stop();
      for (const each of [first, second]) each.end();
      await relay.advance(MINUTE);
      for (const each of [first, second, next]) {
        await assertWhole(relay, each);
        // So that a full store knows what it keeps longest.
        assert.deepEqual(await relay.store.getChannels(each.videoId), [HANDLE]);
      }
    });

  it("joins a room for free chat only while there is nothing else, and a far stream when it is near", async () => {
    const { relay, stream, isRead, in: from } = recorded();
    const free = stream("free-chat-1", from(5000 * HOUR));
    await relay.advance(2 * MINUTE);
    assert.ok(isRead(free.videoId));
    const next = stream("scheduled-1", from(10 * HOUR));
    await relay.advance(4 * MINUTE); // and the grace time
    assert.deepEqual([isRead(free.videoId), isRead(next.videoId)], [false, true]);
    const live = stream("live-first1");
    await relay.advance(2 * MINUTE);
    assert.deepEqual([isRead(live.videoId), isRead(next.videoId)], [true, true]);
    next.reschedule(from(100 * HOUR));
    await relay.advance(4 * MINUTE);
    assert.deepEqual([isRead(free.videoId), isRead(next.videoId)], [false, false]);
    next.reschedule(from(47 * HOUR));
    await relay.advance(2 * MINUTE);
    assert.deepEqual([isRead(live.videoId), isRead(next.videoId)], [true, true]);
  });

  it("is tried again at the next look if a room fails, and every 30 s if the chat of a stream is off", async () => {
    const { relay, upstream, stream, loads, isRead } = recorded({}, { settings: { RELAY_FAILING_MS: "0" } });
    const live = stream("live-first1");
    await relay.advance(2 * MINUTE);
    live.chat.expireTokens();
    const wall = upstream.fault({ on: ["popout", "watch", "next"], times: 1000, as: "bot" });
    await relay.advance(5 * MINUTE);
    wall.cancel();
    await relay.advance(2 * MINUTE);
    assert.ok(isRead(live.videoId));
    live.end();
    await relay.advance(2 * MINUTE);
    const locked = stream("no-chat-at1");
    locked.chat.change({ kind: "off" });
    const looks = () => loads("popout").filter(({ videoId }) => videoId === locked.videoId).length;
    await relay.advance(31 * MINUTE);
    assert.ok(looks() >= 60 && looks() <= 62, `${looks()} looks`);
    await relay.advance(8 * HOUR);
    const before = looks();
    await relay.advance(HOUR);
    assert.equal(looks() - before, 6);
    locked.chat.change({ kind: "live" });
    await relay.advance(10 * MINUTE);
    assert.ok(isRead(locked.videoId));
  });

  it("closes the stream that ended while the service was down, with a gap", async () => {
    const { relay, channel, startAgain } = recorded({}, { hasDisk: true });
    const live = channel.broadcast("live-first1", { chat: { kinds: ["text"], timeoutMs: 10_000 } });
    const said = live.chat.say(3);
    await relay.advance(4 * MINUTE);
    relay.kill();
    live.chat.say(4);
    live.end();
    await relay.advance(10 * MINUTE);
    startAgain();
    await relay.advance(2 * MINUTE);
    const stored = await relay.stored(live.videoId);
    assert.deepEqual(
      stored.map(({ type }) => type),
      [...said.map(() => "chat"), "gap"],
    );
    assert.equal((await relay.when(relay.store.getRoom(live.videoId)))?.end?.state, "ended");
  });

  it("records the replay of a stream that ended unread, even if it learns of that replay later", async () => {
    const { relay, first, pages, isReplayWhole } = await endedUnread(3);
    const later = new ChannelVisitor(relay.service, first.lastId);
    await relay.advance(10_000);
    assert.equal(pages.fired, 3);
    assert.equal(later.news().at(-2), "message live-first1"); // the gap, and then nothing follows
    await relay.advance(10 * MINUTE);
    assert.ok(await isReplayWhole());
  });

  it("records the replay of a stream that ended unread, though it restarts before it can be read", async () => {
    const { relay, pages, isReplayWhole, startAgain } = await endedUnread(Number.POSITIVE_INFINITY);
    await relay.advance(10 * MINUTE);
    relay.kill();
    await relay.advance(10 * MINUTE);
    startAgain();
    pages.cancel();
    await relay.advance(10 * MINUTE);
    assert.ok(await isReplayWhole());
  });

  it("records the replay of a stream that ended unread, though the store fails just then", async () => {
    const { relay, pages, isReplayWhole } = await endedUnread(Number.POSITIVE_INFINITY);
    relay.disk.goneUntil = Number.POSITIVE_INFINITY;
    await relay.advance(10 * MINUTE);
    relay.disk.calm();
    pages.cancel();
    await relay.advance(10 * MINUTE);
    assert.ok(await isReplayWhole());
  });

  it("records the replay of a stream that ended unread, if its room fails after RELAY_HIDDEN_MS", async () => {
    const settings = { RELAY_HIDDEN_MS: `${HOUR}` };
    const { relay, pages, isReplayWhole, upstream } = await endedUnread(Number.POSITIVE_INFINITY, settings);
    await relay.advance(55 * MINUTE);
    pages.cancel();
    await relay.requested("get_live_chat_replay", { videoId: "live-first1" });
    const times = Number.POSITIVE_INFINITY;
    const polls = upstream.fault({ on: "get_live_chat_replay", times, as: { status: 503 } });
    await relay.advance(HOUR);
    assert.equal(
      (await relay.when(relay.store.getRoom(chatKey("live-first1", "replay"))))?.end?.state,
      "failed",
    );
    polls.cancel();
    await relay.advance(10 * MINUTE);
    assert.ok(await isReplayWhole());
  });

  it("records the rest of a stream that ended in a downtime, though its page fails at the start", async () => {
    const { relay, channel, upstream, startAgain } = recorded({}, { hasDisk: true });
    const live = channel.broadcast("live-first1", { chat: { ...CHAT, pageSize: 2 } });
    await relay.advance(MINUTE);
    live.chat.say(3);
    await relay.advance(MINUTE);
    relay.kill();
    live.chat.say(4);
    live.end("reload-only");
    live.chat.change({ kind: "replay" });
    await relay.advance(10 * MINUTE);
    const pages = upstream.fault({ on: ["popout", "watch", "next"], times: 3, as: { status: 503 } });
    startAgain();
    await relay.advance(10 * MINUTE);
    assert.equal(pages.fired, 3);
    assert.equal((await relay.stored(live.videoId)).at(-1)?.type, "gap");
    assert.equal((await relay.stored(chatKey(live.videoId, "replay"))).length, 7);
  });

  it("closes a stream that ended in an outage beside another one, and records its replay", async () => {
    const { relay, channel, upstream, stream } = recorded();
    stream("live-secon1");
    const live = channel.broadcast("live-first1", { chat: { ...CHAT, pageSize: 2 } });
    await relay.advance(MINUTE);
    live.chat.say(3);
    await relay.advance(MINUTE);
    const calls = ["get_live_chat", "popout", "watch", "next", "live", "streams"] as const;
    const times = Number.POSITIVE_INFINITY;
    const outage = upstream.fault({ on: [...calls], times, as: { status: 503 } });
    await relay.advance(5 * MINUTE);
    live.end("reload-only");
    live.chat.change({ kind: "replay" });
    await relay.advance(MINUTE);
    outage.cancel();
    await relay.advance(30 * MINUTE);
    assert.equal((await relay.when(relay.store.getRoom(live.videoId)))?.end?.state, "ended");
    assert.equal((await relay.stored(chatKey(live.videoId, "replay"))).length, 3);
  });

  it("is not recorded again if it was read to its end, though the page still lists it", async () => {
    const { relay, stream, loads } = recorded();
    const live = stream("live-first1");
    live.chat.say(3);
    await relay.advance(2 * MINUTE);
    live.chat.end("reload-only"); // and the channel's page goes on to show it live
    await relay.advance(30 * MINUTE);
    assert.equal(loads("popout").length, 2, "one for the chat, and one to know that it is over");
    assert.deepEqual([...relay.recorded.keys()], []);
  });

  it("has a stream that counts as recorded until the last of its recordings ends", async () => {
    const { relay, stream } = recorded();
    const live = stream("live-first1");
    live.chat.say(3);
    await relay.advance(2 * MINUTE);
    const isRecorded = () => relay.recorded.has(live.videoId);
    const recordItself = () => {
      const deleted = new AbortController();
      const { signal } = deleted;
      void recordChat(live.videoId, recorderOf(relay), { ...runUntil(signal), deleted: signal });
      return deleted;
    };
    const first = recordItself();
    await relay.advance(MINUTE);
    first.abort();
    await relay.advance(MINUTE);
    assert.ok(isRecorded(), "the channel's recording reads it");
    const second = recordItself();
    live.end();
    await relay.advance(10 * MINUTE);
    assert.ok(isRecorded(), "it has a recording of its own");
    second.abort();
    assert.ok(!isRecorded());
  });

  it("goes on with its stream after a restart, though it is not found any more", async () => {
    const { relay, live, startAgain, isRead } = await stoppedAndGone();
    startAgain();
    await relay.advance(10 * MINUTE);
    assert.ok(isRead(live.videoId));
  });

  it("goes on with its stream after a restart, though the store fails at first, and it is not found", async () => {
    const { relay, live, startAgain, isRead } = await stoppedAndGone();
    relay.disk.goneUntil = Number.POSITIVE_INFINITY;
    startAgain();
    await relay.advance(MINUTE);
    relay.disk.calm();
    await relay.advance(10 * MINUTE);
    assert.ok(isRead(live.videoId));
  });

  it("that does not exist is looked up again at growing waits, and recorded once it exists", async () => {
    const { relay, channel, stream, loads, isRead } = recorded(
      { state: "gone" },
      { settings: { RELAY_LOG_LEVEL: "warn" } },
    );
    await relay.advance(HOUR - MINUTE);
    const waits = [1, 2, 4, 8, 10, 10, 10, 10, 10].map((minutes) => minutes * MINUTE);
    assert.deepEqual([loads("live").length, loads("streams").length], [waits.length, waits.length]);
    const why = "There is no channel @somebody on YouTube.";
    assert.deepEqual(
      relay.log.map(({ msg, channel: name, why, retryMs }) => ({ msg, name, why, retryMs })),
      waits.map((retryMs) => ({ msg: "chat cannot be recorded yet: retrying", name: HANDLE, why, retryMs })),
    );
    channel.change({ state: "open" });
    const live = stream("live-first1");
    await relay.advance(11 * MINUTE);
    assert.ok(isRead(live.videoId));
    assert.deepEqual([...relay.recorded.keys()], [live.videoId]);
  });
});
