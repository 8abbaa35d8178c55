/** What an address does while it is throttled: what pauses, for how long, and who does not sit it out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UpstreamError } from "../../../../src/upstream/upstream-error.ts";
import type { FakeClock } from "../../../support/fake-clock.ts";
import { gateBench } from "../../../support/gate-bench.ts";

const throttled = (retryAfterMs?: number) => new UpstreamError("throttled", "slow down", { retryAfterMs });
const isThrottled = (error: unknown) => error instanceof UpstreamError && error.fault === "throttled";

describe("upstream throttling: every room pauses", () => {
  it("starts nothing during the cooldown after a throttled answer, and then continues by itself", async () => {
    const { clock, gate, call, starts } = gateBench();
    const hit = assert.rejects(call("hit", { fails: throttled() }), isThrottled);
    const waits = call("waits");
    await clock.advance(29_000);
    await hit;
    assert.equal(starts.length, 1);
    assert.equal(gate.cooldownLeftMs(), 1010);
    await clock.advance(1010);
    assert.equal(await Promise.race([waits, clock.advance(100)]), "waits");
    assert.equal(starts[1]?.at, 30_010);
  });

  it("lasts as long as Retry-After says, shorter or longer", async () => {
    for (const retryAfterMs of [2000, 120_000]) {
      const { clock, gate, call } = gateBench();
      const hit = assert.rejects(call("hit", { fails: throttled(retryAfterMs) }));
      await clock.advance(10);
      await hit;
      assert.equal(gate.cooldownLeftMs(), retryAfterMs);
    }
  });

  it("doubles while throttling continues, to ten minutes at most, and starts over after a success", async () => {
    const { clock, gate, call } = gateBench();
    const pauses: number[] = [];
    const hit = async () => {
      const rejected = assert.rejects(call("hit", { fails: throttled() }), isThrottled);
      await clock.advance(gate.cooldownLeftMs() + 10);
      await rejected;
      pauses.push(gate.cooldownLeftMs() / 1000);
    };
    for (let i = 0; i < 7; i++) await hit();
    await clock.advance(600_000);
    await Promise.all([call("fine"), clock.advance(1000)]);
    await hit();
    assert.deepEqual(pauses, [30, 60, 120, 240, 480, 600, 600, 30]);
  });

  it("starts over after as much time without throttling as the last pause took", async () => {
    for (const [passedMs, expectedMs] of [
      [29_000, 60_000],
      [31_000, 30_000],
    ]) {
      const { clock, gate, call } = gateBench();
      const hit = async (kind: string) => {
        const rejected = assert.rejects(call("hit", { kind, fails: throttled() }));
        await clock.advance(10);
        await rejected;
      };
      await hit("/youtubei/v1/next");
      await clock.advance(30_000 + (passedMs ?? 0));
      await hit("/watch");
      assert.equal(gate.cooldownLeftMs(), expectedMs);
    }
  });

  it("counts concurrent throttled calls as one", async () => {
    const { clock, gate, call } = gateBench();
    const hits = Promise.allSettled(
      [..."abcd"].map((name) => call(name, { takesMs: 2000, fails: throttled() })),
    );
    await clock.advance(5000);
    await hits;
    assert.equal(gate.cooldownLeftMs(), 27_000);
  });

  it("does not end because another kind of call succeeds", async () => {
    const { clock, gate, call } = gateBench();
    const hit = async () => {
      const rejected = assert.rejects(call("hit", { fails: throttled() }));
      await clock.advance(gate.cooldownLeftMs() + 10);
      await rejected;
    };
    await hit();
    await clock.advance(30_000);
    await Promise.all([call("page", { kind: "/watch" }), clock.advance(1000)]);
    await hit();
    assert.equal(gate.cooldownLeftMs(), 60_000);
  });

  it("refuses callers that will not wait that long, at once and while they wait", async () => {
    const { clock, call } = gateBench();
    const hit = assert.rejects(call("hit", { fails: throttled() }));
    const queued = assert.rejects(call("queued", { maxCooldownMs: 0 }), isThrottled);
    await clock.advance(10);
    await Promise.all([hit, queued]);
    await assert.rejects(call("late", { maxCooldownMs: 0 }), (error: UpstreamError) => {
      return isThrottled(error) && error.retryAfterMs === 30_000;
    });
  });
});

describe("only pages cool down if a page was throttled", () => {
  const page = { lane: "recovery", isPage: true, kind: "/watch" } as const;
  const hit = async ({ clock, call }: ReturnType<typeof gateBench<FakeClock>>, wishes: object) => {
    const rejected = assert.rejects(call("hit", { fails: throttled(), ...wishes }), isThrottled);
    await clock.advance(10);
    await rejected;
  };

  it("holds pages, but neither polls nor calls that a caller waits for", async () => {
    const bench = gateBench();
    const { clock, gate, call, starts } = bench;
    await hit(bench, page);
    assert.deepEqual([gate.cooldownLeftMs(), gate.cooldownLeftMs(true)], [0, 30_000]);
    const waits = call("waits", { ...page, dueAt: -1 });
    const refusal = call("caller's", { lane: "caller", isPage: true, maxCooldownMs: 0 });
    await assert.rejects(refusal, (error: UpstreamError) => error.retryAfterMs === 30_000);
    await Promise.all([
      call("poll"),
      call("call", { lane: "caller", maxCooldownMs: 0 }),
      clock.advance(1000),
    ]);
    await Promise.all([waits, clock.advance(30_000)]);
    assert.deepEqual(
      starts.map(({ at }) => at),
      [0, 250, 500, 30_010],
    );
  });

  it("holds pages like everything else if another call was throttled", async () => {
    const bench = gateBench();
    const { clock, gate, call, starts } = bench;
    await hit(bench, {});
    assert.deepEqual([gate.cooldownLeftMs(), gate.cooldownLeftMs(true)], [30_000, 30_000]);
    await Promise.all([call("page", page), call("poll"), clock.advance(31_000)]);
    assert.deepEqual(
      starts.map(({ at }) => at),
      [0, 30_010, 30_260],
    );
  });

  it("doubles until that page is loaded, whatever polls are answered meanwhile", async () => {
    const bench = gateBench();
    const { clock, gate, call } = bench;
    const pauses: number[] = [];
    for (let i = 0; i < 3; i++) {
      await hit(bench, page);
      pauses.push(gate.cooldownLeftMs(true));
      await Promise.all([call("poll"), clock.advance(gate.cooldownLeftMs(true))]);
    }
    await Promise.all([call("fine", page), clock.advance(1000)]);
    await hit(bench, page);
    assert.deepEqual([...pauses, gate.cooldownLeftMs(true)], [30_000, 60_000, 120_000, 30_000]);
  });

  it("refuses only callers that wait for a page", async () => {
    const { clock, call } = gateBench();
    const first = assert.rejects(call("hit", { ...page, fails: throttled() }));
    const forPage = assert.rejects(call("page", { ...page, maxCooldownMs: 0 }), isThrottled);
    const forChat = call("chat", { lane: "caller", maxCooldownMs: 0, dueAt: 1 });
    await clock.advance(1000);
    await Promise.all([first, forPage]);
    assert.equal(await forChat, "chat");
  });
});

describe("a call that accepts a cooldown up to its limit", () => {
  it("waits for a shorter one, and is refused by a longer one, even while it waits", async () => {
    const { clock, call } = gateBench();
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
