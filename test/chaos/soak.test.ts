/** When a soak says that a gauge grows: two hours of samples, one every ten seconds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Random } from "../../simulator/random.ts";
import { grows, type Sample, trendOf } from "./trend.ts";

const MINUTES = 120;
const BOUND = { share: 0.05, allowance: 2 };

/** By minute, in MB. */
const SERIES: Record<string, { value: (minute: number, noise: number) => number; isGrowth: boolean }> = {
  "a flat one with noise": { value: (_, noise) => 40 + 8 * noise, isGrowth: false },
  "one that fills its caches in the first half hour": {
    value: (minute) => Math.min(60, 30 + minute),
    isGrowth: false,
  },
  "the saw of a heap that is collected every seven minutes": {
    value: (minute) => 30 + 5 * (minute % 7),
    isGrowth: false,
  },
  "one with a peak in the last quarter": {
    value: (minute) => (minute > 100 && minute < 112 ? 400 : 40),
    isGrowth: false,
  },
  "one that falls": { value: (minute) => 60 - minute / 4, isGrowth: false },
  "a leak of 1 MB a minute": { value: (minute, noise) => 40 + minute + 8 * noise, isGrowth: true },
  "a leak of 6 MB an hour under a saw": {
    value: (minute) => 30 + minute / 10 + (minute % 7),
    isGrowth: true,
  },
  "a step that stays": { value: (minute) => (minute < 70 ? 40 : 50), isGrowth: true },
};

function trendOfSeries(value: (minute: number, noise: number) => number) {
  const random = new Random(1);
  const samples = Array.from({ length: 6 * MINUTES }, (_, i): Sample => {
    return { minute: i / 6, value: value(i / 6, random.next() - 0.5) };
  });
  return trendOf(samples, MINUTES);
}

describe("the judge of growth", () => {
  for (const [name, { value, isGrowth }] of Object.entries(SERIES))
    it(`${isGrowth ? "reports" : "lets pass"} ${name}`, () => {
      assert.equal(grows(trendOfSeries(value), BOUND), isGrowth);
    });

  it("computes the slope without the start and without peaks", () => {
    const trend = trendOfSeries((minute) => (minute < 20 ? 1000 : minute % 10 === 0 ? 900 : minute));
    assert.ok(Math.abs(trend.perHour - 60) < 0.01, `${trend.perHour} an hour`);
    assert.deepEqual([trend.min, trend.max], [30 + 1 / 6, 900]);
  });

  it("judges nothing with only a few samples", () => {
    assert.throws(() => trendOf([{ minute: 70, value: 1 }], MINUTES), RangeError);
  });
});
