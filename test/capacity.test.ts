/** How many rooms one address reads in time: which are taken in, which wait, which are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { carry } from "../simulation/carry.ts";
import { RelayError } from "../src/protocol/errors.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { Capacity } from "../src/upstream/egress/capacity.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { metric, startRelay } from "./support/relay.ts";
import { Stream, streamUrl } from "./support/stream.ts";
import { TEXT, watchedRoom } from "./support/watched-room.ts";

const WINDOW_MS = 10_000;
const REPLAY = Number.POSITIVE_INFINITY;
const SETTINGS = { spacingMs: 250, maxLatenessMs: 5000 };
const wish = (windowMs: number) => ({ intervalMs: undefined, windowMs });
const never = new AbortController().signal;

function capacityOf(settings: Partial<typeof SETTINGS> = {}) {
  const clock = new FakeClock();
  const late = { ms: 0 };
  const capacity = new Capacity({ ...SETTINGS, ...settings }, clock, () => late.ms);
  return { clock, late, capacity };
}

/** Opens rooms one after the other, each of which asks for its interval at once, until one is refused. */
async function fill(
  capacity: Capacity,
  intervalMs: number,
  windowMs = WINDOW_MS,
  most = 200,
): Promise<number> {
  for (let count = 0; count < most; count++) {
    const room = `${intervalMs} ${count}`;
    try {
      await capacity.admit(room, wish(windowMs), never);
    } catch (error) {
      assert.ok(error instanceof RelayError && error.code === "CAPACITY");
      return count;
    }
    capacity.ask(room, { intervalMs, windowMs });
  }
  return most;
}

describe("rooms are taken in as long as all can be read in time", () => {
  const rows: [
    name: string,
    settings: Partial<typeof SETTINGS>,
    intervalMs: number,
    windowMs: number,
    rooms: number,
  ][] = [
    ["asked every 2 s: polls may be 5 s late", {}, 2000, WINDOW_MS, 19],
    ["asked every 4.5 s: polls may be 5 s late", {}, 4500, WINDOW_MS, 26],
    ["asked every 9 s: polls may be half a second late", {}, 9000, WINDOW_MS, 26],
    ["a spacing of half the time carries twice as many", { spacingMs: 125 }, 9000, WINDOW_MS, 53],
    ["a spacing of twice the time, half as many", { spacingMs: 500 }, 9000, WINDOW_MS, 12],
    ["no spacing, no limit", { spacingMs: 0 }, 9000, WINDOW_MS, 200],
    ["less lateness, fewer rooms", { maxLatenessMs: 1000 }, 2000, WINDOW_MS, 8],
    ["an interval beyond the window is no reason to refuse", {}, 12_000, WINDOW_MS, 47],
    ["replays have no window", {}, 9000, REPLAY, 39],
  ];
  for (const [name, settings, intervalMs, windowMs, rooms] of rows) {
    it(name, async () => {
      assert.equal(await fill(capacityOf(settings).capacity, intervalMs, windowMs), rooms);
    });
  }

  it("a chat with little time to spare bounds how late the others make it", async () => {
    const { capacity } = capacityOf();
    assert.equal(await fill(capacity, 9000, WINDOW_MS, 10), 10);
    assert.equal(await fill(capacity, 2000), 5); // alone it would be 19
  });

  it("a room that is left makes place for another", async () => {
    const { capacity } = capacityOf();
    await fill(capacity, 9000);
    capacity.leave("9000 7");
    assert.equal(await fill(capacity, 9001), 1);
  });

  it("a room that is read already is never refused, and counts", async () => {
    const { capacity } = capacityOf();
    for (let i = 0; i < 100; i++)
      capacity.ask(`resumed ${i}`, { intervalMs: undefined, windowMs: WINDOW_MS });
    assert.equal(capacity.roomCount, 100);
    assert.equal(capacity.roomsCarried, 26);
    assert.equal(await fill(capacity, 9000), 0);
  });

  it("the refusal says how many are read, names the settings and when to come again", async () => {
    const { capacity } = capacityOf();
    await fill(capacity, 9000);
    await assert.rejects(capacity.admit("one more", wish(WINDOW_MS), never), (error: RelayError) => {
      assert.match(
        error.message,
        /beside 26 others.*250 ms.*RELAY_GATE_SPACING_MS.*5000 ms.*RELAY_MAX_LATENESS_MS/,
      );
      assert.equal(error.retryAfterMs, 30_000);
      return true;
    });
    assert.equal(capacity.roomCount, 26);
  });
});

describe("a room that fits waits while its calls would make polls late", () => {
  it("opens four at a time at 250 ms, the next one when one of them is read or given up", async () => {
    const { capacity, clock } = capacityOf();
    const opened: number[] = [];
    for (let i = 0; i < 7; i++)
      void capacity.admit(`room ${i}`, wish(WINDOW_MS), never).then(() => opened.push(i));
    await clock.advance(1000);
    assert.deepEqual(opened, [0, 1, 2, 3]);
    capacity.ask("room 2", { intervalMs: 9000, windowMs: WINDOW_MS });
    await clock.advance(1000);
    assert.deepEqual(opened, [0, 1, 2, 3, 4]);
    capacity.leave("room 0");
    await clock.advance(1000);
    assert.deepEqual(opened, [0, 1, 2, 3, 4, 5]);
  });

  it("opens a recorded one before all others that wait", async () => {
    const { capacity, clock, late } = capacityOf({ spacingMs: 1000 });
    late.ms = 5001;
    const opened: string[] = [];
    const admit = (room: string, isFirst: boolean) =>
      capacity.admit(room, { ...wish(REPLAY), isFirst }, never).then(() => opened.push(room));
    for (const room of ["one", "two", "three"]) void admit(room, false);
    void admit("recorded", true);
    late.ms = 0;
    for (const room of ["recorded", "one", "two", "three"]) {
      await clock.advance(200);
      assert.equal(opened.at(-1), room);
      capacity.ask(room, { intervalMs: 60_000, windowMs: REPLAY });
    }
    assert.equal(opened.length, 4);
  });

  it("opens none while polls are as late as they may be, and refuses what waits for 30 s", async () => {
    const { capacity, clock, late } = capacityOf();
    late.ms = 5001;
    const outcomes: string[] = [];
    const admit = (room: string) =>
      capacity.admit(room, wish(REPLAY), never).then(
        () => outcomes.push(`${room} opened`),
        (error) => outcomes.push(`${room} ${error.code}`),
      );
    void admit("first");
    await clock.advance(20_000);
    void admit("second");
    assert.deepEqual(outcomes, []);
    await clock.advance(11_000);
    assert.deepEqual(outcomes, ["first CAPACITY"]);
    late.ms = 0;
    await clock.advance(200);
    assert.deepEqual(outcomes, ["first CAPACITY", "second opened"]);
  });

  it("gives up with the signal, and is counted no more", async () => {
    const { capacity, late } = capacityOf();
    late.ms = 5001;
    const stop = new AbortController();
    const waiting = capacity.admit("room", wish(REPLAY), stop.signal);
    stop.abort(new Error("stopped"));
    await assert.rejects(waiting, /stopped/);
    assert.equal(capacity.roomCount, 0);
  });
});

it("a stream of a chat that cannot be read in time is answered 503 with Retry-After, those of read chats are not", async () => {
  // Each room needs a tenth of the calls; none may be late.
  const settings = {
    RELAY_GATE_SPACING_MS: "20",
    RELAY_POLL_MIN_MS: "200",
    RELAY_POLL_MAX_MS: "200",
    RELAY_MAX_LATENESS_MS: "0",
  };
  await using relay = await startRelay({ settings });
  let opened = 0;
  await using streams = new AsyncDisposableStack();
  let refused: Response | undefined;
  for (let i = 0; !refused && i < 10; i++) {
    const videoId = `capacity--${i}`;
    relay.upstream.chat(videoId, TEXT).say(1);
    const response = await fetch(streamUrl(relay.url, { videoId }), { signal: AbortSignal.timeout(10_000) });
    if (response.status === 503) refused = response;
    else streams.defer(async () => response.body?.cancel());
    if (!refused) opened += 1;
  }
  assert.ok(opened >= 3 && opened <= 6, `${opened} streams`);
  assert.equal(refused?.headers.get("retry-after"), "30");
  const body = await refused?.text();
  assert.match(body ?? "", /"CAPACITY".*RELAY_GATE_SPACING_MS.*RELAY_MAX_LATENESS_MS/);
  await using again = await Stream.open(relay.url, { videoId: "capacity--0" });
  await again.untilMessages(1);
});

it("counts a room while it is read, and neither one that has ended nor a video without a chat", async () => {
  await using room = await watchedRoom(1);
  const rooms = () => metric(room.relay, 'relay_gate_rooms{egress="direct"}');
  assert.equal(await rooms(), 1);
  assert.equal((await fetch(streamUrl(room.relay.url, { videoId: "no-chat-at1" }))).status, 404);
  assert.equal(await rooms(), 1);
  room.chat.end("reload-only");
  await room.viewer.ended();
  assert.equal(await rooms(), 0);
});

it("an answer of a live chat with 150 actions or more is counted, and logged once a minute", async () => {
  const logged: boolean[] = [];
  class Listening extends Telemetry {
    override answerFull(videoId: string, actions: number, isNews: boolean): void {
      super.answerFull(videoId, actions, isNews);
      logged.push(isNews);
    }
  }
  await using relay = await startRelay({ telemetry: new Listening(silentLog) });
  const chat = relay.upstream.chat("full-answer", TEXT);
  chat.say(1);
  await using viewer = await Stream.open(relay.url, { videoId: "full-answer" });
  for (const [said, full] of [
    [149, 0],
    [150, 1],
    [200, 2],
  ] as const) {
    const before = viewer.messages.length;
    chat.say(said);
    await viewer.untilMessages(before + said);
    assert.equal(await metric(relay, "relay_full_answers_total"), full);
  }
  assert.deepEqual(logged, [true, false]);
});

describe("of an upstream that holds what was said for 10 s, one address loses nothing: what it cannot carry is refused", () => {
  const rows = [
    { rooms: 60, timeoutsMs: [10_000], arrivalMs: 60_000, read: 26 },
    { rooms: 40, timeoutsMs: [2000], arrivalMs: 1, read: 19 },
  ];
  for (const { read, ...asked } of rows) {
    it(`${asked.rooms} chats, asked for every ${asked.timeoutsMs} ms`, async () => {
      const { open, refused, refusal, lost, lateness, fullAnswers } = await carry({
        ...asked,
        seed: 1,
        forMs: 90_000,
      });
      assert.equal(lost, 0);
      assert.equal(open + refused, asked.rooms);
      assert.ok(open > read / 2 && open <= read, `${open} rooms`);
      assert.match(refusal?.message ?? "", /RELAY_MAX_LATENESS_MS/);
      assert.ok(lateness.largest <= 5500, `${lateness.largest} ms late`);
      assert.equal(fullAnswers, 0);
    });
  }
});
