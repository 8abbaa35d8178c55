/** Long work on the event loop: how much of it runs between two pauses, alone and together with more. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { Slices } from "../../../src/serving/slices.ts";

/** A clock on which only work takes time, and the time that was worked between pauses. */
function workClock() {
  let now = 0;
  let pausedAt = 0;
  const slices: number[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    sleep: async () => {
      slices.push(now - pausedAt);
      pausedAt = now;
    },
  };
  const work = (ms: number) => () => {
    now += ms;
  };
  return { clock, slices, work };
}

it("work pauses after ten milliseconds, and not at all if it takes less", async () => {
  const { clock, slices, work } = workClock();
  const done: number[] = [];
  await new Slices(clock).each(Array(800).keys(), (item) => {
    done.push(item);
    work(0.1)();
  });
  assert.deepEqual(done, [...Array(800).keys()]);
  assert.equal(slices.length, 7);
  assert.ok(slices.every((ms) => ms >= 10 && ms < 11));
});

it("pieces of work that share their pauses take no longer between two of them than one piece", async () => {
  const { clock, slices, work } = workClock();
  const shared = new Slices(clock);
  // The short ones end before they look at the clock; the long ones all wait for one pause again and again.
  await Promise.all(Array.from({ length: 60 }, () => shared.each([1, 2], work(1))));
  await Promise.all(Array.from({ length: 20 }, () => shared.each(Array(100).keys(), work(0.1))));
  assert.ok(slices.length >= 25, `${slices.length} pauses`);
  assert.ok(Math.max(...slices) < 12, `${Math.max(...slices)} ms`);
});
