/**
 * Whatever happens between upstream and viewers, every viewer is sent exactly the room's sequence, and the upstream
 * notices nothing of how many they are. Random scripts on real sockets; a failing one is shrunk.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Failure } from "../src/simulator/faults.ts";
import { startRelay } from "./support/relay.ts";
import { ScriptRunner, type Step } from "./support/script-runner.ts";
import { temporaryFolder } from "./support/store-subject.ts";

/** A reset before and after the answer was made, half an answer, an error object. */
const POLL_FAILURES: Failure[] = [{ status: 503 }, "reset", "lost", "truncated", "invalid-argument"];

/** Of the page that is loaded after an expiry: the other page is tried. */
const PAGE_FAILURES: (Failure | undefined)[] = [undefined, { status: 503 }, "reset", "truncated"];

const room = fc.nat(1);
const share = fc.integer({ min: 1, max: 4 });
const few = fc.integer({ min: 1, max: 3 });
/** Large ones do not fit the tail, for a viewer that sleeps through them. */
const said = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 100, max: 400 }));

const STEPS: { weight: number; arbitrary: fc.Arbitrary<Step> }[] = [
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait"), room, polls: few }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("say"), room, count: said }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("arrive"),
      room,
      count: fc.integer({ min: 1, max: 25 }),
      backfill: fc.constantFrom(0, 1, 50, 500),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("sleep", "wake", "leave"), share }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("expire"), room, page: fc.constantFrom(...PAGE_FAILURES) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fail"),
      room,
      as: fc.constantFrom(...POLL_FAILURES),
      times: few,
    }),
  },
];

/** As many viewers as may be at once, and everything that can happen. */
const CROWD: Step[] = [
  { do: "arrive", room: 0, count: 146, backfill: 50 },
  { do: "arrive", room: 1, count: 48, backfill: 0 },
  { do: "say", room: 0, count: 60 },
  { do: "say", room: 1, count: 20 },
  { do: "wait", room: 0, polls: 2 },
  { do: "sleep", share: 3 },
  { do: "fail", room: 0, as: "truncated", times: 1 },
  { do: "say", room: 0, count: 100 },
  { do: "expire", room: 1, page: "reset" },
  { do: "wake", share: 1 },
  { do: "say", room: 1, count: 20 },
  { do: "leave", share: 4 },
  { do: "fail", room: 1, as: "lost", times: 2 },
  { do: "arrive", room: 1, count: 25, backfill: 500 },
];

/** What is said meanwhile is more than the newest messages that a room keeps at hand. */
const LONG_SLEEP: Step[] = [
  { do: "arrive", room: 0, count: 8, backfill: 50 },
  { do: "say", room: 0, count: 40 },
  { do: "wait", room: 0, polls: 2 },
  { do: "sleep", share: 2 },
  { do: "say", room: 0, count: 400 },
  { do: "wait", room: 0, polls: 2 },
  { do: "say", room: 0, count: 400 },
  { do: "wait", room: 0, polls: 2 },
  { do: "wake", share: 1 },
  { do: "say", room: 0, count: 40 },
];

describe("exact delivery, whatever happens", () => {
  for (const kind of ["memory", "sqlite"]) {
    it(`holds on the ${kind} store`, { timeout: 120_000 }, async (t) => {
      const folder = await temporaryFolder(t);
      let runs = 0;
      const play = async (steps: Step[]) => {
        runs += 1;
        const store = kind === "memory" ? "memory:" : `sqlite:${join(folder, `${runs}.db`)}`;
        await using relay = await startRelay({
          settings: { RELAY_STORE: store, RELAY_MAX_FAILURES: "1000" },
        });
        await using runner = await ScriptRunner.on(relay);
        for (const step of steps) await runner.run(step);
        await runner.judge();
      };
      const script = fc.array(fc.oneof(...STEPS), { minLength: 5, maxLength: 25, size: "max" });
      await fc.assert(fc.asyncProperty(script, play), {
        seed: 20_260_613,
        numRuns: 10,
        examples: [[CROWD], [LONG_SLEEP]],
        interruptAfterTimeLimit: 60_000, // of shrinking
        markInterruptAsFailure: true,
      });
    });
  }
});

describe("the upstream", () => {
  /** Milliseconds that so many polls take with so many viewers. */
  async function timeOf(polls: number, viewers: number): Promise<number> {
    await using relay = await startRelay();
    await using runner = await ScriptRunner.on(relay, 1);
    await runner.run({ do: "arrive", room: 0, count: viewers - 1, backfill: 50 });
    const polled = runner.polled(0, polls);
    for (let i = 0; i < polls; i += 5) {
      await runner.run({ do: "say", room: 0, count: 3 });
      await runner.run({ do: "wait", room: 0, polls: 5 });
    }
    const calls = await polled;
    await runner.judge();
    const pages = relay.upstream.requests.filter(({ kind }) => kind !== "get_live_chat");
    assert.deepEqual(
      pages.map(({ kind }) => kind),
      ["sw.js", "popout", "sw.js", "popout"],
      "each room bootstraps once",
    );
    return (calls[polls - 1]?.at ?? Number.NaN) - (calls[0]?.at ?? Number.NaN);
  }

  it("is polled for 100 viewers as for one", async () => {
    const alone = await timeOf(40, 1);
    const crowded = await timeOf(40, 100);
    assert.ok(crowded > alone * 0.6, `40 polls took ${alone} ms for one viewer, ${crowded} ms for 100`);
  });
});
