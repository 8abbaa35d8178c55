/** The pace of one address: spacing, concurrency, and who goes first. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { LANES, type Lane } from "../src/upstream/egress/gate.ts";
import { UpstreamError } from "../src/upstream/errors.ts";
import { gateBench } from "./support/gate-bench.ts";

const throttled = (retryAfterMs?: number) => new UpstreamError("throttled", "slow down", { retryAfterMs });
const isThrottled = (error: unknown) => error instanceof UpstreamError && error.fault === "throttled";

describe("upstream request spacing: at least 250 ms apart", () => {
  it("starts calls that come at once 250 ms apart", async () => {
    const { clock, call, starts } = gateBench();
    const done = Promise.all(["a", "b", "c"].map((name) => call(name)));
    await clock.advance(1000);
    assert.deepEqual(await done, ["a", "b", "c"]);
    assert.deepEqual(starts, [
      { name: "a", at: 0 },
      { name: "b", at: 250 },
      { name: "c", at: 500 },
    ]);
  });

  it("starts a call at once when the last start lies further back", async () => {
    const { clock, call, starts } = gateBench();
    await Promise.all([call("a"), clock.advance(400)]);
    await Promise.all([call("b"), clock.advance(10)]);
    assert.deepEqual(starts.at(-1), { name: "b", at: 400 });
  });

  it("keeps no call waiting for a clock that was set back", async () => {
    const { clock, call, starts } = gateBench();
    await clock.advance(30_000);
    await Promise.all([call("a"), clock.advance(10)]);
    clock.setBack(30_000);
    await Promise.all([call("b"), clock.advance(260)]);
    assert.deepEqual(starts.at(-1), { name: "b", at: 260 });
  });
});

describe("upstream concurrency: at most 4 at once", () => {
  it("keeps the fifth waiting until one of four has ended", async () => {
    const { clock, call, starts, peak } = gateBench();
    const done = Promise.all([..."abcdefgh"].map((name) => call(name, { takesMs: 5000 })));
    await clock.advance(20_000);
    await done;
    assert.equal(peak(), 4);
    assert.equal(starts[4]?.at, 5000);
  });
});

describe("fairness", () => {
  it("starts the call that is due first, whenever it was asked for", async () => {
    const { clock, call, starts } = gateBench();
    const done = Promise.all([
      call("now"),
      call("third", { dueAt: 30 }),
      call("first", { dueAt: 10 }),
      call("second", { dueAt: 20 }),
    ]);
    await clock.advance(2000);
    await done;
    assert.deepEqual(
      starts.map(({ name }) => name),
      ["now", "first", "second", "third"],
    );
  });

  it("lets those stand back that may, behind all that are due before their time is over", async () => {
    const { clock, call, starts } = gateBench();
    const polls = Array.from({ length: 12 }, (_, i) => call(`poll ${i}`, { dueAt: i * 200 }));
    const patient = call("patient", { dueAt: 0, standsBackMs: 1000 });
    await clock.advance(5000);
    await Promise.all([...polls, patient]);
    assert.equal(
      starts.findIndex(({ name }) => name === "patient"),
      6,
    );
  });

  it("lets a caller's calls through between hundreds of polls that are overdue", async () => {
    const { clock, call, starts } = gateBench();
    const polls = Promise.all(Array.from({ length: 300 }, (_, i) => call(`poll ${i}`, { dueAt: -i })));
    await clock.advance(1000);
    const bootstrap = Promise.all(["sw.js", "page", "chat"].map((name) => call(name, { lane: "caller" })));
    await clock.advance(2000);
    await bootstrap;
    const before = starts.findIndex(({ name }) => name === "chat");
    assert.ok(before < 12, `the last of three calls was number ${before}`);
    await clock.advance(100_000);
    await polls;
  });

  it("lets callers, polls and the pages of rooms take turns", async () => {
    const { clock, call, starts } = gateBench();
    const lanes = ["page", "poll", "caller"] as const;
    const all = Promise.all(
      lanes.flatMap((lane) => [1, 2, 3].map((i) => call(`${lane} ${i}`, { lane, dueAt: -1000 }))),
    );
    await clock.advance(3000);
    await all;
    const order = starts.slice(1).map(({ name }) => name.replace(/ .*/, ""));
    assert.deepEqual(order, ["caller", "poll", "page", "caller", "poll", "page", "caller", "poll"]);
  });

  it("does not let callers starve polls", async () => {
    const { clock, call, starts } = gateBench();
    const all = Promise.all([
      ...Array.from({ length: 100 }, (_, i) => call(`caller ${i}`, { lane: "caller", dueAt: -1000 })),
      call("poll", { dueAt: 5 }),
    ]);
    await clock.advance(1000);
    assert.ok(starts.some(({ name }) => name === "poll"));
    await clock.advance(100_000);
    await all;
  });

  it("lets a bootstrap wait for two calls of probes at most, however many probes there are", async () => {
    for (const concurrency of [1, 2, 4]) {
      const { clock, call, starts } = gateBench({ concurrency });
      const probe = async (name: string) => {
        for (let i = 0; i < 5; i++) await call(`${name} ${i}`, { lane: "probe", takesMs: 900 });
      };
      const probes = Promise.all(Array.from({ length: 30 }, (_, i) => probe(`probe ${i}`)));
      await clock.advance(3300);
      const from = starts.length;
      const beganAt = clock.monotonic();
      const bootstrap = async () => {
        for (const name of ["sw.js", "page", "chat"]) await call(name, { lane: "caller", takesMs: 600 });
        return clock.monotonic() - beganAt;
      };
      const tookMs = await Promise.race([bootstrap(), clock.advance(10_000).then(() => Number.NaN)]);
      const between = starts.slice(
        from,
        starts.findIndex(({ name }) => name === "chat"),
      );
      assert.deepEqual(
        between.map(({ name }) => name),
        ["sw.js", "page"],
        `concurrency ${concurrency}`,
      );
      assert.ok(tookMs <= 3 * 600 + 900, `concurrency ${concurrency}: ${tookMs} ms`);
      await clock.advance(300_000);
      await probes;
    }
  });

  it("starts probes where nobody else waits, and leaves half of the slots free", async () => {
    const { clock, call, peak } = gateBench();
    const probes = Promise.all(
      Array.from({ length: 6 }, (_, i) => call(`probe ${i}`, { lane: "probe", takesMs: 5000 })),
    );
    await clock.advance(16_000);
    await probes;
    assert.equal(peak(), 2);
  });

  it("starves no room when there are more than the spacing can serve", async () => {
    const { clock, call, starts } = gateBench();
    const stop = new AbortController();
    const loop = async (name: string) => {
      while (!stop.signal.aborted) await call(name).then(() => clock.sleep(1000));
    };
    const rooms = Array.from({ length: 20 }, (_, i) => loop(`room ${i}`));
    await clock.advance(100_000);
    stop.abort();
    await clock.advance(30_000);
    await Promise.all(rooms);
    const counts = Map.groupBy(
      starts.filter(({ at }) => at < 100_000),
      ({ name }) => name,
    );
    const polls = [...counts.values()].map((list) => list.length);
    assert.equal(counts.size, 20);
    assert.ok(Math.max(...polls) - Math.min(...polls) <= 1, `polls per room: ${polls}`);
  });

  it("warns once a minute when polls start over 5 s late, with the number of rooms that it can carry", async () => {
    const warnings: { lateMs: number; rooms: number; roomsCarried: number }[] = [];
    class Listening extends Telemetry {
      override pollsLate(lateMs: number, rooms: number, roomsCarried: number): void {
        warnings.push({ lateMs, rooms, roomsCarried });
      }
    }
    const { clock, call, gate } = gateBench({}, new Listening(silentLog));
    const names = Array.from({ length: 300 }, (_, i) => `room ${i}`);
    for (const name of names) gate.capacity.ask(name, { intervalMs: 4500, windowMs: 10_000 });
    const done = Promise.all(names.map((name) => call(name)));
    await clock.advance(76_000);
    await done;
    assert.deepEqual(warnings, [
      { lateMs: 5250, rooms: 300, roomsCarried: 26 },
      { lateMs: 65_250, rooms: 300, roomsCarried: 26 },
    ]);
  });
});

it("shows each of two gates in the metrics, by its egress", async () => {
  const telemetry = new Telemetry(silentLog);
  const one = gateBench({}, telemetry, "one");
  const two = gateBench({ concurrency: 1 }, telemetry, "two");
  const hit = assert.rejects(one.call("hit", { fails: throttled() }), isThrottled);
  const calls = Promise.all([two.call("runs"), two.call("waits"), two.call("waits, too")]);
  await one.clock.advance(10);
  await hit;
  const metrics = await telemetry.registry.metrics();
  for (const line of [
    'relay_gate_cooldown_seconds{egress="one"} 30',
    'relay_gate_cooldown_seconds{egress="two"} 0',
    'relay_gate_page_cooldown_seconds{egress="one"} 30',
    'relay_gate_page_cooldown_seconds{egress="two"} 0',
    'relay_gate_queue{egress="one"} 0',
    'relay_gate_queue{egress="two"} 2',
    'relay_upstream_throttled_total{egress="one"} 1',
  ]) {
    assert.ok(metrics.includes(`${line}\n`), line);
  }
  await two.clock.advance(1000);
  await calls;
});

it("keeps spacing, concurrency and every caller's answer under any load", async () => {
  const load = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 3000 }),
      takesMs: fc.integer({ min: 0, max: 2000 }),
      key: fc.integer({ min: 0, max: 12 }),
      lane: fc.constantFrom<Lane>(...LANES),
      dueAt: fc.integer({ min: 0, max: 3000 }),
    }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(load, fc.integer({ min: 1, max: 5 }), async (calls, concurrency) => {
      const { clock, call, starts, peak } = gateBench({ concurrency });
      const answers = calls.map(async ({ at, key, ...wishes }) => {
        await clock.sleep(at);
        assert.equal(await call(`call ${key}`, wishes), `call ${key}`);
      });
      await clock.advance(200_000);
      await Promise.all(answers);
      assert.ok(peak() <= concurrency);
      for (const [i, { at }] of starts.entries()) {
        const last = starts[i - 1];
        if (last) assert.ok(at - last.at >= 250, `starts at ${last.at} and ${at}`);
      }
    }),
    { numRuns: 60, seed: 7 },
  );
});
