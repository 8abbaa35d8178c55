/** One look at a channel: which pages it loads, what it finds, and how it fails. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FaultOrder } from "../../../simulator/faults.ts";
import type { ChannelScenario } from "../../../simulator/simulated-channel.ts";
import { type ChannelLook, ChannelMemory } from "../../../src/upstream/channel-look.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";

const HANDLE = "@somebody";
const HOUR = 3_600_000;

/** A relay, a channel, and looks at it that remember each other. */
function lookingAt(scenario: Partial<ChannelScenario> = {}) {
  const relay = new VirtualRelay();
  const { upstream, clock } = relay;
  const channel = upstream.channel(HANDLE, scenario);
  const memory = new ChannelMemory();
  const { signal } = new AbortController();
  let before = 0;
  /** A page of the channel as it is now, as a fault that answers with it. */
  const load = async (page: "live" | "streams") => {
    const url = `${upstream.urls.main}/${HANDLE}/${page}`;
    const { status, body } = await upstream.exchange({ method: "GET", url, headers: {} }, signal);
    const html = Buffer.concat(await Array.fromAsync(body)).toString();
    return { status, headers: { "content-type": "text/html" }, body: html };
  };
  return {
    load,
    relay,
    upstream,
    clock,
    channel,
    look: (name = HANDLE) => {
      before = upstream.requests.length;
      const use = relay.egresses.call(signal, (egress) => egress.lookAt(name, memory, signal));
      return relay.when(use, `a look at ${name}`);
    },
    /** The pages of the last look: the last segment of each path, or the video. */
    loaded: () =>
      upstream.requests.slice(before).map(({ path, videoId }) => videoId ?? path.replace(/^.*\/|\?.*/g, "")),
    /** In whole seconds, as pages name times. */
    in: (ms: number) => Math.floor((clock.now() + ms) / 1000) * 1000,
  };
}

const upcomingIn = ({ upcoming }: ChannelLook) =>
  upcoming.map(({ videoId, startsAt }) => [videoId, startsAt]).sort();
const forever = (order: Pick<FaultOrder, "on" | "as">) => ({ ...order, times: Number.POSITIVE_INFINITY });

describe("a look at a channel", () => {
  it("loads both pages first, and only the tab while a stream is live", async () => {
    const { channel, look, loaded, clock, in: from } = lookingAt({ title: "Some Body" });
    channel.broadcast("finished-01").end();
    channel.broadcast("live-first1");
    const { channelId, handle } = channel;
    const names = { channelId, handle, title: "Some Body" };
    const others = ["finished-01"];
    assert.deepEqual(await look(), {
      ...names,
      live: ["live-first1"],
      upcoming: [],
      others,
      isComplete: true,
    });
    assert.deepEqual(loaded(), ["live", "streams"]);
    await clock.advance(HOUR);
    channel.broadcast("live-secon1");
    const { videoId, startsAt } = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    const live = ["live-secon1", "live-first1"];
    assert.deepEqual(await look(), {
      ...names,
      live,
      upcoming: [{ videoId, startsAt }],
      others,
      isComplete: true,
    });
    assert.deepEqual(loaded(), ["streams"]);
  });

  it("loads one page if a stream has begun since, and then the tab", async () => {
    const { channel, look, loaded } = lookingAt();
    await look();
    channel.broadcast("live-first1");
    assert.deepEqual((await look()).live, ["live-first1"]);
    assert.deepEqual(loaded(), ["live"]);
    await look();
    assert.deepEqual(loaded(), ["streams"]);
  });

  it("keeps the order of the tab, whatever /live shows", async () => {
    const { channel, look, load, upstream, clock } = lookingAt();
    channel.broadcast("live-first1");
    upstream.fault({ on: "live", times: 1, as: await load("live") });
    await clock.advance(HOUR);
    channel.broadcast("live-secon1");
    assert.deepEqual((await look()).live, ["live-secon1", "live-first1"]);
  });

  it("loads both pages if nothing is live", async () => {
    const { channel, look, loaded } = lookingAt();
    const nothing = { live: [], upcoming: [], others: [], isComplete: true };
    const { channelId, handle, scenario } = channel;
    assert.deepEqual(await look(), { channelId, handle, title: scenario.title, ...nothing });
    assert.deepEqual(loaded(), ["live", "streams"]);
    channel.broadcast("live-first1").end();
    assert.deepEqual((await look()).live, []);
  });

  it("finds the live stream if /live shows a scheduled one, or none because there are several", async () => {
    for (const livePage of ["scheduled", "alone"] as const) {
      const { channel, look, loaded, in: from } = lookingAt({ livePage });
      const free = channel.broadcast("free-chat-1", { startsAt: from(5000 * HOUR) });
      channel.broadcast("live-first1");
      const found = await look();
      assert.deepEqual(found.live, ["live-first1"], livePage);
      assert.deepEqual(upcomingIn(found), [["free-chat-1", free.startsAt]]);
      assert.deepEqual(loaded(), ["live", "streams"]);
    }
  });

  it("returns to /live once the tab shows no live stream any more", async () => {
    const { channel, look, loaded } = lookingAt();
    const live = channel.broadcast("live-first1");
    await look();
    live.end();
    assert.deepEqual((await look()).live, []);
    assert.deepEqual(loaded(), ["streams", "live"]);
    await look();
    assert.deepEqual(loaded(), ["live", "streams"]);
  });

  it("takes times that the tab lacks from two pages per look, and again when they change", async () => {
    const {
      channel,
      upstream,
      look,
      loaded,
      in: from,
    } = lookingAt({
      layout: "lockupViewModel",
      language: "de",
    });
    const hours = [1, 2, 3, 5000];
    const streams = hours.map((hour, i) =>
      channel.broadcast(`scheduled-${i}`, { startsAt: from(hour * HOUR) }),
    );
    const times = streams.map(({ videoId, startsAt }) => [videoId, startsAt]);
    const first = await look();
    assert.deepEqual(loaded(), ["live", "streams", "scheduled-1", "scheduled-2"]);
    assert.deepEqual(upcomingIn(first), [...times.slice(0, 3), ["scheduled-3", undefined]]);
    assert.deepEqual(upcomingIn(await look()), times);
    assert.deepEqual(loaded(), ["live", "streams", "scheduled-3"]);
    upstream.fault({ on: "live", times: 1, as: "consent" }); // whose time it was that of the next one
    assert.deepEqual(upcomingIn(await look()), times);
    assert.deepEqual(loaded(), ["live", "streams"]);
    const [, moved] = streams;
    moved?.reschedule(from(6 * HOUR));
    assert.deepEqual(upcomingIn(await look())[1], ["scheduled-1", moved?.startsAt]);
    assert.deepEqual(loaded(), ["live", "streams", "scheduled-1"]);
  });

  it("counts a stream as live if its own page says so before the tab does", async () => {
    for (const layout of ["videoRenderer", "lockupViewModel"] as const) {
      const { channel, upstream, look, load, in: from } = lookingAt({ layout });
      const stream = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
      const stale = await load("streams");
      stream.start();
      upstream.fault(forever({ on: "streams", as: stale }));
      upstream.fault({ on: "live", times: layout === "lockupViewModel" ? 2 : 0, as: "consent" });
      for (const at of ["first", "second"]) {
        const found = await look();
        assert.deepEqual([found.live, found.upcoming], [["scheduled-1"], []], `${layout}, ${at} look`);
      }
    }
  });

  it("leaves a time unknown if the page belongs to another stream, and asks again", async () => {
    const { channel, upstream, look, loaded, in: from } = lookingAt({ layout: "lockupViewModel" });
    const { startsAt } = channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
    upstream.fault({ on: "watch", times: 1, as: "other-video" });
    upstream.fault({ on: "live", times: 2, as: "consent" });
    assert.deepEqual(upcomingIn(await look()), [["scheduled-1", undefined]]);
    assert.deepEqual(upcomingIn(await look()), [["scheduled-1", startsAt]]);
    assert.deepEqual(loaded(), ["live", "streams", "scheduled-1"]);
  });

  it("requests English pages of the channel under any of its names, percent-encoded", async () => {
    const { upstream, look } = lookingAt();
    upstream.channel("@日本語.·x").broadcast("live-first1");
    await look("@日本語.·x");
    const [asked] = upstream.requests.slice(-2);
    assert.equal(asked?.path, "/@%E6%97%A5%E6%9C%AC%E8%AA%9E.%C2%B7x/live?hl=en&gl=US");
    assert.match(String(asked?.headers["accept-language"]), /^en/);
    const { channelId } = upstream.channel("@other");
    for (const name of [channelId, "c/other"]) assert.deepEqual((await look(name)).live, []);
    assert.deepEqual(
      upstream.requests.slice(-2).map(({ path }) => path),
      ["/c/other/live?hl=en&gl=US", "/c/other/streams?hl=en&gl=US"],
    );
  });

  it("counts its pages in metrics by their kind and lane, not by channel", async () => {
    const { relay, look } = lookingAt();
    await look();
    const count = (endpoint: string) =>
      relay.metric(
        `relay_upstream_calls_total{egress="direct",client="none",endpoint="${endpoint}",outcome="ok"}`,
      );
    assert.deepEqual([await count("/@/live"), await count("/@/streams")], [1, 1]);
    const started = 'relay_gate_lateness_seconds_count{egress="direct",lane="look"}';
    assert.equal(await relay.metric(started), 2);
    assert.ok(!(await relay.telemetry.registry.metrics()).includes("somebody"));
  });
});

describe("a look at a channel that cannot be read", () => {
  it("reports that the channel does not exist once both pages do", async () => {
    const { channel, upstream, look, loaded } = lookingAt({ state: "gone" });
    const absent = { name: "RelayError", code: "NO_LIVE_CHAT", message: /^There is no channel @somebody/ };
    await assert.rejects(look(), absent);
    assert.deepEqual(loaded(), ["live", "streams"]);
    channel.change({ state: "terminated" });
    await assert.rejects(look(), absent);
    channel.change({ state: "open" });
    upstream.fault({ on: "live", times: 1, as: { status: 404 } });
    assert.deepEqual((await look()).live, []);
    upstream.fault({ on: "streams", times: 1, as: { status: 404 } });
    await assert.rejects(look(), { name: "UpstreamError", message: "/@/streams: HTTP 404" });
  });

  it("continues with one page if the other is a wall, and is a wall if both are", async () => {
    for (const as of ["consent", "bot", "no-data", { redirect: "https://accounts.google.com/x" }] as const) {
      const { channel, upstream, look, loaded, in: from } = lookingAt();
      channel.broadcast("scheduled-1", { startsAt: from(HOUR) });
      upstream.fault({ on: "live", times: 2, as });
      const fromTab = await look();
      assert.deepEqual([fromTab.upcoming.length, fromTab.isComplete], [1, true]);
      upstream.fault({ on: "streams", times: 2, as });
      await assert.rejects(look(), { name: "UpstreamError", fault: "unusable", isWall: true });
      assert.deepEqual(loaded(), ["live", "streams"]);
      const fromLive = await look();
      assert.deepEqual([fromLive.upcoming.length, fromLive.isComplete], [1, false]);
    }
  });

  it("stops at the first page that is throttled, and requests none during a cooldown of pages", async () => {
    const { upstream, channel, clock, look, loaded } = lookingAt();
    channel.broadcast("live-first1");
    for (const as of [{ status: 429 }, "captcha"] as const) {
      upstream.fault({ on: "live", times: 1, as });
      await assert.rejects(look(), { fault: "throttled", retryAfterMs: 30_000 });
      assert.deepEqual(loaded(), ["live"]);
      await clock.advance(1000);
      await assert.rejects(look(), { fault: "throttled" });
      assert.deepEqual(loaded(), []);
      await clock.advance(60_000);
    }
    assert.deepEqual((await look()).live, ["live-first1"]);
  });

  it("ends within 20 s if nothing answers, and at once without a connection", async () => {
    const { relay, clock, look, loaded } = lookingAt();
    const timed = async () => {
      const from = clock.monotonic();
      const error: unknown = await look().catch((reason: unknown) => reason);
      assert.ok(error instanceof Error);
      assert.match(error.message, /^main\.simulated cannot be reached/);
      return clock.monotonic() - from;
    };
    relay.network.silentUntil = HOUR;
    assert.ok((await timed()) <= 20_000);
    assert.deepEqual(loaded(), []);
    relay.network.silentUntil = 0;
    relay.network.refusesUntil = clock.monotonic() + HOUR;
    assert.ok((await timed()) < 1000);
  });

  it("does not take another channel's streams for the channel of the id", async () => {
    const { upstream, channel, look, load } = lookingAt();
    const { channelId } = upstream.channel("@other");
    channel.broadcast("live-first1");
    upstream.fault({ on: "live", times: 1, as: await load("live") });
    assert.deepEqual((await look(channelId)).live, []);
  });
});
