/** What strangers choose the number of costs the same each, however many there are. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { OpeningBound } from "../../../src/rooms/opening-bound.ts";
import { OpeningQueue } from "../../../src/upstream/egress/opening-queue.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { stepsOf, stopCounting } from "../../support/steps.ts";

const [LEAST, FEW, MANY] = [25, 100, 400];
const idOf = (i: number) => String(i).padStart(11, "0");

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
        const openings = new OpeningQueue(new FakeClock(), () => undefined);
        const left = Array.from({ length: count }, (_, i) => {
          const gone = new AbortController();
          const entered = openings.enter({ address: one(i), isFirst: false }, gone.signal).catch(() => {});
          return { gone, entered };
        });
        for (const { gone } of left) gone.abort(new Error("left"));
        await Promise.all(left.map(({ entered }) => entered));
      }));

    it(`of videos that wait for their turn and get it, from ${addresses}`, () =>
      assertEven(async (count) => {
        let free = 0;
        const openings = new OpeningQueue(new FakeClock(), () => (free > 0 ? free-- : undefined));
        const { signal } = new AbortController();
        const address = (i: number) => ({ address: one(i), isFirst: i % 2 === 0 });
        const own = () => AbortSignal.any([signal]);
        const entered = Array.from({ length: count }, (_, i) => openings.enter(address(i), own()));
        for (let i = 0; i < count; i++) {
          free += 1;
          openings.advance();
        }
        await Promise.all(entered);
      }));

    it(`of videos that displace each other, from ${addresses}`, () =>
      assertEven(async (count) => {
        const waiting = new OpeningBound(count / 2);
        for (let i = 0; i < count; i++) waiting.join(one(i), () => {});
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

describe("the videos that wait to be opened", () => {
  /** A crowd of at most `max`, and those that were displaced, in order. */
  function crowdOf(max: number) {
    const waiting = new OpeningBound(max);
    const displaced: string[] = [];
    const join = (name: string, address: string) => waiting.join(address, () => displaced.push(name));
    return { join, displaced };
  }

  it("are displaced, once there are too many, from the address with the most: its oldest", () => {
    const { join, displaced } = crowdOf(5);
    join("person 1", "person");
    for (let i = 1; i <= 6; i++) join(`flood ${i}`, "flood");
    join("person 2", "person");
    join("other", "other");
    assert.deepEqual(displaced, ["flood 1", "flood 2", "flood 3", "flood 4"]);
  });

  it("count until they are opened or given up, at most once", () => {
    const { join, displaced } = crowdOf(2);
    const first = join("first", "a");
    join("second", "a");
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    join("third", "b");
    assert.deepEqual(displaced, []);
    join("fourth", "b");
    assert.deepEqual(displaced, ["third"]);
  });
});

it("a connection with several chats is refused if none of them could be opened in time, and open chats do not count", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat("is-open-now", { kinds: ["text"] });
  await relay.enter({ videoId: "is-open-now" });
  const twenty = (line: number) =>
    Array.from({ length: 20 }, (_, i) => `waits-${String(20 * line + i).padStart(5, "0")}`);
  const { rooms } = relay;
  const lines = Array.from({ length: 25 }, (_, line) => rooms.reserveOpenings(twenty(line), "flood"));
  const refused = { code: "CAPACITY", full: "openings" };
  assert.throws(() => rooms.reserveOpenings(twenty(25), "flood"), refused);
  rooms.reserveOpenings(["is-open-now"], "flood");
  rooms.reserveOpenings(twenty(25), "another");
  lines[0]?.[Symbol.dispose]();
  for (const videoId of twenty(0)) relay.visit({ videoId, address: "flood" }).entered.catch(() => {});
  assert.throws(() => rooms.reserveOpenings(twenty(26), "flood"), refused);
});
