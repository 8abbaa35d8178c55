/**
 * The pace of an address that instances share, at any distance from the database in which they reserve their
 * calls.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../support/fake-clock.ts";
import { gateBench } from "../../../support/gate-bench.ts";
import { NEAR, sharedBy, type Way } from "../../../support/shared-pace.ts";

const SPACING_MS = 250;
/** By how much the database's clock is ahead of that of the instances. */
const AHEAD_MS = 5000;

/** By how much sleepers wake late if they begin to sleep at this time, in milliseconds. */
type Lateness = (now: number) => number;

/** A clock by which sleepers wake late. */
class LateClock extends FakeClock {
  readonly #clock: FakeClock;
  readonly #lateMs: Lateness;

  constructor(clock: FakeClock, lateMs: Lateness) {
    super();
    this.#clock = clock;
    this.#lateMs = lateMs;
  }

  override monotonic(): number {
    return this.#clock.monotonic();
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms + this.#lateMs(this.monotonic()), signal);
  }
}

/**
 * Instances that call as often as they may for a minute, each at the end of its way: when their calls
 * started.
 */
async function startsOf(ways: readonly Way[], lateness: readonly Lateness[] = []) {
  const clock = new FakeClock();
  const from = clock.monotonic();
  const paceOfOne = sharedBy(clock, AHEAD_MS);
  const benches = ways.map((way, n) => {
    const late = lateness[n];
    const own = late ? new LateClock(clock, (now) => late(now - from)) : clock;
    const bench = gateBench({ spacingMs: SPACING_MS }, undefined, "office", own);
    bench.gate.share(paceOfOne(way));
    for (let call = 0; call < 300; call++) void bench.call(`${call}`, { toleranceMs: 1e9 });
    return bench;
  });
  await clock.advance(60_000);
  const starts = benches.map((bench) => bench.starts.map(({ at }) => at - from));
  const all = starts.flat().sort((one, other) => one - other);
  const gaps = all.slice(1).map((at, index) => at - (all[index] ?? 0));
  return {
    counts: starts.map(({ length }) => length),
    leastMs: Math.min(...gaps),
    calls: all.length,
    starts,
  };
}

describe("the pace of an address that instances share", () => {
  for (const wayMs of [0, 60, 120, 400])
    it(`keeps the spacing if one instance is ${wayMs} ms further away`, async () => {
      const { counts, leastMs, calls } = await startsOf([[[1 + wayMs, 1 + wayMs]], NEAR, NEAR]);
      assert.ok(leastMs >= SPACING_MS, `${leastMs} ms`);
      assert.ok(calls > 0.9 * (60_000 / SPACING_MS), `${calls} calls: ${counts}`);
      assert.ok(Math.min(...counts) > 30, `${counts}`);
    });

  it("keeps the spacing if a connection must be made first, or an answer takes long", async () => {
    const connecting: Way = [
      [180, 60],
      ...Array.from({ length: 20 }, () => [60, 60] as const),
      [60, 700],
      [60, 60],
    ];
    const { leastMs } = await startsOf([connecting, NEAR]);
    assert.ok(leastMs >= SPACING_MS, `${leastMs} ms`);
  });

  it("keeps the spacing, and lets all instances call, if one of them is always late", async () => {
    const { counts, leastMs } = await startsOf([NEAR, NEAR], [() => 40]);
    assert.ok(leastMs >= SPACING_MS, `${leastMs} ms`);
    assert.ok(Math.min(...counts) > 60, `${counts}`);
  });

  for (const lateMs of [300, 900])
    it(`keeps its spacing and lets all instances call if a busy one is always ${lateMs} ms late`, async () => {
      const { counts, leastMs } = await startsOf([NEAR, NEAR], [() => lateMs]);
      assert.ok(leastMs >= SPACING_MS, `${leastMs} ms`);
      assert.ok(Math.min(...counts) > 10, `${counts}`);
    });

  it("is left to all once an instance that was blocked for six seconds is in time again", async () => {
    const isBlocked = (now: number) => now >= 10_000 && now < 16_000;
    const { starts, leastMs } = await startsOf([NEAR, NEAR], [(now) => (isBlocked(now) ? 1500 : 0)]);
    assert.ok(leastMs >= SPACING_MS, `${leastMs} ms`);
    const counts = starts.map((all) => all.filter((at) => at >= 19_000 && at < 39_000).length);
    const calls = counts.reduce((sum, each) => sum + each, 0);
    assert.ok(calls > 0.75 * (20_000 / SPACING_MS), `${calls} calls: ${counts}`);
  });
});
