/** Which stream of a channel is chosen, and when another. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CapacityError } from "../../../src/protocol/capacity.ts";
import { ChatAbsent } from "../../../src/protocol/chat-standing.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { broadcastsInOrder } from "../../../src/rooms/channels/broadcast-choice.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { HANDLE, HOUR, MINUTE, watched } from "../../support/watched-channel.ts";

const OFF = new ChatAbsent({ is: "off", why: "the chat is disabled" });
const OVER = new ChatAbsent({ is: "over", why: "the stream has ended" });

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
    const second = channel.broadcast("live-secon1");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1", "live live-secon1"]);
    second.chat.end("reload-only"); // and the page lists it for a while
    seen.watch.ended("live-secon1");
    await relay.advance(5 * MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1"]);
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
    const fourth = channel.broadcast("live-fourth");
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live live-fourth"]);
    fourth.chat.end("reload-only");
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
    live.end();
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
    const { value } = await seen.watch.views(new AbortController().signal).next();
    assert.deepEqual(
      value?.broadcasts.map(({ videoId, state }) => `${state} ${videoId}`),
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
    const { chat } = channel.broadcast("live-first1");
    const seen = await settled();
    chat.end("reload-only");
    seen.watch.ended("live-first1");
    await relay.advance(1000);
    for (let i = 0; i < 99; i++) seen.watch.failed(`over-${i}`, OVER);
    assert.deepEqual(seen.news(), ["live live-first1", "waiting"]);
    seen.watch.failed("over-99", OVER);
    await relay.advance(1000);
    assert.deepEqual(seen.news(), ["live live-first1"]);
  });

  it("goes back to a stream whose room has ended, if its pages show that its chat goes on", async () => {
    const { relay, channel, settled } = watched();
    channel.broadcast("live-first1");
    const seen = await settled();
    const { broadcasts } = seen.watch;
    const { newest } = broadcasts;
    seen.watch.ended("live-first1");
    await relay.advance(5000);
    assert.deepEqual(seen.news(), ["live live-first1", "waiting", "live live-first1"]);
    assert.equal(broadcasts.newest, newest.next, "its viewers leave the room that has ended");
    assert.equal(broadcasts.newest.isReopened, true);
  });

  it("shows the videos that its pages list, finished ones included", async () => {
    const { channel, settled, in: from } = watched();
    channel.broadcast("finished-01").end();
    channel.broadcast("members-on1", { isMembersOnly: true });
    channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const seen = await settled();
    const videos = ["finished-01", "members-on1", "scheduled-1", "of-others-1"];
    const shown = videos.filter((videoId) => seen.watch.shows(videoId));
    assert.deepEqual(shown, ["finished-01", "members-on1", "scheduled-1"]);
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

  for (const kind of ["off", "members-only", "private"] as const) {
    it(`looks every 30 s for a chat that is ${kind}, and reads another stream meanwhile`, async () => {
      const { relay, upstream, channel, settled, in: from } = watched();
      const { chat } = channel.broadcast("no-chat-yet");
      const seen = await settled();
      chat.change({ kind });
      const loads = () => upstream.requests.filter((request) => request.kind === "popout").length;
      const absence = { is: kind === "off" ? "off" : "hidden", why: "it says so" } as const;
      seen.watch.failed("no-chat-yet", new ChatAbsent(absence));
      await relay.advance(10 * MINUTE + 1000);
      const [live, waiting = "", ...more] = seen.news();
      assert.equal(live, "live no-chat-yet");
      assert.match(waiting, /^waiting no-chat-yetNo live chat found: /);
      assert.ok(more.length <= 1, "the reason in the words of the page");
      assert.ok(loads() >= 19 && loads() <= 20, `${loads()} looks`);
      const next = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
      await relay.advance(MINUTE);
      assert.deepEqual(seen.news(), ["upcoming scheduled-1"]);
      channel.remove(next);
      await relay.advance(3 * MINUTE);
      assert.match(seen.news().join(), /^waiting no-chat-yetNo live chat found: /);
      chat.change({ kind: "live" });
      await relay.advance(30_000);
      assert.deepEqual(seen.news(), ["live no-chat-yet"]);
    });
  }

  it("gives a chat up that was hidden for RELAY_HIDDEN_MS", async () => {
    const { relay, channel, settled } = watched({}, { settings: { RELAY_HIDDEN_MS: `${HOUR}` } });
    const { chat } = channel.broadcast("hidden-live");
    const seen = await settled();
    chat.change({ kind: "private" });
    seen.watch.failed("hidden-live", new ChatAbsent({ is: "hidden", why: "the video is private" }));
    await relay.advance(59 * MINUTE);
    assert.match(seen.last?.reason ?? "", /private/);
    await relay.advance(2 * MINUTE);
    assert.equal(seen.last?.reason, undefined);
    chat.change({ kind: "live" });
    await relay.advance(5 * MINUTE);
    assert.equal(seen.last?.state, "waiting");
  });

  it("gives a chat up when its room would, RELAY_HIDDEN_MS after it was last shown, through a restart", async () => {
    const settings = { RELAY_HIDDEN_MS: `${20 * MINUTE}`, RELAY_GRACE_MS: "1000" };
    const { relay, channel } = watched({}, { hasDisk: true, settings });
    const { chat } = channel.broadcast("hidden-live", { chat: { kinds: ["text"], timeoutMs: 5000 } });
    chat.say(1);
    const stateOf = ({ events }: ChannelVisitor) => {
      const { state, videoId } = events.at(-1)?.data ?? assert.fail();
      return { state, videoId };
    };
    const viewer = new ChannelVisitor(relay.service);
    await relay.advance(MINUTE);
    assert.equal(viewer.events.at(-1)?.event, "message");
    chat.change({ kind: "private" });
    await relay.advance(5 * MINUTE);
    await relay.restart(5 * MINUTE);
    const back = new ChannelVisitor(relay.service);
    await relay.advance(9 * MINUTE);
    assert.deepEqual(stateOf(back), { state: "waiting", videoId: "hidden-live" });
    await relay.advance(2 * MINUTE);
    assert.deepEqual(stateOf(back), { state: "waiting", videoId: undefined });
  });

  it("tries a scheduled stream without a chat again as soon as it is live", async () => {
    const { relay, channel, settled, in: from } = watched();
    const stream = channel.broadcast("the-stream1", { startsAt: from(5 * MINUTE) });
    const seen = await settled();
    stream.chat.change({ kind: "off" });
    seen.watch.failed("the-stream1", OFF);
    await relay.advance(3 * MINUTE);
    const why =
      "waiting the-stream1No live chat found: the chat is disabled or not open (YouTube says: This live event will begin soon.)";
    assert.equal(seen.news().at(-1), why);
    stream.start();
    await relay.advance(MINUTE);
    assert.equal(seen.news().at(-1), "live the-stream1");
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
    broadcastsInOrder({ live: ["newer", "older"], upcoming }, now).map(({ videoId }) => videoId),
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
    const refused = watchers.flatMap(({ error }) => (error instanceof CapacityError ? [error] : []));
    const displaced = refused.filter(({ capacityCause }) => capacityCause === "channels");
    assert.ok(displaced.length >= 900, `${displaced.length} of 2,000 were displaced`);
    const [again] = flood(watcher, 1, () => "another");
    await relay.advance(30_000);
    assert.ok(again?.error instanceof RelayError && again.error.code === "NO_LIVE_CHAT");
  });

  it("are remembered as absent for a minute, but only the newest twenty", async () => {
    const { relay, watcher, looks } = watched();
    flood(watcher, 25, () => "flood");
    await relay.advance(30_000);
    const { length } = looks();
    for (const number of [24, 5]) watcher(`@made-up-${number}`);
    await relay.advance(1000);
    assert.equal(looks().length, length);
    watcher("@made-up-0");
    await relay.advance(1000);
    assert.ok(looks().length > length);
  });
});
