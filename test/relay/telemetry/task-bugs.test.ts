/** Bugs in the loops that run in the background: they are logged with their stack, and the loop goes on. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { Random } from "../../../simulator/random.ts";
import { Recordings } from "../../../src/rooms/recordings/recordings.ts";
import { Followers } from "../../../src/store/follow.ts";
import { ClusterWatch } from "../../../src/store/postgres/cluster-watch.ts";
import { DatabaseClock } from "../../../src/store/postgres/database-clock.ts";
import { PostgresOwnership } from "../../../src/store/postgres/leases.ts";
import type { Database } from "../../../src/store/postgres/pools.ts";
import { ViewerCounts } from "../../../src/store/postgres/viewer-counts.ts";
import { runRetention } from "../../../src/store/retention.ts";
import { background } from "../../../src/telemetry/background.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { metricOf } from "../../harness/metric.ts";
import { Scheduler } from "../../harness/scheduler.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { recorderOf } from "../../support/recorder-parts.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "some-video1";
const BUG = new TypeError("a bug");
const SECONDS = 1000;
const MINUTES = 60 * SECONDS;
const HOURS = 60 * MINUTES;
const DAYS_OF_8_S = 8 / 86_400;
const LONGEST_WAIT_MS = 20 * SECONDS;

interface Round {
  relay: VirtualRelay;
  telemetry: VirtualRelay["telemetry"];
  /** Call it in each round of the loop: throws while the loop has a bug, and returns the value afterwards. */
  step<T>(value: T): T;
  /** Aborts when the loop should end. */
  signal: AbortSignal;
}

/** By the name of the task in the log: begins the loop. `background` runs all others, too. */
const LOOPS: Record<string, (round: Round) => unknown> = {
  "rounds of the rooms": async ({ relay, step, signal }) => {
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    await relay.enter({ videoId: VIDEO });
    const entry = relay.rooms.entryOf(VIDEO) ?? assert.fail();
    Object.defineProperty(entry, "isVacant", { get: () => step(false) });
    signal.addEventListener("abort", () => void relay.rooms.stop());
  },
  retention: ({ relay, telemetry, step, signal }) => {
    const { clock, egresses } = relay;
    const store = { age: async () => ({ now: 0, oldestAt: 0 }), prune: async () => step(0) };
    void runRetention(store, DAYS_OF_8_S, egresses.witness, clock, telemetry, signal);
  },
  "renewal of the leases": async ({ relay, telemetry, step, signal }) => {
    const taken = { is_same: true, epoch: 1, now: 0, checkpoint: null, head: 0 };
    const renewed = { video_id: VIDEO, now: 0 };
    const query = async (pool: unknown) => (pool === "leases" ? step([renewed]) : [taken]);
    const parts = postgresParts(relay, telemetry, query);
    const viewerCounts = new ViewerCounts({ ...parts, instance: "one", graceMs: 3000 });
    const watch = new ClusterWatch({
      ...parts,
      leaseMs: 6000,
      isSynchronous: true,
      isReceiving: () => true,
    });
    const ownership = new PostgresOwnership({
      ...parts,
      instance: "one",
      leaseMs: 6000,
      viewerCounts,
      watch,
      databaseClock: new DatabaseClock(relay.clock),
      publish: () => {},
    });
    await ownership.take(VIDEO);
    signal.addEventListener("abort", () => void ownership.close());
  },
  "list of recordings": ({ relay, telemetry, step, signal }) => {
    const recordings = { runRecordings: async () => step([]) };
    const parts = { ...recorderOf(relay), telemetry, store: { ...relay.store, recordings } };
    new Recordings([], parts as unknown as ReturnType<typeof recorderOf>, signal).start({
      isListRun: true,
    });
  },
};

/** What the parts of a PostgreSQL store need; `query` answers all statements. */
function postgresParts(
  { clock, store }: VirtualRelay,
  telemetry: VirtualRelay["telemetry"],
  query: (pool: unknown) => Promise<unknown[]>,
) {
  const connections = { query, lostAt: Number.NEGATIVE_INFINITY } as unknown as Database;
  return { clock, telemetry, connections, health: store.health, followers: new Followers(clock) };
}

for (const [task, begin] of Object.entries(LOOPS)) {
  it(`a bug in the ${task} is logged and counted, and the loop goes on until its end`, async () => {
    const relay = new VirtualRelay();
    const { clock, telemetry } = relay;
    const stopped = new AbortController();
    const rounds: number[] = [];
    let isBroken = true;
    const step = <T>(value: T): T => {
      rounds.push(clock.monotonic());
      if (isBroken) throw BUG;
      return value;
    };
    const shown = () =>
      relay.log.filter(({ err }) => (err as { stack?: string })?.stack?.startsWith("TypeError: a bug\n"));
    await begin({ relay, telemetry, step, signal: stopped.signal });
    await relay.advance(3 * LONGEST_WAIT_MS);
    const failed = shown();
    assert.ok(failed.length >= 2, `${failed.length} bugs shown`);
    for (const line of failed) assert.deepEqual([line.task, line.level], [task, 50]);
    for (const [i, at] of rounds.slice(1).entries())
      assert.ok(at - (rounds[i] ?? 0) >= 1000, `a round at ${at} after ${rounds[i]}`);
    const faults = rounds.length;
    assert.equal(await relay.metric("relay_task_faults_total"), faults);
    isBroken = false;
    await relay.advance(3 * LONGEST_WAIT_MS);
    assert.ok(rounds.length >= faults + 2, "it goes on");
    assert.equal(shown().length, failed.length);
    stopped.abort();
    await relay.advance(LONGEST_WAIT_MS);
    const { length } = rounds;
    await relay.advance(3 * LONGEST_WAIT_MS);
    assert.equal(rounds.length, length, "it has ended");
  });
}

it("a lasting bug is logged at growing intervals with the number of failures", async () => {
  const clock = new Scheduler(new Random(1, "time"));
  const written: string[] = [];
  const telemetry = new Telemetry(pino({}, { write: (line) => written.push(line) }));
  const stopped = new AbortController();
  let works = false;
  const loop = async () => {
    if (!works) throw BUG;
    await clock.sleep(2 * HOURS, stopped.signal);
    throw BUG;
  };
  const begunAt = clock.monotonic();
  const running = background("a task", { clock, telemetry }, stopped.signal, loop);
  const lines = (): number[] => written.map((line) => JSON.parse(line).failures);
  await clock.advance(11 * SECONDS);
  assert.deepEqual(lines(), [1, 10]);
  await clock.advance(2 * MINUTES);
  assert.deepEqual(lines(), [1, 10, 20, 40]);
  await clock.advance(4 * HOURS);
  const hourly = lines().at(-1);
  assert.equal(hourly, 3600);
  assert.ok(lines().length < 20, `${lines().length} lines`);
  const faults = await metricOf(telemetry, "relay_task_faults_total");
  assert.equal(faults, Math.floor((clock.monotonic() - begunAt) / SECONDS) + 1);
  works = true;
  const { length } = lines();
  await clock.advance(5 * HOURS);
  assert.equal(lines().length, length + 2, "each failure after a long time without any");
  stopped.abort();
  await running;
});

it("a bug in the rounds of one room leaves those of the other rooms as they are", async () => {
  const relay = new VirtualRelay();
  for (const videoId of [VIDEO, OTHER]) relay.upstream.chat(videoId, { kinds: ["text"] }).say(1);
  await relay.enter({ videoId: VIDEO });
  const other = await relay.enter({ videoId: OTHER });
  const room = relay.rooms.entryOf(VIDEO)?.room ?? assert.fail();
  room.tick = async () => {
    throw BUG;
  };
  const before = other.sink.written;
  await relay.advance(2 * relay.config.rooms.keepaliveMs);
  assert.ok(other.sink.written > before, "its keepalives");
  const tasks = relay.log.filter(({ err }) => err).map((line) => line.task);
  assert.deepEqual(new Set(tasks), new Set([`rounds of room ${VIDEO}`]));
});
