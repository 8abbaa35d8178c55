/** Trouble of the whole address: the rooms wait together, one of them tries, none of them pays for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLog } from "../../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../../src/telemetry/telemetry.ts";
import { Breaker } from "../../../../src/upstream/egress/breaker.ts";
import { UpstreamError } from "../../../../src/upstream/upstream-error.ts";
import { VirtualRelay } from "../../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../../harness/virtual-viewer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { failAlways } from "../../../support/opening.ts";

const FAILED = new UpstreamError("unusable", "HTTP 503");
const THROTTLED = new UpstreamError("throttled", "HTTP 429");
const UNCONNECTED = new UpstreamError("unusable", "refused", { unreachable: "no connection" });

const never = new AbortController().signal;

interface Given {
  roomCount?: number;
  pageCooldownMs?: () => number;
  isCutOff?: boolean;
  /** The failure of its own tries; undefined if they are answered. */
  failure?: UpstreamError | undefined;
}

/** `reached`: what its pool hears. */
function breakerOf({ roomCount = 20, pageCooldownMs = () => 0, ...given }: Given = {}) {
  const { isCutOff = false, failure } = given;
  const clock = new FakeClock();
  clock.chance = 1; // no jitter
  const telemetry = new Telemetry(silentLog);
  const trial = async () => {
    if (failure) throw failure;
  };
  const cooldownLeftMs = (isPage = false) => (isPage ? pageCooldownMs() : 0);
  const egress = { name: "direct", load: { roomCount }, gate: { cooldownLeftMs }, trial };
  const reached: boolean[] = [];
  const pool = {
    ...{ isSingle: true, isCutOff },
    reached: () => void reached.push(true),
    assumeReached: () => void reached.push(false),
  };
  return { clock, reached, breaker: new Breaker(egress, pool, { clock, telemetry }) };
}

/** Rooms behind one breaker, each of whose tries fails with the error; when they tried, in seconds. */
function failingRooms(
  count: number,
  how: UpstreamError | (() => UpstreamError),
  needsPage: (room: string) => boolean = () => false,
  pageCooldownMs = () => 0,
) {
  const failure = () => (how instanceof UpstreamError ? how : how());
  const { clock, breaker } = breakerOf({ pageCooldownMs });
  const tries: number[] = [];
  const tried: string[] = [];
  const stop = new AbortController();
  const rooms = Array.from({ length: count }, (_, i) => `room ${i}`);
  const counted = rooms.filter((room) => !breaker.failed(room, failure()));
  const run = async (room: string) => {
    for (;;) {
      await breaker.mayCall(room, needsPage(room), stop.signal);
      if (breaker.isUp) return;
      tries.push(Math.round(clock.monotonic() / 1000));
      tried.push(room);
      breaker.failed(room, failure());
    }
  };
  const running = Promise.all(rooms.map(run)).catch(() => {});
  return { clock, breaker, tries, tried, counted, stop, running };
}

describe("the breaker of an egress", () => {
  it("opens when a third room fails without an answer in between; earlier failures count", () => {
    assert.equal(failingRooms(2, FAILED).breaker.isUp, true);
    const { breaker, counted } = failingRooms(5, FAILED);
    assert.equal(breaker.isUp, false);
    assert.deepEqual(counted, ["room 0", "room 1"]);
  });

  it("stays closed if one room fails again and again, or another is answered in between", () => {
    const { breaker } = breakerOf();
    for (let i = 0; i < 9; i++) assert.equal(breaker.failed("room", FAILED), false);
    assert.equal(breaker.failed("other", FAILED), false);
    breaker.answered();
    assert.equal(breaker.failed("third", FAILED), false);
    assert.equal(breaker.failed("other", FAILED), false);
    breaker.leave("other");
    assert.equal(breaker.failed("room", FAILED), false);
    assert.equal(breaker.failed("other", FAILED), true);
  });

  it("pauses no room whose last call succeeded", async () => {
    const { breaker, stop, running } = failingRooms(20, FAILED);
    const isPaused = async () => {
      let isWaiting = true;
      void breaker.mayCall("healthy", false, never).then(() => {
        isWaiting = false;
      });
      await new Promise(setImmediate);
      return isWaiting;
    };
    assert.deepEqual([breaker.isUp, await isPaused()], [false, false]);
    assert.equal(breaker.failed("healthy", FAILED), true);
    assert.equal(await isPaused(), true); // as the others
    stop.abort();
    await running;
  });

  it("opens after one failed connection outside of the rooms, unless a room is being answered", () => {
    for (const [roomCount, failing, isUp] of [
      [0, 0, false],
      [2, 0, true],
      [2, 1, true],
      [2, 2, false],
    ] as const) {
      const { breaker } = breakerOf({ roomCount, failure: UNCONNECTED });
      for (let room = 0; room < failing; room++) breaker.failed(`room ${room}`, FAILED);
      breaker.unconnected(UNCONNECTED);
      assert.equal(breaker.isUp, isUp, `${failing} of ${roomCount} rooms fail`);
    }
  });

  for (const [what, error, expected] of [
    ["1, 2, 4, 8, 10 s", FAILED, [1, 3, 7, 15, 25, 35, 45, 55]],
    ["1, 2, 4, 5 s without a connection", UNCONNECTED, [1, 3, 7, 12, 17, 22, 27, 32]],
  ] as const) {
    it(`lets one room try after ${what}`, async () => {
      const { clock, tries, stop, running } = failingRooms(20, error);
      await clock.advance(130_000);
      assert.deepEqual(tries.slice(0, expected.length), expected);
      stop.abort();
      await running;
    });
  }

  it("starts again with 1 s when a try is answered, with an error, after tries without a connection", async () => {
    let error: UpstreamError = UNCONNECTED;
    const { clock, tries, stop, running } = failingRooms(20, () => error);
    await clock.advance(32_500);
    error = FAILED;
    await clock.advance(20_000);
    assert.deepEqual(tries.slice(-6), [32, 37, 38, 40, 44, 52]);
    stop.abort();
    await running;
  });

  for (const [what, failure, pageCooldownMs, heard] of [
    ["is answered", undefined, 0, [true]],
    ["is answered with an error", FAILED, 0, [true]],
    ["would await a page cooldown", THROTTLED, 60_000, [false]],
    ["finds no connection", UNCONNECTED, 0, []],
    ["breaks", new UpstreamError("unusable", "reset", { isBroken: true }), 0, []],
    ["is throttled for seconds", THROTTLED, 5000, []],
  ] as const) {
    it(`with rooms, tries by itself if no egress gets through: it ${what}`, async () => {
      const given = { isCutOff: true, failure, pageCooldownMs: () => pageCooldownMs };
      const { clock, breaker, reached } = breakerOf(given);
      breaker.cutOff();
      await clock.advance(1000);
      assert.deepEqual([reached, breaker.isUp], [heard, heard.length > 0]);
      breaker.close();
    });
  }

  it("lets all rooms continue at the first answer", async () => {
    const { clock, breaker, tries, running } = failingRooms(20, FAILED);
    await clock.advance(5000);
    breaker.answered();
    await running;
    assert.deepEqual(tries, [1, 3]);
    await breaker.mayCall("room 1", false, never);
  });

  it("lets one room try at once when a viewer comes, but at most once a second", async () => {
    const { clock, breaker, tries, stop, running } = failingRooms(20, FAILED);
    await clock.advance(40_000);
    for (let i = 0; i < 40; i++) {
      breaker.hurry();
      await clock.advance(100);
    }
    assert.deepEqual(tries.slice(6), [40, 41, 42, 43, 44]);
    stop.abort();
    await running;
  });

  it("moves the next try to a second after the last one when a viewer comes", async () => {
    const { clock, breaker, tries, stop, running } = failingRooms(20, FAILED);
    await clock.advance(35_500);
    assert.equal(tries.at(-1), 35);
    breaker.hurry();
    await clock.advance(2000);
    assert.deepEqual(tries.slice(-2), [35, 36]);
    stop.abort();
    await running;
  });

  it("gives the try to the room that has waited longest among those that can use it", async () => {
    const { clock, tried, stop, running } = failingRooms(
      3,
      FAILED,
      (room) => room === "room 0",
      () => 60_000,
    );
    await clock.advance(16_000);
    assert.deepEqual(tried, ["room 1", "room 2", "room 1", "room 2"]);
    stop.abort();
    await running;
  });

  it("checks again each second if no room can use the try", async () => {
    let pageCooldownMs = 60_000;
    const { clock, tries, stop, running } = failingRooms(
      3,
      FAILED,
      () => true,
      () => pageCooldownMs,
    );
    await clock.advance(5500);
    assert.deepEqual(tries, []);
    pageCooldownMs = 0;
    await clock.advance(1000);
    assert.deepEqual(tries, [6]);
    stop.abort();
    await running;
  });

  it("passes a try on after ten seconds, or when its room leaves or learns nothing", async () => {
    const scene = breakerOf();
    const rooms = ["one", "two", "three"];
    for (const room of rooms) scene.breaker.failed(room, FAILED);
    const went: string[] = [];
    const wait = (room: string) => scene.breaker.mayCall(room, false, never).then(() => went.push(room));
    for (const room of rooms) void wait(room);
    await scene.clock.advance(1000);
    assert.deepEqual(went, ["one"]);
    await scene.clock.advance(9999);
    assert.deepEqual(went, ["one"]);
    await scene.clock.advance(1); // ten seconds, more than the wait that follows
    assert.deepEqual(went, ["one", "two"]);
    scene.breaker.leave("two");
    await scene.clock.advance(4000);
    assert.deepEqual(went, ["one", "two", "three"]);
    void wait("three"); // it comes again, and has learnt nothing
    await scene.clock.advance(8000);
    assert.deepEqual(went, ["one", "two", "three", "three"]);
  });
});

describe("an upstream that fails every call", () => {
  const videos = ["outage-aaaa", "outage-bbbb", "outage-cccc"];
  const isUp = (relay: VirtualRelay) => relay.metric('relay_egress_up{egress="direct"}');

  async function watched(count: number, settings = {}) {
    const relay = new VirtualRelay({ settings });
    const chats = videos.slice(0, count).map((videoId) => relay.upstream.chat(videoId, { kinds: ["text"] }));
    const viewers: VirtualViewer[] = [];
    for (const chat of chats) {
      chat.say(1);
      viewers.push(await relay.enter({ videoId: chat.videoId }));
    }
    return { relay, chats, viewers };
  }

  it("counts against each room if there are only two", async () => {
    const { relay, viewers } = await watched(2, { RELAY_FAILING_MS: "0" });
    failAlways(relay, "get_live_chat", { status: 503 });
    for (const viewer of viewers) assert.equal((await viewer.ended())?.event, "error");
  });

  it("is also found to be back by a viewer of a new video", async () => {
    const { relay, chats, viewers } = await watched(3);
    const mend = failAlways(relay, "get_live_chat", { status: 503 });
    await relay.advance(60_000);
    assert.equal(await isUp(relay), 0);
    mend();
    for (const chat of chats) chat.say(1);
    relay.upstream.chat("outage-dddd");
    await relay.enter({ videoId: "outage-dddd" });
    await relay.advance(4000);
    for (const viewer of viewers) assert.equal(viewer.ids.length, 2);
  });
});
