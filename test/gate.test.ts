import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { Gate, type GateSettings, type Lane } from "../src/upstream/egress/gate.ts";
import { UpstreamError } from "../src/upstream/errors.ts";
import { FakeClock } from "./support/fake-clock.ts";

const SETTINGS: GateSettings = { spacingMs: 250, concurrency: 4, cooldownMs: 30_000 };

interface Wish {
  key?: string;
  kind?: string;
  lane?: Lane;
  dueAt?: number;
  intervalMs?: number;
  maxCooldownMs?: number;
  signal?: AbortSignal;
  /** How long the call takes. */
  takesMs?: number;
  fails?: UpstreamError;
}

function bench(settings: Partial<GateSettings> = {}, telemetry = new Telemetry(silentLog)) {
  const clock = new FakeClock();
  const gate = new Gate({ ...SETTINGS, ...settings }, clock, telemetry);
  const starts: { name: string; at: number }[] = [];
  let inFlight = 0;
  let peak = 0;
  let aborted = 0;
  const call = (name: string, wish: Wish = {}) => {
    const { takesMs = 10, fails, ...turn } = wish;
    return gate.call({
      key: name,
      kind: "poll",
      lane: "poll",
      dueAt: clock.monotonic(),
      maxCooldownMs: Number.POSITIVE_INFINITY,
      signal: new AbortController().signal,
      ...turn,
      run: async (signal) => {
        starts.push({ name, at: clock.monotonic() });
        inFlight += 1;
        peak = Math.max(peak, inFlight);
        try {
          await clock.sleep(takesMs, signal);
        } catch (error) {
          aborted += 1;
          throw error;
        } finally {
          inFlight -= 1;
        }
        if (fails) throw fails;
        return name;
      },
    });
  };
  return { clock, gate, call, starts, peak: () => peak, aborted: () => aborted };
}

const throttled = (retryAfterMs?: number) => new UpstreamError("throttled", "slow down", { retryAfterMs });
const isThrottled = (error: unknown) => error instanceof UpstreamError && error.fault === "throttled";

describe("upstream request spacing: at least 250 ms apart", () => {
  it("starts calls that come at once 250 ms apart", async () => {
    const { clock, call, starts } = bench();
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
    const { clock, call, starts } = bench();
    await Promise.all([call("a"), clock.advance(400)]);
    await Promise.all([call("b"), clock.advance(10)]);
    assert.deepEqual(starts.at(-1), { name: "b", at: 400 });
  });
});

describe("upstream concurrency: at most 4 at once", () => {
  it("keeps the fifth waiting until one of four has ended", async () => {
    const { clock, call, starts, peak } = bench();
    const done = Promise.all([..."abcdefgh"].map((name) => call(name, { takesMs: 5000 })));
    await clock.advance(20_000);
    await done;
    assert.equal(peak(), 4);
    assert.equal(starts[4]?.at, 5000);
  });
});

describe("identical in-flight upstream requests: collapsed into one call", () => {
  it("answers all who asked for the same with one call", async () => {
    const { clock, call, starts } = bench();
    const done = Promise.all([call("same"), call("same"), call("same")]);
    await clock.advance(100);
    assert.deepEqual(await done, ["same", "same", "same"]);
    assert.equal(starts.length, 1);
  });

  it("joins a call that already runs, and makes a new one after it", async () => {
    const { clock, call, starts } = bench();
    const first = call("same", { takesMs: 100 });
    await clock.advance(50);
    const second = call("same");
    await clock.advance(1000);
    await Promise.all([first, second]);
    assert.equal(starts.length, 1);
    await Promise.all([call("same"), clock.advance(100)]);
    assert.equal(starts.length, 2);
  });

  it("is a new call when it is asked for again in the moment that the first is answered, or has failed", async () => {
    const { clock, call, starts } = bench();
    const again = call("same").then(() => call("same"));
    const failed = call("other", { fails: new UpstreamError("unusable", "no") }).catch(() => call("other"));
    await clock.advance(2000);
    assert.deepEqual(await Promise.all([again, failed]), ["same", "other"]);
    assert.equal(starts.length, 4);
  });

  it("goes on for the others when one who asked gives up, and stops when all have", async () => {
    const { clock, call, aborted } = bench();
    const impatient = new AbortController();
    const alone = new AbortController();
    const left = call("same", { takesMs: 1000, signal: impatient.signal });
    const stays = call("same");
    const other = call("other", { takesMs: 1000, signal: alone.signal });
    const outcomes = Promise.allSettled([left, stays, other]);
    await clock.advance(500);
    impatient.abort();
    alone.abort();
    await clock.advance(1000);
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ["rejected", "fulfilled", "rejected"],
    );
    assert.equal(aborted(), 1);
  });

  it("never starts a call that everybody left while it waited", async () => {
    const { clock, call, starts } = bench();
    const gone = new AbortController();
    const first = call("first");
    const second = call("second", { signal: gone.signal });
    gone.abort();
    await assert.rejects(second);
    await clock.advance(1000);
    await first;
    assert.deepEqual(
      starts.map(({ name }) => name),
      ["first"],
    );
  });
});

describe("upstream throttling: every room pauses", () => {
  it("starts nothing for the cooldown after a throttling answer, then goes on by itself", async () => {
    const { clock, gate, call, starts } = bench();
    const hit = assert.rejects(call("hit", { fails: throttled() }), isThrottled);
    const waits = call("waits");
    await clock.advance(29_000);
    await hit;
    assert.equal(starts.length, 1);
    assert.equal(gate.cooldownLeftMs, 1010);
    await clock.advance(1010);
    assert.equal(await Promise.race([waits, clock.advance(100)]), "waits");
    assert.equal(starts[1]?.at, 30_010);
  });

  it("lets Retry-After win, shorter or longer", async () => {
    for (const retryAfterMs of [2000, 120_000]) {
      const { clock, gate, call } = bench();
      const hit = assert.rejects(call("hit", { fails: throttled(retryAfterMs) }));
      await clock.advance(10);
      await hit;
      assert.equal(gate.cooldownLeftMs, retryAfterMs);
    }
  });

  it("doubles while it goes on, to ten minutes at most, and begins anew after a success", async () => {
    const { clock, gate, call } = bench();
    const pauses: number[] = [];
    const hit = async () => {
      const rejected = assert.rejects(call("hit", { fails: throttled() }), isThrottled);
      await clock.advance(gate.cooldownLeftMs + 10);
      await rejected;
      pauses.push(gate.cooldownLeftMs / 1000);
    };
    for (let i = 0; i < 7; i++) await hit();
    await clock.advance(600_000);
    await Promise.all([call("fine"), clock.advance(1000)]);
    await hit();
    assert.deepEqual(pauses, [30, 60, 120, 240, 480, 600, 600, 30]);
  });

  it("takes the throttling of calls that were in flight together for one", async () => {
    const { clock, gate, call } = bench();
    const hits = Promise.allSettled(
      [..."abcd"].map((name) => call(name, { takesMs: 2000, fails: throttled() })),
    );
    await clock.advance(5000);
    await hits;
    assert.equal(gate.cooldownLeftMs, 27_000);
  });

  it("does not take another kind's success for the end of the throttling", async () => {
    const { clock, gate, call } = bench();
    const hit = async () => {
      const rejected = assert.rejects(call("hit", { fails: throttled() }));
      await clock.advance(gate.cooldownLeftMs + 10);
      await rejected;
    };
    await hit();
    await clock.advance(30_000);
    await Promise.all([call("page", { kind: "/watch" }), clock.advance(1000)]);
    await hit();
    assert.equal(gate.cooldownLeftMs, 60_000);
  });

  it("refuses, at once and while they wait, callers that will not sit it out", async () => {
    const { clock, call } = bench();
    const hit = assert.rejects(call("hit", { fails: throttled() }));
    const queued = assert.rejects(call("queued", { maxCooldownMs: 0 }), isThrottled);
    await clock.advance(10);
    await Promise.all([hit, queued]);
    await assert.rejects(call("late", { maxCooldownMs: 0 }), (error: UpstreamError) => {
      return isThrottled(error) && error.retryAfterMs === 30_000;
    });
  });
});

describe("a call that sits out so long a cooldown and no longer", () => {
  it("waits for a shorter one, and is refused by a longer one, also while it waits", async () => {
    const { clock, call } = bench();
    const short = assert.rejects(call("short", { fails: throttled(50_000) }));
    await clock.advance(10);
    await short;
    const patient = call("patient", { maxCooldownMs: 60_000, dueAt: -1 });
    const waits = assert.rejects(call("waits", { maxCooldownMs: 60_000, dueAt: 1 }), isThrottled);
    const long = assert.rejects(call("long", { fails: throttled(70_000), dueAt: 0 }));
    await clock.advance(51_000);
    assert.equal(await patient, "patient");
    await Promise.all([long, waits]);
  });
});

describe("fairness", () => {
  it("starts the call that is due first, whenever it was asked for", async () => {
    const { clock, call, starts } = bench();
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

  it("lets a caller's calls through between hundreds of polls that are overdue", async () => {
    const { clock, call, starts } = bench();
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

  it("does not let callers starve polls", async () => {
    const { clock, call, starts } = bench();
    const all = Promise.all([
      ...Array.from({ length: 100 }, (_, i) => call(`caller ${i}`, { lane: "caller", dueAt: -1000 })),
      call("poll", { dueAt: 5 }),
    ]);
    await clock.advance(1000);
    assert.ok(starts.some(({ name }) => name === "poll"));
    await clock.advance(100_000);
    await all;
  });

  it("starves no room when there are more than the spacing can serve", async () => {
    const { clock, call, starts } = bench();
    const stop = new AbortController();
    const loop = async (name: string) => {
      while (!stop.signal.aborted) await call(name, { intervalMs: 1000 }).then(() => clock.sleep(1000));
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
    const warnings: { lateMs: number; roomsCarried: number }[] = [];
    class Listening extends Telemetry {
      override pollsLate(lateMs: number, roomsCarried: number): void {
        warnings.push({ lateMs, roomsCarried });
      }
    }
    const { clock, call } = bench({}, new Listening(silentLog));
    const done = Promise.all(Array.from({ length: 300 }, (_, i) => call(`room ${i}`, { intervalMs: 5000 })));
    await clock.advance(76_000);
    await done;
    assert.deepEqual(warnings, [
      { lateMs: 5250, roomsCarried: 20 },
      { lateMs: 65_250, roomsCarried: 20 },
    ]);
  });
});

it("keeps spacing, concurrency and every caller's answer under any load", async () => {
  const load = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 3000 }),
      takesMs: fc.integer({ min: 0, max: 2000 }),
      key: fc.integer({ min: 0, max: 12 }),
      lane: fc.constantFrom<Lane>("poll", "caller"),
      dueAt: fc.integer({ min: 0, max: 3000 }),
    }),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(load, fc.integer({ min: 1, max: 5 }), async (calls, concurrency) => {
      const { clock, call, starts, peak } = bench({ concurrency });
      const answers = calls.map(async ({ at, key, ...wish }) => {
        await clock.sleep(at);
        assert.equal(await call(`call ${key}`, wish), `call ${key}`);
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
