/** Which stream of a channel is chosen, and when another. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RelayError } from "../../../src/protocol/errors.ts";
import { streamsInOrder } from "../../../src/rooms/channels/stream-choice.ts";
import { HANDLE, HOUR, MINUTE, watched } from "../../support/watched-channel.ts";

const NO_CHAT = new RelayError("NO_LIVE_CHAT", "No live chat found: the chat is disabled.");

describe("a watched channel", () => {
  it("shows the live stream, with the names of the channel", async () => {
    const { relay, channel, settled } = watched({ title: "Some Body" });
    channel.broadcast("live-first1");
    const seen = await settled();
    const { channelId } = channel;
    const expected = {
      channel: HANDLE,
      channelId,
      title: "Some Body",
      state: "live",
      videoId: "live-first1",
    };
    assert.deepEqual(seen.states, [expected]);
    channel.change({ title: "The same in another language" });
    await relay.advance(2 * MINUTE);
    assert.equal(seen.states.length, 1);
  });

  it("goes from scheduled to live to over to waiting, with one event each", async () => {
    const { relay, channel, settled, in: from } = watched();
    const seen = await settled();
    assert.deepEqual(seen.news(), ["waiting"]);
    const stream = channel.broadcast("the-stream1", { startsAt: from(2 * HOUR) });
    await relay.advance(MINUTE);
    assert.equal(seen.last?.startsAt, new Date(stream.startsAt).toISOString());
    assert.deepEqual(seen.news(), ["upcoming the-stream1"]);
    stream.start();
    await relay.advance(MINUTE);
    assert.equal(seen.last?.startsAt, undefined);
    assert.deepEqual(seen.news(), ["live the-stream1"]);
    stream.end();
    await relay.advance(5 * MINUTE);
    assert.deepEqual(seen.news(), [], "its chat may go on");
    seen.watch.ended("the-stream1");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["waiting"]);
  });

  it("takes the newest of several live streams, and the previous one when that is over", async () => {
    const { relay, channel, settled } = watched();
    channel.broadcast("live-first1");
    const seen = await settled();
    await relay.advance(MINUTE);
    channel.broadcast("live-secon1");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1", "live live-secon1"]);
    seen.watch.ended("live-secon1");
    await relay.advance(5 * MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1"], "the page may list it for a while");
  });

  it("does not switch between streams that are live at once if the page changes their order", async () => {
    const { relay, channel, settled } = watched();
    const streams = ["live-first1", "live-secon1", "live-third1"].map((id) => channel.broadcast(id));
    const seen = await settled();
    await relay.advance(2 * MINUTE);
    const [first] = seen.news();
    for (const stream of streams) {
      stream.startedAt = relay.clock.now();
      await relay.advance(MINUTE);
    }
    assert.deepEqual(seen.news(), []);
    channel.broadcast("live-fourth");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live live-fourth"]);
    seen.watch.ended("live-fourth");
    await relay.advance(1000);
    assert.deepEqual(seen.news(), [first]);
  });

  it("takes the stream that begins next, not a room for free chat, and neither before a live stream", async () => {
    for (const layout of ["videoRenderer", "lockupViewModel"] as const) {
      const { relay, channel, settled, in: from } = watched({ layout, livePage: "scheduled" });
      channel.broadcast("free-chat-1", { startsAt: from(5000 * HOUR) });
      const seen = await settled();
      assert.deepEqual(seen.news(), ["upcoming free-chat-1"]);
      const late = channel.broadcast("scheduled-2", { startsAt: from(47 * HOUR) });
      channel.broadcast("scheduled-1", { startsAt: from(2 * HOUR) });
      await relay.advance(MINUTE);
      assert.deepEqual(seen.news(), ["upcoming scheduled-1"]);
      late.reschedule(from(HOUR));
      await relay.advance(MINUTE);
      assert.deepEqual(seen.news(), ["upcoming scheduled-2"]);
      channel.broadcast("live-first1");
      await relay.advance(MINUTE);
      assert.deepEqual(seen.news(), ["live live-first1"], layout);
    }
  });

  it("shows the new time of the stream that it waits for", async () => {
    const { relay, channel, settled, in: from } = watched();
    const stream = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const seen = await settled();
    stream.reschedule(from(3 * HOUR));
    await relay.advance(MINUTE);
    const iso = new Date(stream.startsAt).toISOString();
    assert.deepEqual([seen.states.length, seen.last?.startsAt, seen.last?.videoId], [2, iso, "scheduled-1"]);
  });

  it("keeps a live stream that the page no longer lists, and a scheduled one that is missing once", async () => {
    const { relay, channel, settled, in: from } = watched();
    const live = channel.broadcast("live-first1");
    const next = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const seen = await settled();
    await relay.advance(MINUTE);
    channel.remove(live); // made unlisted
    await relay.advance(3 * MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1"]);
    seen.watch.ended("live-first1");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["upcoming scheduled-1"]);
    channel.remove(next);
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), []);
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["waiting"]);
  });

  it("keeps a scheduled stream while only /live can be read and shows another", async () => {
    const { relay, upstream, channel, settled, in: from } = watched();
    const next = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    channel.broadcast("scheduled-2", { startsAt: from(2 * HOUR) });
    const seen = await settled();
    channel.remove(next);
    const wall = upstream.fault({ on: "streams", times: 100, as: "consent" });
    await relay.advance(5 * MINUTE);
    assert.deepEqual(seen.news(), ["upcoming scheduled-1"]);
    wall.cancel();
    await relay.advance(2 * MINUTE);
    assert.deepEqual(seen.news(), ["upcoming scheduled-2"]);
  });

  it("lists each stream once, even if the page lists a live one as scheduled again", async () => {
    const { relay, channel, settled, in: from } = watched();
    const live = channel.broadcast("live-first1");
    channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const seen = await settled();
    live.startedAt = undefined;
    live.chat.change({ kind: "upcoming" });
    await relay.advance(MINUTE);
    const { value } = await seen.watch.streams(new AbortController().signal).next();
    assert.deepEqual(
      value?.streams.map(({ videoId, state }) => `${state} ${videoId}`),
      ["live live-first1", "upcoming scheduled-1"],
    );
  });

  it("continues under a new id within an interval, for channels that stream without end", async () => {
    const { relay, channel, settled } = watched();
    const seen = await settled();
    let stream = channel.broadcast("for-ever-01");
    await relay.advance(MINUTE);
    for (let day = 2; day < 5; day++) {
      stream.end();
      seen.watch.ended(stream.videoId);
      await relay.advance(1000);
      stream = channel.broadcast(`for-ever-0${day}`);
      await relay.advance(MINUTE);
    }
    const lives = seen.news().filter((state) => state !== "waiting");
    assert.deepEqual(lives, ["live for-ever-01", "live for-ever-02", "live for-ever-03", "live for-ever-04"]);
  });

  it("remembers a hundred finished streams", async () => {
    const { relay, channel, settled } = watched();
    channel.broadcast("live-first1");
    const seen = await settled();
    for (const videoId of ["live-first1", ...Array.from({ length: 99 }, (_, i) => `over-${i}`)])
      seen.watch.ended(videoId);
    await relay.advance(1000);
    assert.deepEqual(seen.news(), ["live live-first1", "waiting"]);
    seen.watch.ended("over-100");
    await relay.advance(1000);
    assert.deepEqual(seen.news(), ["live live-first1"]);
  });

  it("knows its own videos, finished ones included, and others once a look has not shown them", async () => {
    const { relay, channel, settled, in: from } = watched();
    channel.broadcast("finished-01").end();
    channel.broadcast("members-on1", { isMembersOnly: true });
    channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const seen = await settled();
    const videos = ["finished-01", "members-on1", "scheduled-1", "of-others-1", "just-begun1"];
    const has = (since: number) => videos.map((videoId) => seen.watch.has(videoId, since));
    assert.deepEqual(has(0), [true, true, true, false, false]);
    const now = relay.clock.monotonic();
    channel.broadcast("just-begun1");
    assert.deepEqual(has(now), [true, true, true, undefined, undefined]);
    const { changes } = seen.watch.broadcasts;
    await relay.advance(MINUTE);
    assert.ok(seen.watch.broadcasts.changes > changes);
    assert.deepEqual(has(now), [true, true, true, false, true]);
  });

  it("waits with the reason if the chosen room failed, and tries it again after the next look", async () => {
    const { relay, channel, settled, in: from } = watched();
    channel.broadcast("live-first1");
    channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const seen = await settled();
    seen.watch.failed("live-first1", new RelayError("UPSTREAM_ERROR", "The room failed."));
    await relay.advance(1000);
    assert.deepEqual(seen.news(), ["live live-first1", "waiting The room failed"]);
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1"]);
  });

  it("skips a stream without a chat, and tries it again after ten minutes", async () => {
    const { relay, channel, settled, in: from } = watched();
    const chatless = channel.broadcast("no-chat-yet");
    const seen = await settled();
    seen.watch.failed("no-chat-yet", NO_CHAT);
    await relay.advance(9 * MINUTE);
    const why = "waiting No live chat found: the chat is disabled";
    assert.deepEqual(seen.news(), ["live no-chat-yet", why]);
    await relay.advance(2 * MINUTE);
    assert.deepEqual(seen.news(), ["live no-chat-yet"]);
    seen.watch.failed("no-chat-yet", NO_CHAT);
    channel.broadcast("free-chat-1", { startsAt: from(5000 * HOUR) });
    const next = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    await relay.advance(20 * MINUTE);
    assert.deepEqual(seen.news(), [why, "upcoming scheduled-1"]);
    channel.remove(next);
    await relay.advance(3 * MINUTE);
    assert.deepEqual(seen.news(), ["live no-chat-yet"], "before a room for free chat");
    seen.watch.failed("no-chat-yet", NO_CHAT);
    channel.remove(chatless);
    await relay.advance(MINUTE);
    channel.broadcast("no-chat-yet");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["upcoming free-chat-1", "live no-chat-yet"], "it is a new one");
  });

  it("tries a scheduled stream without a chat again as soon as it is live", async () => {
    const { relay, channel, settled, in: from } = watched();
    const stream = channel.broadcast("the-stream1", { startsAt: from(5 * MINUTE) });
    const seen = await settled();
    seen.watch.failed("the-stream1", NO_CHAT);
    await relay.advance(3 * MINUTE);
    const why = "waiting No live chat found: the chat is disabled";
    assert.deepEqual(seen.news(), ["upcoming the-stream1", why]);
    stream.start();
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live the-stream1"]);
    seen.watch.failed("the-stream1", NO_CHAT);
    await relay.advance(5 * MINUTE);
    assert.deepEqual(seen.news(), [why]);
  });
});

it("live streams come first, then those that begin next, and rooms for free chat last", () => {
  const now = Date.UTC(2026, 0);
  const at = (hours: number, videoId: string) => ({ videoId, startsAt: now + hours * HOUR });
  const upcoming = [
    at(5000, "free-chat"),
    at(49, "in-49-hours"),
    { videoId: "without-time" },
    at(47, "tomorrow"),
    at(-7, "never-began"),
    at(-5, "late"),
    at(1, "next"),
  ];
  assert.deepEqual(
    streamsInOrder({ live: ["newer", "older"], upcoming }, now).map(({ videoId }) => videoId),
    ["newer", "older", "late", "next", "tomorrow", "without-time", "never-began", "in-49-hours", "free-chat"],
  );
});

describe("channels that nobody knows", () => {
  /** Watchers of as many made-up channels. */
  const flood = (
    watcher: ReturnType<typeof watched>["watcher"],
    count: number,
    addressOf: (i: number) => string,
  ) => Array.from({ length: count }, (_, i) => watcher(`@made-up-${i}`, addressOf(i)));

  for (const addresses of [1, 64])
    it(`shut nobody out of another channel, however many ${addresses} addresses ask for`, async () => {
      const { relay, channel, watcher } = watched({}, { settings: { RELAY_MAX_ROOMS: "50" } });
      channel.broadcast("live-first1");
      flood(watcher, 1500, (i) => `flood ${i % addresses}`);
      await relay.advance(3000);
      const newcomer = watcher(HANDLE, "newcomer");
      await relay.advance(10_000);
      assert.deepEqual(newcomer.news(), ["live live-first1"]);
    });

  it("are refused, and not reported as absent, if their address has asked for too many", async () => {
    const { relay, watcher } = watched({}, { settings: { RELAY_MAX_ROOMS: "50" } });
    const watchers = flood(watcher, 2000, () => "flood");
    await relay.advance(1000);
    const refused = watchers.flatMap(({ error }) => (error instanceof RelayError ? [error] : []));
    const displaced = refused.filter(({ full }) => full === "channels");
    assert.ok(displaced.length >= 900, `${displaced.length} of 2,000 were displaced`);
    const [again] = flood(watcher, 1, () => "another");
    await relay.advance(30_000);
    assert.ok(again?.error instanceof RelayError && again.error.code === "NO_LIVE_CHAT");
  });
});
