/** What strangers choose the number of costs the same each, however many there are. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { OpeningQueue } from "../../../src/rooms/opening/opening-queue.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { stepsOf, stopCounting } from "../../support/steps.ts";

const [LEAST, FEW, MANY] = [25, 100, 400];
const idOf = (i: number) => String(i).padStart(11, "0");

const queueOf = (max: number, take: () => Disposable | undefined) =>
  new OpeningQueue(new FakeClock(), max, take);

/** Asserts that each one more costs about as much among many as among few, whatever all together cost. */
async function assertEven(act: (count: number) => Promise<void>): Promise<void> {
  const steps = (count: number) => stepsOf(() => act(count));
  const [least, fewer, all] = [await steps(LEAST), await steps(FEW), await steps(MANY)];
  const few = (fewer - least) / (FEW - LEAST);
  const many = (all - fewer) / (MANY - FEW);
  assert.ok(many < 1.5 * few, `${few.toFixed(1)} steps for each of few, ${many.toFixed(1)} for each of many`);
}

describe("a crowd costs per head what a small one costs", () => {
  after(stopCounting);

  for (const [addresses, one] of [
    ["one address", () => "one"],
    ["as many addresses", (i: number) => `${i}`],
  ] as const) {
    it(`of videos that wait for their turn and leave, from ${addresses}`, () =>
      assertEven(async (count) => {
        const openings = queueOf(count, () => undefined);
        const left = Array.from({ length: count }, (_, i) => {
          const gone = new AbortController();
          const queued = openings.join(one(i));
          const entered = queued.turn("unknown", gone.signal).catch(() => {});
          return { gone, entered };
        });
        for (const { gone } of left) gone.abort(new Error("left"));
        await Promise.all(left.map(({ entered }) => entered));
      }));

    it(`of videos that wait for their turn and get it, from ${addresses}`, () =>
      assertEven(async (count) => {
        let isFree = true;
        const openings = queueOf(count, () => {
          if (!isFree) return undefined;
          isFree = false;
          return {
            [Symbol.dispose]: () => {
              isFree = true;
            },
          };
        });
        const { signal } = new AbortController();
        const rank = (i: number) => (["open", "known", "unknown"] as const)[i % 3] ?? "open";
        const own = () => AbortSignal.any([signal]);
        const turn = (i: number) => openings.join(one(i)).turn(rank(i), own());
        const first = await turn(0);
        const entered = Array.from({ length: count }, async (_, i) => (await turn(i))[Symbol.dispose]());
        first[Symbol.dispose]();
        await Promise.all(entered);
      }));

    it(`of videos that displace each other, from ${addresses}`, () =>
      assertEven(async (count) => {
        const openings = queueOf(count / 2, () => undefined);
        for (let i = 0; i < count; i++) openings.join(one(i));
      }));
  }

  it("of viewers that ask for made-up videos, as many as may wait", () =>
    assertEven(async (count) => {
      // Few are tried before their time is up: those cost more.
      const relay = new VirtualRelay({
        settings: { RELAY_MAX_ROOMS: `${MANY}`, RELAY_GATE_SPACING_MS: "1000" },
      });
      const visits = Array.from({ length: count }, (_, i) => relay.visit({ videoId: idOf(i) }));
      await relay.when(Promise.allSettled(visits.map(({ entered }) => entered)));
    }));

  it("of viewers that wait for one room", () =>
    assertEven(async (count) => {
      const relay = new VirtualRelay();
      relay.upstream.chat(idOf(1), { kinds: ["text"] });
      const visits = Array.from({ length: count }, () => relay.visit({ videoId: idOf(1) }));
      await relay.when(Promise.all(visits.map(({ entered }) => entered)));
    }));
});
