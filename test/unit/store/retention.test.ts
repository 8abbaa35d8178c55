/** Messages older than the retention are deleted: when, and that their disk space is reused. */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { describe, it } from "node:test";
import { ClockWitness } from "../../../src/base/clock-witness.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import type { Retention } from "../../../src/store/port.ts";
import { LONGEST_ROUND_MS, runRetention, SHORTEST_ROUND_MS } from "../../../src/store/retention.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { whenever } from "../../harness/whenever.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { messages, own, readAll } from "../../support/store-reading.ts";
import {
  BORN_MS,
  OTHER,
  observe,
  openFor,
  ROOM,
  temporaryFile,
  wallAt,
} from "../../support/store-subject.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * The retention of a store in memory, on a clock that the test owns, beside an upstream whose clock is right
 * and that was heard at the start; `rounds` is when it looked, `told` what the log says of its witness.
 */
function running(days: number, isHeard = true) {
  const clock = new FakeClock();
  const telemetry = new Telemetry(silentLog);
  const store = observe(memoryStore(clock), clock, telemetry);
  const stop = new AbortController();
  const rounds: number[] = [];
  const told: (number | undefined)[] = [];
  whenever(telemetry.store, "unwitnessed", (_now, aheadMs) => told.push(aheadMs));
  const watched: Retention = {
    age: () => store.age(),
    prune: (keptMs, limit, now) => {
      rounds.push(clock.monotonic());
      return store.prune(keptMs, limit, now);
    },
  };
  const witness = new ClockWitness(clock);
  const hear = () => witness.hear(clock.now());
  if (isHeard) hear();
  const over = runRetention(watched, days, witness, clock, telemetry, stop.signal);
  const dispose = () => {
    stop.abort();
    return over;
  };
  /** Time passes while the upstream is heard every hour. */
  const pass = async (ms: number) => {
    for (let leftMs = ms; leftMs > 0; leftMs -= HOUR_MS) {
      await clock.advance(Math.min(HOUR_MS, leftMs));
      hear();
    }
  };
  return { clock, store, telemetry, rounds, told, hear, pass, over, [Symbol.asyncDispose]: dispose };
}

describe("the retention's rounds", () => {
  const rows: [retentionMs: number, roundMs: number][] = [
    [30 * DAY_MS, LONGEST_ROUND_MS],
    [4 * HOUR_MS, LONGEST_ROUND_MS],
    [HOUR_MS, HOUR_MS / 4],
    [8000, 2000],
    [1000, SHORTEST_ROUND_MS],
    [1, SHORTEST_ROUND_MS],
  ];
  for (const [retentionMs, roundMs] of rows) {
    it(`of ${retentionMs} ms come every ${roundMs} ms, and delete nothing younger`, async () => {
      await using retention = running(retentionMs / DAY_MS);
      const { clock, store, rounds } = retention;
      await clock.advance(10);
      const claim = await own(store, ROOM);
      await store.append(claim, claim.head, messages(["a", "b"]), "");
      await retention.pass(retentionMs);
      assert.equal((await readAll(store, ROOM)).length, 2);
      const before = rounds.length;
      await clock.advance(roundMs * 1.2);
      assert.ok(rounds.length > before);
      assert.deepEqual(await readAll(store, ROOM), []);
      const [first = 0, second = 0] = rounds.slice(-2);
      assert.ok(second - first >= roundMs && second - first < roundMs * 1.2, `${second - first} ms`);
    });
  }

  it("take many steps, with pauses, if there is much to delete", async () => {
    await using retention = running(1);
    const { store, rounds } = retention;
    const claim = await own(store, ROOM);
    const many = messages([...Array(3500).keys()]);
    await store.append(claim, claim.head, many, "");
    await retention.pass(DAY_MS + 2 * HOUR_MS);
    assert.deepEqual(await readAll(store, ROOM), []);
    const steps = rounds.filter((at) => at >= DAY_MS).slice(0, 4);
    assert.equal(new Set(steps).size, 4);
    assert.ok((steps[3] ?? 0) - (steps[0] ?? 0) < 1000);
  });

  for (const [name, jumpMs] of [
    ["forty days", 40 * DAY_MS],
    ["ten years", 3652 * DAY_MS],
  ] as const) {
    it(`delete nothing while the clock is ${name} ahead of the upstream's, and say so once`, async () => {
      await using retention = running(30);
      const { clock, store, told } = retention;
      await clock.advance(1);
      const claim = await own(store, ROOM);
      await store.append(claim, claim.head, messages(["a"]), "");
      clock.jump(jumpMs);
      await clock.advance(23 * HOUR_MS);
      assert.equal((await readAll(store, ROOM)).length, 1);
      assert.equal(told.length, 1);
      assert.ok(Math.abs((told[0] ?? 0) - jumpMs) < HOUR_MS);
      clock.jump(-jumpMs);
      await clock.advance(23 * HOUR_MS);
      assert.equal((await readAll(store, ROOM)).length, 1);
    });
  }

  it("delete nothing without a witness, say so once, and go on after an upstream is heard", async () => {
    await using retention = running(1, false);
    const { clock, store, told, hear } = retention;
    await clock.advance(1);
    const claim = await own(store, ROOM);
    await store.append(claim, claim.head, messages(["a"]), "");
    await clock.advance(3 * DAY_MS);
    assert.equal((await readAll(store, ROOM)).length, 1);
    assert.deepEqual(told, [undefined]);
    hear();
    await clock.advance(HOUR_MS + 100);
    assert.deepEqual(await readAll(store, ROOM), []);
    assert.equal(told.length, 1);
  });

  it("believe what the upstream said for a day", async () => {
    await using retention = running(1);
    const { clock, store } = retention;
    await clock.advance(1);
    const claim = await own(store, ROOM);
    await store.append(claim, claim.head, messages(["a"]), "");
    await clock.advance(DAY_MS + 2 * HOUR_MS);
    assert.equal((await readAll(store, ROOM)).length, 1);
  });

  it("continue after a round in which the store failed", async () => {
    await using retention = running(1);
    const { clock, store, telemetry, rounds } = retention;
    await clock.advance(HOUR_MS / 2);
    await store.close();
    await clock.advance(3 * HOUR_MS);
    assert.equal(rounds.length, 1);
    assert.match(await telemetry.registry.metrics(), /^relay_store_failures_total\{kind="age"\} 3$/m);
  });

  it("also come with a retention of 0, and then delete no message", async () => {
    await using retention = running(0);
    const { clock, store, rounds } = retention;
    const claim = await own(store, ROOM);
    const added = await store.append(claim, claim.head, messages(["a"]), "");
    await store.finish(claim, ENDED);
    await clock.advance(40 * DAY_MS);
    assert.ok(rounds.length > 1, `${rounds.length} rounds`);
    assert.deepEqual(await readAll(store, ROOM), added);
  });
});

it("a room of a process that did not finish it goes with its last message, unless it is read again", async (t) => {
  const url = `sqlite:${await temporaryFile(t)}`;
  const wall = wallAt(BORN_MS);
  const killed = await openFor(t, url, wall);
  for (const name of [ROOM, OTHER]) {
    const hold = await own(killed, name);
    await killed.append(hold, hold.head, messages([1, 2, 3]), "");
  }
  await killed.close();
  wall.nowMs += DAY_MS;
  const store = await openFor(t, url, wall);
  await own(store, OTHER);
  assert.equal(await store.prune(DAY_MS / 2, 2), 2);
  assert.equal(await store.prune(DAY_MS / 2, 100), 4);
  const rooms = await store.listRooms(10);
  assert.deepEqual(
    rooms.map(({ key, floor, head }) => [key, head - floor]),
    [[OTHER, 0]],
  );
});

it("a store file that is written and pruned again and again reuses its pages and does not grow", async (t) => {
  const path = await temporaryFile(t);
  const wall = wallAt(BORN_MS);
  const sizes: number[] = [];
  for (let day = 0; day < 4; day++) {
    wall.nowMs += DAY_MS;
    const store = await openFor(t, `sqlite:${path}`, wall);
    const names = ["always-open", `${day} ended`, `${day} ended too`];
    const claims = await Promise.all(names.map((name) => own(store, name)));
    const heads = claims.map(({ head }) => head);
    for (let n = 0; n < 4; n++) {
      const batch = messages(Array.from({ length: 250 }, (_, i) => `${day} ${n} ${i} ${"x".repeat(100)}`));
      for (const [r, claim] of claims.entries()) {
        const head = heads[r] ?? 0;
        heads[r] = head + (await store.append(claim, head, batch, "")).length;
      }
    }
    for (const claim of claims.slice(1)) await store.finish(claim, ENDED);
    while ((await store.prune(DAY_MS / 2, 500)) === 500);
    await store.close();
    sizes.push((await stat(path)).size);
  }
  // From the second day on, one day is written before the other is forgotten.
  const [, second = 0] = sizes;
  for (const size of sizes) assert.ok(size <= second * 1.1, `sizes of ${sizes} bytes`);
});
