/** When rooms are counted: behind the appends, by questions and in rounds; in virtual time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { Random } from "../../../simulator/random.ts";
import { ClockWitness } from "../../../src/base/clock-witness.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import type { ChatKey } from "../../../src/protocol/chat-key.ts";
import { observed } from "../../../src/store/observed.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { StoreHealth } from "../../../src/store/store-health.ts";
import { encodeMessage } from "../../../src/store/stored-message.ts";
import { runTally } from "../../../src/store/tallier.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { Disk } from "../../harness/disk.ts";
import { Journal } from "../../harness/journal.ts";
import { MortalClock, Scheduler } from "../../harness/scheduler.ts";
import { onDisk } from "../../harness/storage.ts";
import { own } from "../../support/store-reading.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";
import { paid, said } from "../../support/totals-judge.ts";

const CHAT = encodeMessage(said("chat", "a"));
const chats = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({ ...CHAT, id: `c${from + n}` }));

/** A store on a simulated disk, and the times at which its steps began and ended. */
function simulated() {
  const scheduler = new Scheduler(new Random(1, "time"));
  const journal = new Journal(() => scheduler.monotonic());
  const disk = new Disk(scheduler, new Random(1, "disk"), journal);
  const clock = new MortalClock(scheduler);
  const logged: string[] = [];
  const telemetry = new Telemetry(pino({}, { write: (line) => void logged.push(JSON.parse(line).msg) }));
  const health = new StoreHealth(clock, telemetry);
  const { engine } = onDisk(disk)({ clock, telemetry, health, witness: new ClockWitness(clock) });
  const steps: { from: number; to: number }[] = [];
  /** Why no step succeeds now. */
  const refusal: { error?: Error | undefined } = {};
  /** How long a step's result is on its way. */
  const way = { ms: 0 };
  for (const name of ["tally", "tallyRooms"] as const) {
    const step = engine[name].bind(engine) as (...args: unknown[]) => Promise<never>;
    engine[name] = async (...args: unknown[]) => {
      if (refusal.error) throw refusal.error;
      const from = clock.monotonic();
      const result = await step(...args).finally(() => steps.push({ from, to: clock.monotonic() }));
      if (way.ms > 0) await clock.sleep(way.ms);
      return result;
    };
  }
  const store = observed(engine, clock, telemetry, health);
  const when = async <T>(promise: Promise<T>): Promise<T> => {
    let isSettled = false;
    const settled = () => {
      isSettled = true;
    };
    promise.then(settled, settled);
    await scheduler.until(() => isSettled, 60_000);
    return promise;
  };
  /** The number of a room's uncounted messages; asking starts no count. */
  const uncounted = (key = ROOM) => disk.tables.getAccount(0, key)?.uncounted;
  /** Stores uncounted messages. */
  const fill = (key: ChatKey, count: number) => {
    const claim = { key, epoch: 1 };
    for (let n = 0; n < count; n += 5000) {
      disk.tables.append(0, claim, 1e12 + n, chats(n, Math.min(count, n + 5000)), "", []);
    }
  };
  return { store, refusal, way, logged, disk, clock, telemetry, scheduler, when, steps, uncounted, fill };
}

test("a room is counted from time to time while messages come, and at its end", async () => {
  const { store, scheduler, when, uncounted, steps } = simulated();
  const hold = await when(own(store, ROOM));
  let { head } = hold;
  for (let n = 0; n < 1400; n += 7) {
    head += (await when(store.append(hold, head, chats(n, n + 7), ""))).length;
    await scheduler.advance(100);
    assert.ok((uncounted() ?? 0) < 520, `${uncounted()} messages are not counted`);
  }
  assert.ok(steps.length >= 2 && steps.length <= 3, `${steps.length} steps for 1400 messages`);
  await when(store.finish(hold, ENDED));
  await scheduler.advance(100);
  assert.equal(uncounted(), 0);
});

test("a request waits until all messages stored before it are counted", async () => {
  const { store, when, fill } = simulated();
  fill(ROOM, 20_000);
  const [one, two] = await when(Promise.all([store.getAccount(ROOM), store.getAccount(ROOM)]));
  assert.deepEqual([one?.totals.types, one?.uncounted], [{ chat: 20_000 }, 0]);
  assert.deepEqual(two, one);
});

test("a request gets the totals so far while many messages are uncounted", async () => {
  const { store, clock, telemetry, scheduler, when, fill, steps, uncounted } = simulated();
  fill(ROOM, 23_000);
  fill(OTHER, 10);
  const account = await when(store.getAccount(ROOM));
  assert.deepEqual([account?.totals.types, account?.uncounted, steps.length], [{}, 23_000, 0]);
  const stopped = new AbortController();
  const running = runTally(store, clock, telemetry, stopped.signal);
  await scheduler.advance(50);
  const later = await when(store.getAccount(ROOM));
  assert.equal((later?.totals.types.chat ?? 0) + (later?.uncounted ?? 0), 23_000);
  assert.ok(later?.totals.types.chat && later.uncounted > 20_000);
  await scheduler.until(() => uncounted() === 0 && uncounted(OTHER) === 0, 60_000);
  assert.ok(steps.length >= 23, `${steps.length} steps`);
  for (const [i, { from, to }] of steps.entries()) {
    const next = steps[i + 1];
    assert.ok(!next || next.from - to >= 9 * (to - from), `a step at ${next?.from} after one until ${to}`);
  }
  fill("later-room1", 10);
  await scheduler.advance(601_000);
  assert.equal(uncounted("later-room1"), 0, "the next round");
  stopped.abort();
  await when(running);
});

test("an append that blanks a message counts it first, even while an earlier count is under way", async () => {
  const { store, way, when, scheduler } = simulated();
  const hold = await when(own(store, ROOM));
  await when(store.append(hold, hold.head, chats(0, 1), ""));
  way.ms = 1000;
  const asked = store.getAccount(ROOM);
  await scheduler.advance(500);
  const [donation, blank] = [paid(5), {}].map((details) => encodeMessage(said("donation", "d", details)));
  assert.ok(donation && blank);
  await when(store.append(hold, hold.head + 1, [donation], ""));
  await when(store.append(hold, hold.head + 2, chats(1, 2), "", [blank]));
  await when(asked);
  const { totals } = (await when(store.getAccount(ROOM))) ?? {};
  assert.deepEqual(totals?.types, { chat: 2, donation: 1 });
  assert.deepEqual(totals?.paid, { EUR: { count: 1, thousandths: "5000" } });
});

test("pruning counts an uncounted room before it deletes a part of it", async () => {
  const { store, when, fill, disk } = simulated();
  fill(ROOM, 100);
  disk.tables.finish(1, { key: ROOM, epoch: 1 }, ENDED);
  assert.equal(disk.tables.prune(2, [], 0, 30), 30);
  assert.deepEqual(disk.tables.getAccount(2, ROOM)?.totals.types, { chat: 30 });
  assert.deepEqual((await when(store.getAccount(ROOM)))?.totals.types, { chat: 100 });
});

test("no step begins once the store is closed", async () => {
  const { store, scheduler, when, steps } = simulated();
  const hold = await when(own(store, ROOM));
  await when(store.append(hold, hold.head, chats(0, 3000), ""));
  await scheduler.until(() => steps.length === 1, 1000);
  await when(store.close());
  await scheduler.advance(10_000);
  assert.equal(steps.length, 1);
});

const REFUSALS: [what: string, error: Error, isStored: boolean][] = [
  ["a bug in counting", new TypeError("no totals"), true],
  ["a bug in the store's statement", new StoreError("unavailable", "no such column"), true],
  ["a full disk", new StoreError("unavailable", "full", { trouble: "the disk is full" }), false],
];
for (const [what, error, isStored] of REFUSALS)
  test(`${what} ${isStored ? "does not stop" : "stops"} an append that blanks messages`, async () => {
    const { store, refusal, logged, when, uncounted } = simulated();
    const hold = await when(own(store, ROOM));
    await when(store.append(hold, hold.head, chats(0, 3), ""));
    refusal.error = error;
    const blanking = when(store.append(hold, hold.head + 3, chats(3, 4), "", chats(0, 1)));
    if (isStored) assert.equal((await blanking).length, 1);
    else await assert.rejects(blanking, error);
    const line = "messages were not counted: totals may lack them";
    assert.equal(logged.includes(line), isStored);
    refusal.error = undefined;
    assert.deepEqual((await when(store.getAccount(ROOM)))?.totals.types, { chat: isStored ? 4 : 3 });
    assert.equal(uncounted(), 0);
  });

test("a bug in counting is logged, and rooms are counted once it is gone", async () => {
  const { store, refusal, logged, when, uncounted, scheduler } = simulated();
  const hold = await when(own(store, ROOM));
  refusal.error = new TypeError("no totals");
  await when(store.append(hold, hold.head, chats(0, 500), ""));
  await scheduler.advance(10_000);
  assert.deepEqual([logged, uncounted()], [["messages were not counted: totals may lack them"], 500]);
  refusal.error = undefined;
  await when(store.append(hold, hold.head + 500, chats(500, 1000), ""));
  await scheduler.advance(10_000);
  assert.equal(uncounted(), 0);
});
