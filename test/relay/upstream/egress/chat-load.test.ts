/** How many rooms one address reads in time: which are taken in, which wait, which are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Chat } from "../../../../simulator/simulated-chat.ts";
import { RelayError } from "../../../../src/protocol/errors.ts";
import { ChatLoad } from "../../../../src/upstream/egress/chat-load.ts";
import { VirtualRelay } from "../../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../../harness/virtual-viewer.ts";
import { carry } from "../../../simulation/carry.ts";
import { virtualRoom } from "../../../support/virtual-room.ts";

const WINDOW_MS = 10_000;
const REPLAY = Number.POSITIVE_INFINITY;
const SETTINGS = { spacingMs: 250, maxLatenessMs: 5000 };

const isRefusal = (error: unknown) => error instanceof RelayError && error.code === "CAPACITY";
const loadOf = (settings: Partial<typeof SETTINGS> = {}) => new ChatLoad({ ...SETTINGS, ...settings });

/** Opens rooms one after the other, each of which asks for its interval at once, until one is refused. */
function fill(load: ChatLoad, intervalMs: number, windowMs = WINDOW_MS, most = 200): number {
  for (let count = 0; count < most; count++) {
    const room = `${intervalMs} ${count}`;
    try {
      load.carry(room, { intervalMs: undefined, windowMs });
    } catch (error) {
      assert.ok(isRefusal(error));
      return count;
    }
    load.set(room, { intervalMs, windowMs });
  }
  return most;
}

describe("live chats are accepted as long as all can be read in time", () => {
  const rows: [
    name: string,
    settings: Partial<typeof SETTINGS>,
    intervalMs: number,
    windowMs: number,
    rooms: number,
  ][] = [
    ["polled every 2 s: polls may be 5 s late", {}, 2000, WINDOW_MS, 19],
    ["polled every 4.5 s: polls may be 5 s late", {}, 4500, WINDOW_MS, 26],
    ["polled every 9 s: polls may be half a second late", {}, 9000, WINDOW_MS, 26],
    ["half the spacing carries twice as many", { spacingMs: 125 }, 9000, WINDOW_MS, 53],
    ["twice the spacing carries half as many", { spacingMs: 500 }, 9000, WINDOW_MS, 13],
    ["polled earlier at four times the spacing", { spacingMs: 1000 }, 7500, WINDOW_MS, 6],
    ["no spacing, no limit", { spacingMs: 0 }, 9000, WINDOW_MS, 200],
    ["less lateness, fewer rooms", { maxLatenessMs: 1000 }, 2000, WINDOW_MS, 8],
    ["an interval beyond the window is no reason to refuse", {}, 12_000, WINDOW_MS, 47],
    ["replays use the remaining calls, however many they are", {}, 500, REPLAY, 200],
  ];
  for (const [name, settings, intervalMs, windowMs, rooms] of rows) {
    it(name, () => assert.equal(fill(loadOf(settings), intervalMs, windowMs), rooms));
  }

  it("a chat with little time to spare does not increase the calls for others", () => {
    const load = loadOf();
    assert.equal(fill(load, 9000, WINDOW_MS, 13), 13); // half of the 26 that there could be
    assert.equal(fill(load, 2000), 10); // half of the 19 and a half
    assert.equal(load.toleranceMs("9000 1"), 500);
    assert.equal(load.toleranceMs("2000 1"), 5000);
  });

  it("replays neither count nor are refused when live chats use all capacity", () => {
    const load = loadOf();
    assert.equal(fill(load, 500, REPLAY, 20), 20);
    assert.equal(fill(load, 9000), 26);
    load.carry("one more replay", { intervalMs: undefined, windowMs: REPLAY });
    assert.equal(load.roomCount, 47);
    assert.equal(load.roomsCarried, 26);
  });

  it("a room that leaves makes place for another", () => {
    const load = loadOf();
    fill(load, 9000);
    load.leave("9000 7");
    assert.equal(fill(load, 9001), 1);
  });

  it("a room that is already being read is never refused, and counts", () => {
    const load = loadOf();
    for (let i = 0; i < 100; i++) load.set(`resumed ${i}`, { intervalMs: undefined, windowMs: WINDOW_MS });
    assert.equal(load.roomCount, 100);
    assert.equal(load.roomsCarried, 26);
    assert.equal(fill(load, 9000), 0);
  });

  it("the refusal names the number of chats and the time to come again", () => {
    const load = loadOf();
    fill(load, 9000);
    assert.throws(
      () => load.carry("one more", { intervalMs: undefined, windowMs: WINDOW_MS }),
      (error: RelayError) => {
        assert.match(error.message, /with 26 live chats on this address: one more would delay the others/);
        assert.equal(error.retryAfterMs, 30_000);
        return isRefusal(error);
      },
    );
    assert.equal(load.roomCount, 26);
  });
});

it("a viewer of a chat that cannot be read in time is refused, and those of open chats stay", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_GATE_SPACING_MS: "1000" } });
  const viewers: VirtualViewer[] = [];
  for (let i = 0; i < 6; i++) viewers.push(await relay.enter({ videoId: newChat(relay, i).videoId }));
  const { code, message, retryAfterMs } = await relay.refusal({ videoId: newChat(relay, 6).videoId });
  assert.deepEqual([code, retryAfterMs], ["CAPACITY", 30_000]);
  assert.match(message, /^At capacity with 6 live chats on this address: one more would delay/);
  await relay.advance(30_000);
  for (const { ids, sink } of viewers) assert.deepEqual([ids.length, sink.closedBy], [1, undefined]);
});

/** A chat that is to be asked for every 10 s, in which one message was said. */
function newChat({ upstream }: VirtualRelay, number: number): Chat {
  const chat = upstream.chat(`capacity--${number}`, { kinds: ["text"], timeoutMs: 10_000 });
  chat.say(1);
  return chat;
}

it("a room counts while it is read, but not after its end; a video without a chat does not count", async () => {
  const { relay, chat, viewer } = await virtualRoom(1);
  const rooms = () => relay.metric('relay_egress_rooms{egress="direct"}');
  assert.equal(await rooms(), 1);
  assert.equal((await relay.refusal({ videoId: "no-chat-at1" })).code, "NO_LIVE_CHAT");
  assert.equal(await rooms(), 1);
  chat.end("reload-only");
  await viewer.ended();
  assert.equal(await rooms(), 0);
});

it("a live answer with 150 actions or more is counted, and logged once a minute", async () => {
  const { relay, chat, viewer } = await virtualRoom(1);
  for (const [said, full] of [
    [149, 0],
    [150, 1],
    [200, 2],
  ] as const) {
    const before = viewer.ids.length;
    chat.say(said);
    await viewer.untilMessages(before + said);
    assert.equal(await relay.metric("relay_full_answers_total"), full);
  }
  const logged = () => relay.log.filter(({ actions }) => actions !== undefined).map(({ actions }) => actions);
  assert.deepEqual(logged(), [150]);
  chat.speak(1); // one that falls silent is read from a page
  await relay.advance(60_000);
  chat.say(180);
  await relay.advance(5000);
  assert.equal(logged().length, 2);
  chat.speak(1);
  await relay.advance(60_000);
  relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
  await relay.advance(15_000);
  chat.say(190);
  await relay.advance(60_000);
  const [slow, , interrupted] = relay.log.filter(({ actions }) => actions !== undefined);
  assert.match(slow?.msg ?? "", /^full answer: polling too slowly,/);
  assert.equal(slow?.silentMs, undefined);
  assert.match(interrupted?.msg ?? "", /^full answer: polling was interrupted,/);
  assert.ok(Number(interrupted?.silentMs) > 20_000, `${interrupted?.silentMs}`);
});

describe("one address loses nothing that is kept for 10 s, and refuses chats it cannot read in time", () => {
  const MIXED = [2000, 5000, 10_000, 10_000];
  const rows = [
    { rooms: 40, timeoutsMs: [2000], arrivalMs: 40_000, read: 19, replays: 10 },
    { rooms: 40, timeoutsMs: MIXED, arrivalMs: 40_000, read: 24, replays: 10 },
    {
      rooms: 40,
      timeoutsMs: MIXED,
      arrivalMs: 30_000,
      read: 12,
      replays: 2,
      settings: { RELAY_GATE_SPACING_MS: "500" },
    },
    {
      rooms: 20,
      timeoutsMs: MIXED,
      arrivalMs: 30_000,
      read: 6,
      replays: 2,
      settings: { RELAY_GATE_SPACING_MS: "1000" },
    },
  ];
  for (const { read, ...asked } of rows) {
    const { timeoutsMs, replays = 0, settings = { RELAY_GATE_SPACING_MS: "250" } } = asked;
    const spacing = `${settings.RELAY_GATE_SPACING_MS} ms`;
    it(`${asked.rooms} chats, asked every ${timeoutsMs} ms, beside ${replays} replays, at ${spacing}`, async () => {
      const { open, refused, refusal, lost, gaps, lateness, fullAnswers } = await carry({
        ...asked,
        seed: 1,
        forMs: 70_000,
      });
      assert.deepEqual({ lost, gaps }, { lost: 0, gaps: 0 });
      assert.equal(open + refused, asked.rooms);
      assert.equal(open, read);
      assert.match(refusal?.message ?? "", /one more would delay the others too long|Too many videos wait/);
      // Rooms that are asked every 2 s may be this late; the others half a second.
      assert.ok(lateness.largest <= 7000, `${lateness.largest} ms late`);
      assert.equal(fullAnswers, 0);
    });
  }
});
