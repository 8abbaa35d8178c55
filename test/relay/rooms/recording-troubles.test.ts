/** What keeps a recording from recording, as the list of recordings shows it, in virtual time. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { type ListedRecording, Recordings } from "../../../src/rooms/recordings/recordings.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { countedClock } from "../../support/counted-clock.ts";
import { recorderOf } from "../../support/recorder-parts.ts";

const HANDLE = "@somebody";
const VIDEO = "recorded-01";
const REPORT_MS = 5000;
const MINUTE = 60_000;
const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const CHANNEL_PAGES = ["live", "streams"] as const;
const CHAT_PAGES = ["popout", "watch", "next"] as const;
const ALL = [...CHANNEL_PAGES, ...CHAT_PAGES, "get_live_chat", "sw.js"] as const;
/** An ended recording is in no state of the metrics. */
const NONE = { waiting: 0, recording: 0, failed: 0 };
const ALWAYS = Number.POSITIVE_INFINITY;
const HTTP_503 = /HTTP 503[^.]*\.$/;

function recorded(name: string, options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay(options);
  const start = () => {
    const recordings = new Recordings([name], recorderOf(relay), new AbortController().signal);
    recordings.start({ isListRun: false });
    return recordings;
  };
  let recordings = start();
  const now = async () => {
    const [{ state, error, videoId } = assert.fail()]: ListedRecording[] = await recordings.list();
    return { state, error, videoId };
  };
  /** The number of recordings in each state, as the metrics give it. */
  const counts = async () => {
    const metric = await relay.telemetry.registry.getSingleMetric("relay_recordings")?.get();
    return Object.fromEntries(metric?.values.map(({ labels, value }) => [labels.state, value]) ?? []);
  };
  return {
    relay,
    now,
    counts,
    upstream: relay.upstream,
    /** Asserts the state, and that there is no error. */
    fine: async (state: "waiting" | "recording") => {
      const { videoId, ...facts } = await now();
      assert.deepEqual(facts, { state, error: undefined });
      assert.deepEqual(await counts(), { ...NONE, [state]: 1 });
    },
    /** Asserts in each second of this time that an error is given. */
    troubled: async (forMs: number, state: "waiting" | "failed", error: RegExp) => {
      for (let ms = 0; ms < forMs; ms += 1000) {
        const seen = await now();
        assert.equal(seen.state, state, `after ${ms} ms: ${seen.error}`);
        assert.match(seen.error ?? "", error, `after ${ms} ms`);
        assert.deepEqual(await counts(), { ...NONE, [state]: 1 });
        await relay.advance(1000);
      }
    },
    killAndStart: () => {
      relay.kill();
      relay.start();
      recordings = start();
    },
  };
}

describe("the recording of a channel", () => {
  it("that has no stream waits, and has no error", async () => {
    const { relay, upstream, fine } = recorded(HANDLE);
    upstream.channel(HANDLE);
    for (let look = 0; look < 5; look++) {
      await fine("waiting");
      await relay.advance(MINUTE);
    }
  });

  it("is not refused even if others watch as many channels as they may", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_MAX_ROOMS: "1" } });
    const other = relay.channels.watch("@other", "192.0.2.1");
    const recordings = new Recordings([HANDLE], recorderOf(relay), new AbortController().signal);
    recordings.start({ isListRun: false });
    relay.upstream.channel(HANDLE).broadcast(VIDEO, { chat: CHAT });
    await relay.advance(MINUTE / 2);
    const state = async () => (await recordings.list()).map(({ state, error }) => [state, error]);
    assert.deepEqual(await state(), [["recording", undefined]]);
    other[Symbol.dispose]();
    relay.channels.watch("@other", "192.0.2.1");
    assert.throws(() => relay.channels.watch("@third", "192.0.2.1"), /Too many channels are watched/);
  });

  it("says why the channel's pages cannot be read, also from the start, until they can be", async () => {
    const { relay, upstream, fine, troubled, killAndStart } = recorded(HANDLE);
    const channel = upstream.channel(HANDLE);
    let outage = upstream.fault({ on: CHANNEL_PAGES, times: ALWAYS, as: { status: 503 } });
    await relay.advance(5000);
    await troubled(5 * MINUTE, "failed", HTTP_503);
    outage.cancel();
    await relay.advance(MINUTE);
    await fine("waiting");
    outage = upstream.fault({ on: CHANNEL_PAGES, times: ALWAYS, as: "consent" });
    await relay.advance(MINUTE + 5000);
    await troubled(2 * MINUTE, "failed", /consent/);
    killAndStart();
    await relay.advance(5000);
    await troubled(2 * MINUTE, "failed", /consent/);
    outage.cancel();
    channel.broadcast("live-first1", { chat: CHAT });
    await relay.advance(MINUTE + 5000);
    await fine("recording");
  });

  it("records on while only its pages cannot be read", async () => {
    const { relay, upstream, fine } = recorded(HANDLE);
    upstream.channel(HANDLE).broadcast("live-first1", { chat: CHAT });
    await relay.advance(5000);
    upstream.fault({ on: CHANNEL_PAGES, times: ALWAYS, as: { status: 503 } });
    for (let look = 0; look < 5; look++) {
      await fine("recording");
      await relay.advance(MINUTE);
    }
  });

  it("says why the chat of its stream cannot be read, through all tries and a restart", async () => {
    const { relay, upstream, fine, troubled, killAndStart } = recorded(HANDLE);
    const live = upstream.channel(HANDLE).broadcast("live-first1", { chat: CHAT });
    const outage = upstream.fault({ on: CHAT_PAGES, times: ALWAYS, as: { status: 503 } });
    await relay.advance(30_000);
    await troubled(5 * MINUTE, "failed", HTTP_503);
    killAndStart();
    await relay.advance(30_000);
    await troubled(5 * MINUTE, "failed", HTTP_503);
    outage.cancel();
    await relay.advance(2 * MINUTE);
    await fine("recording");
    live.end();
    await relay.advance(2 * MINUTE);
    await fine("waiting");
  });

  it("says so if the chat of its stream is off, and that nothing failed", async () => {
    const { relay, upstream, fine, troubled } = recorded(HANDLE);
    const live = upstream.channel(HANDLE).broadcast("live-first1", { chat: CHAT });
    live.chat.change({ kind: "off" });
    await relay.advance(5000);
    await troubled(5 * MINUTE, "waiting", /chat/);
    live.chat.change({ kind: "live" });
    await relay.advance(35_000);
    await fine("recording");
  });
});

for (const name of [VIDEO, HANDLE])
  describe(`the recording of ${name}`, () => {
    it("says why its room failed, from then on to the end of the outage", async () => {
      const { relay, upstream, fine, troubled } = recorded(name);
      const { chat } = upstream.channel(HANDLE).broadcast(VIDEO, { chat: CHAT });
      chat.say(3);
      await relay.advance(MINUTE + 10_000);
      await fine("recording");
      const outage = upstream.fault({ on: ALL, times: ALWAYS, as: { status: 503 } });
      await relay.until(() => relay.log.some(({ msg }) => msg === "room failed"));
      await relay.advance(1);
      await troubled(20 * MINUTE, "failed", HTTP_503);
      outage.cancel();
      await relay.advance(2 * MINUTE);
      await fine("recording");
    });

    it("counts as failed while the store fails, and not once its chat is over", async () => {
      const { relay, upstream, counts } = recorded(name, { hasDisk: true });
      const stream = upstream.channel(HANDLE).broadcast(VIDEO, { chat: CHAT });
      stream.chat.say(3);
      relay.disk.goneUntil = ALWAYS;
      await relay.advance(10_000);
      for (let ms = 0; ms < 2 * MINUTE; ms += 1000) {
        assert.deepEqual(await counts(), { ...NONE, failed: 1 }, `after ${ms} ms`);
        await relay.advance(1000);
      }
      relay.disk.calm();
      await relay.advance(10_000);
      assert.deepEqual(await counts(), { ...NONE, recording: 1 });
      stream.end();
      await relay.advance(2 * MINUTE);
      assert.deepEqual(await counts(), name === HANDLE ? { ...NONE, waiting: 1 } : NONE);
    });
  });

test("a recording begins again after a fault of the service", async () => {
  const relay = new VirtualRelay();
  const parts = recorderOf(relay);
  const { listRooms } = parts.store;
  let faults = 2;
  const store: typeof parts.store = {
    ...parts.store,
    listRooms: async (limit) => {
      if (faults-- > 0) throw new TypeError("a fault of the service");
      return listRooms(limit);
    },
  };
  new Recordings([HANDLE], { ...parts, store }, new AbortController().signal).start({ isListRun: false });
  relay.upstream.channel(HANDLE).broadcast(VIDEO, { chat: CHAT });
  await relay.advance(MINUTE);
  assert.equal(relay.rooms.roomOf(VIDEO)?.viewerCount, 1);
});

describe("the list of recordings", () => {
  it("leaves no timer when it changes between two reports", async () => {
    const relay = new VirtualRelay();
    const clock = countedClock(relay.clock);
    const over = new AbortController();
    const recordings = new Recordings([], { ...recorderOf(relay), clock }, over.signal);
    recordings.start({ isListRun: true });
    for (let changes = 0; changes < 5; changes++) {
      await relay.when(recordings.put(VIDEO));
      await relay.advance(10);
      await relay.when(recordings.delete(VIDEO));
      await relay.advance(10);
    }
    assert.equal(clock.pending(REPORT_MS), 1);
    over.abort();
    await relay.advance(10);
    assert.equal(clock.pending(REPORT_MS), 0);
  });
});

it("a recording whose room waits for its chat keeps no second room for it", async () => {
  const { relay, now } = recorded(VIDEO, { settings: { RELAY_MAX_ROOMS: "2" } });
  const chat = relay.upstream.chat(VIDEO, CHAT);
  chat.say(1);
  relay.upstream.chat("stranger-01", CHAT).say(1);
  await relay.advance(MINUTE);
  chat.change({ kind: "off" });
  await relay.advance(MINUTE);
  assert.equal((await now()).state, "waiting");
  const viewer = await relay.enter({ videoId: "stranger-01", address: "192.0.2.1" });
  await viewer.untilMessages(1);
});
