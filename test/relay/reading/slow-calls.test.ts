/**
 * Slow calls: an answer shows the chat at some moment between its call and its arrival, and the upstream
 * keeps ten seconds of it. How soon the next poll starts, and that nothing is missing without a gap.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { realisticHold } from "../../../simulator/index.ts";
import { Random } from "../../../simulator/random.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { gapsIn } from "../../support/gaps-in.ts";
import { intervals, VIDEO } from "../../support/virtual-room.ts";

const POLL = "get_live_chat";
const MINUTES = 10;

/** One call: the time until the upstream looks at the chat, and from then until the answer has arrived. */
interface Call {
  beforeMs: number;
  afterMs: number;
}
const early = (ms: number): Call => ({ beforeMs: 0, afterMs: ms });
const late = (ms: number): Call => ({ beforeMs: ms, afterMs: 0 });
const FAST = late(100);

/** A room of a chat that the upstream keeps for ten seconds, and whose calls take as long as a test says. */
async function slowRoom(opening: Call, scenario: Partial<Scenario> = {}, options: VirtualRelayOptions = {}) {
  // Top chat, which leaves nothing out here: its pages need no call of their own.
  const relay = new VirtualRelay({ ...options, settings: { RELAY_CHAT_VIEW: "top", ...options.settings } });
  const { network, upstream } = relay;
  const whole = { ...realisticHold, onlyInAll: () => false };
  const usual = { ...whole, kinds: ["text" as const], timeoutMs: 10_000, page: 0 };
  const chat = upstream.chat(VIDEO, { ...usual, ...scenario });
  /** How long the next call takes. */
  const take = ({ beforeMs, afterMs }: Call) => {
    network.latency = { leastMs: afterMs, jitterMs: 0 };
    return upstream.fault({ on: POLL, times: 1, as: { delayMs: beforeMs } });
  };
  take(opening);
  await relay.enter({ videoId: VIDEO });
  return {
    relay,
    chat,
    /** Advances virtual time until the upstream has looked at the chat for the next call. */
    async call(next: Call): Promise<void> {
      const order = take(next);
      await relay.requested(POLL, { finished: true });
      order.cancel();
    },
  };
}

describe("the next poll of a live chat starts", () => {
  const rows: [what: string, askedMs: number, calls: number[], intervals: number[], settings?: object][] = [
    ["at the upstream's interval after fast calls", 10_000, [20, 300, 490, 100], [9000, 9000, 9000, 9000]],
    ["earlier after a slow call", 10_000, [2000, 100, 100], [9000, 7500, 9000]],
    [
      "earlier while two of the last ten calls are slow",
      10_000,
      [1500, 100, 2500, ...Array.from({ length: 9 }, () => 100)],
      [9000, 8000, 9000, 7000, ...Array.from({ length: 7 }, () => 8000), 9000],
    ],
    ["no earlier if the interval has room for slow calls", 5000, [3000, 3000, 3000], [4500, 4500, 4500]],
    ["earlier by the time that the interval lacks", 8000, [2000, 4000, 100], [7200, 7200, 5500]],
    [
      "also earlier if the upstream asks for a longer wait",
      15_000,
      [490, 2000, 100],
      [13_500, 13_500, 12_000],
    ],
    ["at the minimum at the earliest", 10_000, [4000, 100], [9000, 8000], { RELAY_POLL_MIN_MS: "8000" }],
  ];
  for (const [what, timeoutMs, calls, expected, settings = {}] of rows) {
    it(what, async () => {
      const { relay, call } = await slowRoom(FAST, { timeoutMs }, { settings });
      for (const ms of calls) await call(late(ms));
      assert.deepEqual(
        intervals(relay, POLL).map((ms) => 10 * Math.round(ms / 10)),
        expected,
      );
    });
  }
});

it("a chat with slow calls tolerates less delay, so an address carries fewer of them", async () => {
  const { relay, call } = await slowRoom(FAST);
  const carried = () => relay.metric('relay_egress_rooms_carried{egress="direct"}');
  await call(FAST);
  assert.equal(await carried(), 26); // one call in 9.5 s each
  for (const ms of [2000, 100]) await call(late(ms));
  assert.equal(await carried(), 22); // in 8 s
});

describe("of a chat that the upstream keeps for ten seconds", () => {
  it("a gap marks the messages between two slow answers, one as of its call and one as of its arrival", async () => {
    const { relay, chat, call } = await slowRoom(FAST);
    chat.speak(1);
    for (const next of [FAST, FAST, early(6000), late(6000), FAST]) await call(next);
    const { told, untold } = await gapsIn(relay, chat);
    assert.deepEqual({ told, untold }, { told: 1, untold: 0 });
  });

  for (const [as, call] of Object.entries({ early, late })) {
    it(`nothing is missing and there is no gap if all calls take two seconds and look at the chat ${as}`, async () => {
      const room = await slowRoom(call(2000));
      const { relay, chat } = room;
      chat.speak(1);
      // All calls are alike, so that a few show what more of them would.
      while (relay.clock.monotonic() < 4 * 60_000) await room.call(call(2000));
      assert.deepEqual(await gapsIn(relay, chat), { untold: 0, told: 0, needless: 0 });
    });
  }

  it("nothing is missing without a gap if calls take 0.2 to 3 s, and few gaps are needless", async () => {
    const { relay, chat, call } = await slowRoom(FAST);
    const random = new Random(1, "calls");
    chat.speak(1);
    while (relay.clock.monotonic() < MINUTES * 60_000) {
      const ms = 200 + random.next() * 2800;
      const beforeMs = random.next() * ms;
      await call({ beforeMs, afterMs: ms - beforeMs });
    }
    const { untold, needless } = await gapsIn(relay, chat);
    assert.equal(untold, 0);
    assert.ok(needless <= 6, `${needless} needless gaps`);
  });

  it("a gap marks the messages after an answer during whose call the computer slept", async () => {
    const { relay, chat, call } = await slowRoom(FAST, { holdsMessages: 4 });
    chat.say(1);
    await call(FAST);
    chat.say(1);
    await call(early(3000));
    relay.computer.sleptMs = 60_000;
    chat.say(30);
    await call(FAST);
    await relay.advance(1000);
    const { told, untold } = await gapsIn(relay, chat);
    assert.deepEqual({ told, untold }, { told: 1, untold: 0 });
  });

  for (const [what, earlier, gaps] of [
    ["the messages that it missed", 5, 0],
    ["the first messages of the chat, behind a gap", 0, 1],
  ] as const)
    it(`a slow answer without messages is completed with ${what}`, async () => {
      const { relay, chat, call } = await slowRoom(FAST, { page: 50 });
      chat.say(earlier);
      await call(FAST);
      await relay.advance(5000);
      chat.say(1);
      await call(late(7500));
      chat.say(1);
      await call(FAST);
      await relay.advance(1000);
      const stored = (await relay.stored(VIDEO)).map(({ id }) => id);
      assert.deepEqual(
        stored.slice(gaps),
        chat.ledger.map(({ id }) => id),
      );
      assert.equal(stored.filter((id) => id.startsWith("gap:")).length, gaps);
    });

  it("a gap marks the missing messages after a restart with a clock that is in the past", async () => {
    const { relay, chat, call } = await slowRoom(FAST, { timeoutMs: 1000 }, { hasDisk: true });
    chat.say(1);
    await call(FAST);
    await call(FAST);
    await relay.stop();
    chat.say(1);
    await relay.advance(30_000);
    relay.start();
    relay.computer.aheadMs = -10 * 365 * 24 * 3_600_000;
    await call(FAST);
    chat.say(1);
    await call(FAST);
    await relay.advance(10_000);
    assert.deepEqual(await gapsIn(relay, chat), { untold: 0, told: 1, needless: 0 });
  });

  it("a gap marks the missing messages after a restart whose store is slow", async () => {
    const { relay, chat, call } = await slowRoom(FAST, { timeoutMs: 1000 }, { hasDisk: true });
    chat.say(1);
    await call(FAST);
    await call(FAST);
    await relay.stop();
    chat.say(1);
    await relay.advance(3000);
    relay.disk.commit = { leastMs: 3000, jitterMs: 0 };
    relay.start();
    await call(FAST);
    chat.say(1);
    await call(FAST);
    await relay.advance(10_000);
    assert.deepEqual(await gapsIn(relay, chat), { untold: 0, told: 1, needless: 0 });
  });
});
