/** The pace of one address: spacing, concurrency, and who goes first. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { priorityMs } from "../../../../src/reading/poll-schedule.ts";
import { silentLog } from "../../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../../src/telemetry/telemetry.ts";
import { LANES, type Lane } from "../../../../src/upstream/egress/lanes.ts";
import { whenever } from "../../../harness/whenever.ts";
import { gateBench } from "../../../support/gate-bench.ts";

describe("upstream request spacing: at least 250 ms apart", () => {
  it("starts simultaneous calls 250 ms apart", async () => {
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

  it("starts a call at once if the last start was longer ago", async () => {
    const { clock, call, starts } = gateBench();
    await Promise.all([call("a"), clock.advance(400)]);
    await Promise.all([call("b"), clock.advance(10)]);
    assert.deepEqual(starts.at(-1), { name: "b", at: 400 });
  });

  it("counts from the moment at which a request leaves, after its connection is made", async () => {
    const { clock, call, starts } = gateBench();
    const done = Promise.all([call("a", { leavesAfterMs: 100, takesMs: 500 }), call("b"), call("c")]);
    await clock.advance(1000);
    await done;
    assert.deepEqual(
      starts.map(({ at }) => at),
      [0, 350, 600],
    );
  });

  it("delays no call if the clock was set back", async () => {
    const { clock, call, starts } = gateBench();
    await clock.advance(30_000);
    await Promise.all([call("a"), clock.advance(10)]);
    clock.setBack(30_000);
    await Promise.all([call("b"), clock.advance(260)]);
    assert.deepEqual(starts.at(-1), { name: "b", at: 260 });
  });
});

describe("upstream concurrency: at most 4 at once", () => {
  it("delays the fifth call until one of four has ended", async () => {
    const { clock, call, starts, peak } = gateBench();
    const done = Promise.all([..."abcdefgh"].map((name) => call(name, { takesMs: 5000 })));
    await clock.advance(20_000);
    await done;
    assert.equal(peak(), 4);
    assert.equal(starts[4]?.at, 5000);
  });
});

describe("fairness", () => {
  it("starts the call that is due first, in whatever order calls arrive", async () => {
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

  it("starts the call that would lose messages first, not the one that is due first", async () => {
    const { clock, call, starts } = gateBench();
    const polls = Array.from({ length: 12 }, (_, i) => call(`poll ${i}`, { dueAt: i * 200 }));
    const tolerant = call("tolerant", { dueAt: 0, toleranceMs: 1000 });
    await clock.advance(5000);
    await Promise.all([...polls, tolerant]);
    assert.equal(
      starts.findIndex(({ name }) => name === "tolerant"),
      6,
    );
  });

  it("ranks only calls that are already too late, and starves none of them", async () => {
    const { clock, call, starts } = gateBench();
    const stop = new AbortController();
    const loop = async (name: string, options: object) => {
      while (!stop.signal.aborted) await call(name, { ...options, dueAt: clock.monotonic() });
    };
    const rooms = [
      loop("recorded", { priorityMs: 4000 }),
      loop("watched", { priorityMs: 2000 }),
      loop("lingering", { priorityMs: 0 }),
      loop("in time", { priorityMs: 0, toleranceMs: 1500 }),
    ];
    await clock.advance(100_000);
    stop.abort();
    await clock.advance(20_000);
    await Promise.all(rooms);
    const count = (room: string) => starts.filter(({ name }) => name === room).length;
    assert.ok(count("recorded") > 2 * count("watched"), `${count("recorded")} to ${count("watched")}`);
    assert.ok(count("watched") > count("lingering"), `${count("watched")} to ${count("lingering")}`);
    assert.ok(count("lingering") >= 100_000 / 6000, `${count("lingering")}`);
    assert.ok(count("in time") >= 100_000 / 6000, `${count("in time")}`);
  });

  it("starts a call that is too late before calls that are not, whatever its rank", async () => {
    const { clock, call, starts } = gateBench();
    const first = call("first");
    const tolerant = Array.from({ length: 8 }, (_, i) =>
      call(`tolerant ${i}`, { dueAt: 0, toleranceMs: 900 }),
    );
    const late = call("late", { dueAt: 0, toleranceMs: 100, priorityMs: 0 });
    await clock.advance(4000);
    await Promise.all([first, ...tolerant, late]);
    assert.equal(starts.findIndex(({ name }) => name === "late") <= 1, true);
  });

  it("starts no other call if a poll behind others would be too late", async () => {
    const { clock, call, starts } = gateBench();
    const asked = Array.from({ length: 6 }, (_, i) => call(`poll ${i}`, { dueAt: 0, toleranceMs: 1500 }));
    asked.push(call("opening", { lane: "opening", dueAt: -1000 }));
    await clock.advance(4000);
    await Promise.all(asked);
    assert.deepEqual(
      starts.map(({ name }) => name),
      ["poll 0", "poll 1", "poll 2", "poll 3", "poll 4", "poll 5", "opening"],
    );
  });

  it("starts other calls in turn with polls that can wait for four, then after three polls each", async () => {
    const { clock, call, starts } = gateBench();
    const asked = [call("first", { lane: "caller" })];
    // When the first of them may start, five other calls can go before each.
    const tolerance = { dueAt: 0, toleranceMs: 15 * 250 };
    for (let i = 0; i < 10; i++) asked.push(call(`poll ${i}`, tolerance));
    for (let i = 0; i < 4; i++) asked.push(call(`opening ${i}`, { lane: "opening", dueAt: -1000 }));
    await clock.advance(5000);
    await Promise.all(asked);
    assert.equal(
      starts.map(({ name }) => name[0]).join(" "),
      ["f", "p o", "p o", "p p p o", "p p p o", "p p"].join(" "),
    );
  });

  it("lets the calls of an opening through between hundreds of overdue polls", async () => {
    const { clock, call, starts } = gateBench();
    const polls = Promise.all(Array.from({ length: 300 }, (_, i) => call(`poll ${i}`, { dueAt: -i })));
    await clock.advance(1000);
    const bootstrap = Promise.all(["sw.js", "page", "chat"].map((name) => call(name, { lane: "opening" })));
    await clock.advance(4000);
    await bootstrap;
    const before = starts.findIndex(({ name }) => name === "chat");
    assert.ok(before <= 13, `the last of three calls was number ${before}`);
    await clock.advance(100_000);
    await polls;
  });

  it("starts three polls in four calls if all lanes wait; openings, callers and recoveries take turns", async () => {
    const { clock, call, starts } = gateBench();
    const lanes = ["recovery", "poll", "caller", "opening", "probe", "replay"] as const;
    const all = Promise.all(
      lanes.flatMap((lane) =>
        Array.from({ length: lane === "poll" ? 9 : 2 }, (_, i) =>
          call(`${lane} ${i}`, { lane, dueAt: -1000 }),
        ),
      ),
    );
    await clock.advance(10_000);
    await all;
    const order = starts.slice(1).map(({ name }) => name.replace(/ .*/, ""));
    assert.deepEqual(order, [
      ...["poll", "poll", "poll", "opening"],
      ...["poll", "poll", "poll", "caller"],
      ...["poll", "poll", "poll", "recovery"],
      ...["opening", "caller", "replay", "probe", "replay", "probe"],
    ]);
  });

  it("never delays a poll by more than one other call, whatever floods the gate", async () => {
    const { clock, call, starts } = gateBench();
    const flood = Promise.all(
      LANES.filter((lane) => lane !== "poll").flatMap((lane) =>
        Array.from({ length: 40 }, (_, i) => call(`${lane} ${i}`, { lane, dueAt: -1000 })),
      ),
    );
    await clock.advance(1010);
    const askedAt = clock.monotonic();
    await Promise.all([call("poll"), clock.advance(500)]);
    const { at = Number.NaN } = starts.find(({ name }) => name === "poll") ?? {};
    assert.ok(at - askedAt <= 250, `${at - askedAt} ms`);
    await clock.advance(100_000);
    await flood;
  });

  it("starts a look after every four openings, callers and recoveries, or when none of them waits", async () => {
    const { clock, call, starts } = gateBench();
    const lanes = ["opening", "caller", "recovery", "look"] as const;
    const flood = Promise.all(
      lanes.flatMap((lane) =>
        Array.from({ length: 8 }, (_, i) => call(`${lane} ${i}`, { lane, dueAt: -1000 })),
      ),
    );
    await clock.advance(20_000);
    await flood;
    const looks = starts.flatMap(({ name }, i) => (name.startsWith("look") ? [i] : []));
    assert.deepEqual(looks, [4, 9, 14, 19, 24, 29, 30, 31]);
  });

  it("delays a bootstrap by at most two calls of probes, however many probes there are", async () => {
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
        for (const name of ["sw.js", "page", "chat"]) await call(name, { lane: "opening", takesMs: 600 });
        return clock.monotonic() - beganAt;
      };
      let tookMs = Number.NaN;
      void bootstrap().then((ms) => {
        tookMs = ms;
      });
      await clock.advance(10_000);
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

  for (const [lane, most] of [
    ["opening", 3],
    ["caller", 3],
    ["recovery", 2],
    ["retry", 1],
    ["replay", 2],
    ["probe", 2],
    ["look", 1],
  ] as const) {
    it(`gives the lane ${lane} at most ${most} of 4 slots, so that a poll finds one`, async () => {
      const { clock, call, starts, peak } = gateBench();
      const stuck = Promise.all(
        Array.from({ length: 6 }, (_, i) => call(`${lane} ${i}`, { lane, takesMs: 15_000 })),
      );
      await clock.advance(5000);
      assert.equal(peak(), most);
      await Promise.all([call("poll"), clock.advance(20)]);
      assert.equal(starts.at(-1)?.name, "poll");
      await clock.advance(100_000);
      await stuck;
    });
  }

  for (const lane of ["retry", "look"] as const)
    it(`keeps a slot for a first recovery when calls of the lanes ${lane} and retry use all of theirs`, async () => {
      const { clock, call, starts } = gateBench();
      const again = [lane, "retry", "retry", "look"] as const;
      const stuck = again.map((lane, i) => call(`${lane} ${i}`, { lane, takesMs: 15_000 }));
      await clock.advance(1000);
      stuck.push(call("first", { lane: "recovery" }));
      await clock.advance(300);
      assert.deepEqual(
        starts.map(({ name }) => name),
        [`${lane} 0`, "first"],
      );
      await clock.advance(90_000);
      await Promise.all(stuck);
    });

  for (const lane of ["retry", "look"] as const)
    it(`keeps a slot for an opening when calls of the lanes ${lane} and recovery use all of theirs`, async () => {
      const { clock, call, starts } = gateBench();
      const failing = [lane, "recovery", "recovery", "look"] as const;
      const stuck = failing.map((lane, i) => call(`${lane} ${i}`, { lane, takesMs: 15_000 }));
      await clock.advance(1000);
      stuck.push(call("opening", { lane: "opening" }));
      await clock.advance(300);
      assert.deepEqual(
        starts.map(({ name }) => name),
        [`${lane} 0`, "recovery 1", "opening"],
      );
      await clock.advance(60_000);
      await Promise.all(stuck);
    });

  it("gives all lanes except polls 3 of 4 slots together", async () => {
    const { clock, call, peak } = gateBench();
    const lanes = LANES.filter((lane) => lane !== "poll");
    const stuck = Promise.all(lanes.map((lane) => call(lane, { lane, takesMs: 15_000 })));
    await clock.advance(5000);
    assert.equal(peak(), 3);
    await clock.advance(100_000);
    await stuck;
  });

  it("serves every lane with a single slot, and starves none while polls and others flood it", async () => {
    const { clock, call, starts, peak } = gateBench({ concurrency: 1 });
    const flood = Promise.all(
      LANES.flatMap((lane) =>
        Array.from({ length: 40 }, (_, i) => call(`${lane} ${i}`, { lane, takesMs: 400, dueAt: -10_000 })),
      ),
    );
    await clock.advance(15_000);
    const begun = new Set(starts.map(({ name }) => name.replace(/ .*/, "")));
    assert.deepEqual([...begun].sort(), ["caller", "look", "opening", "poll", "recovery", "retry"]);
    await clock.advance(400 * 40 * LANES.length);
    await flood;
    assert.equal(peak(), 1);
  });

  it("starves no room if there are more rooms than the spacing can serve", async () => {
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

  it("warns once a minute if polls start over 5 s late, with the number of rooms that it can carry", async () => {
    const warnings: { lateMs: number; rooms: number; roomsCarried: number }[] = [];
    const telemetry = new Telemetry(silentLog);
    whenever(telemetry.upstream, "pollsLate", (lateMs, rooms, roomsCarried) =>
      warnings.push({ lateMs, rooms, roomsCarried }),
    );
    const { clock, call, load } = gateBench({}, telemetry);
    const names = Array.from({ length: 300 }, (_, i) => `room ${i}`);
    for (const name of names) load.set(name, { intervalMs: 4500, windowMs: 10_000 });
    const done = Promise.all(names.map((name) => call(name)));
    await clock.advance(76_000);
    await done;
    assert.deepEqual(warnings, [
      { lateMs: 5250, rooms: 300, roomsCarried: 26 },
      { lateMs: 65_250, rooms: 300, roomsCarried: 26 },
    ]);
  });
});

describe("the gate", () => {
  it("ranks recorded rooms before watched before lingering ones, and busy before quiet ones", () => {
    const watched = { isRecorded: false, isWatched: true, isQuiet: false };
    const order = [
      { ...watched, isRecorded: true },
      { ...watched, isRecorded: true, isQuiet: true },
      watched,
      { ...watched, isQuiet: true },
      { ...watched, isWatched: false },
      { ...watched, isWatched: false, isQuiet: true },
    ].map(priorityMs);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => b - a),
    );
    assert.equal(new Set(order).size, order.length);
  });

  it("keeps the spacing, the concurrency and every caller's answer under any load", async () => {
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
});
