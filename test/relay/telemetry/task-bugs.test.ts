/** Bugs in the loops that run in the background: they are logged with their stack, and the loop goes on. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { Random } from "../../../simulator/random.ts";
import { CHAT_EVENT_FORMS } from "../../../src/multiplex/chat-events.ts";
import { Multiplex } from "../../../src/multiplex/multiplex.ts";
import type { ChannelWatchParts } from "../../../src/rooms/channels/channel-watch.ts";
import { ChannelWatch } from "../../../src/rooms/channels/channel-watch.ts";
import { OpeningTimeout } from "../../../src/rooms/opening-timeout.ts";
import type { OwnedRoomParts } from "../../../src/rooms/owned-room.ts";
import { Recordings } from "../../../src/rooms/recordings/recordings.ts";
import { RoomExchange } from "../../../src/rooms/room-exchange.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { Followers } from "../../../src/store/follow.ts";
import type { Ownership } from "../../../src/store/ownership.ts";
import { ClusterWatch } from "../../../src/store/postgres/cluster-watch.ts";
import { DatabaseClock } from "../../../src/store/postgres/database-clock.ts";
import { PostgresOwnership } from "../../../src/store/postgres/leases.ts";
import type { Database } from "../../../src/store/postgres/pools.ts";
import { ViewerCounts } from "../../../src/store/postgres/viewer-counts.ts";
import { runRetention } from "../../../src/store/retention.ts";
import { runTally } from "../../../src/store/tallier.ts";
import { background } from "../../../src/telemetry/background.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import type { RoomEgress } from "../../../src/upstream/egress/room-egress.ts";
import { metricOf } from "../../harness/metric.ts";
import { Scheduler } from "../../harness/scheduler.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { recorderOf } from "../../support/recorder-parts.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "some-video1";
const BUG = new TypeError("a bug");
const SECONDS = 1000;
const MINUTES = 60 * SECONDS;
const HOURS = 60 * MINUTES;
const DAYS_OF_8_S = 8 / 86_400;

interface Round {
  relay: VirtualRelay;
  telemetry: VirtualRelay["telemetry"];
  /** Call it in each round of the loop: throws while the loop has a bug, and returns the value afterwards. */
  step<T>(value: T): T;
  /** Aborts when the loop should end. */
  signal: AbortSignal;
}

/** By the name of the task in the log: begins the loop. `everyMs`: its longest wait. */
const LOOPS: Record<string, { begin(round: Round): unknown; everyMs?: number }> = {
  "rounds of the rooms": {
    begin: async ({ relay, step, signal }) => {
      relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
      await relay.enter({ videoId: VIDEO });
      const entry = relay.rooms.entryOf(VIDEO) ?? assert.fail();
      Object.defineProperty(entry, "isVacant", { get: () => step(false) });
      signal.addEventListener("abort", () => void relay.rooms.stop());
    },
  },
  "adoption of rooms": {
    begin: ({ relay, telemetry, step, signal }) => {
      const orphans = async function* (): AsyncGenerator<readonly string[]> {
        for (;;) {
          yield step([]);
          await relay.clock.sleep(700, signal);
        }
      };
      startExchange(relay, telemetry, { orphans, oneTooMany: async () => undefined }, signal);
    },
  },
  "handing on of rooms": {
    begin: ({ relay, telemetry, step, signal }) => {
      const orphans = async function* (): AsyncGenerator<never> {};
      startExchange(relay, telemetry, { orphans, oneTooMany: async () => step(undefined) }, signal);
    },
  },
  "limit of an opening": {
    begin: ({ relay, telemetry, step, signal }) => {
      const ownership = { wantedElsewhere: async () => step([]) } as unknown as Ownership;
      const parts = { clock: relay.clock, egresses: relay.egresses, telemetry };
      const limit = new OpeningTimeout([VIDEO], { unreachedMs: MINUTES } as RoomEgress, ownership, parts);
      signal.addEventListener("abort", () => limit[Symbol.dispose]());
    },
  },
  retention: {
    begin: ({ relay, telemetry, step, signal }) => {
      const { clock, egresses } = relay;
      const store = { age: async () => ({ now: 0, oldestAt: 0 }), prune: async () => step(0) };
      void runRetention(store, DAYS_OF_8_S, egresses.witness, clock, telemetry, signal);
    },
  },
  totals: {
    begin: ({ relay, telemetry, step, signal }) => {
      const store = { tally: async () => 0, tallyRooms: async () => step(undefined) };
      void runTally(store, relay.clock, telemetry, signal);
    },
    everyMs: 10 * MINUTES,
  },
  "watch of the other instances": {
    begin: ({ relay, telemetry, step, signal }) => {
      const watch = new ClusterWatch({
        ...postgresParts(relay, telemetry, async () => []),
        leaseMs: 6000,
        isSynchronous: true,
        isReceiving: () => step(true),
      });
      signal.addEventListener("abort", () => watch.close());
    },
  },
  "counts of viewers": {
    begin: ({ relay, telemetry, step, signal }) => {
      const { health, connections, clock } = postgresParts(relay, telemetry, async () => step([]));
      const parts = { instance: "one", graceMs: 3000, connections, health, clock, telemetry };
      const counts = new ViewerCounts(parts);
      counts.setViewers(VIDEO, 1);
      signal.addEventListener("abort", () => void counts.close());
    },
  },
  "renewal of the leases": {
    begin: async ({ relay, telemetry, step, signal }) => {
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
  },
  "list of recordings": {
    begin: ({ relay, telemetry, step, signal }) => {
      const recordings = { runRecordings: async () => step([]) };
      const parts = { ...recorderOf(relay), telemetry, store: { ...relay.store, recordings } };
      new Recordings([], parts as unknown as ReturnType<typeof recorderOf>, signal).start({
        isListRun: true,
      });
    },
  },
  "watch of @somebody": {
    begin: ({ relay, telemetry, step, signal }) => {
      const settings = {
        get channelMs() {
          return step(5000);
        },
      };
      const egresses = { call: async () => Promise.reject(new Error("no look")) };
      const { openings } = relay.rooms;
      const parts = { egresses, openings, clock: relay.clock, telemetry, settings };
      new ChannelWatch("@somebody", "", parts as unknown as ChannelWatchParts, signal).join();
    },
  },
  "keepalives of a connection": {
    begin: ({ relay, telemetry, step, signal }) => {
      const line = new Multiplex(new SimulatedSink(FORMS.sse.plain.bare, () => {}), "sse");
      const branch = line.branch(CHAT_EVENT_FORMS.sse.plain, () => {});
      const keepalive = () => step(undefined);
      branch.attach({ keepalive, isReading: false, endAt() {}, drained() {}, closed() {} });
      void line.keepOpen({ clock: relay.clock, telemetry, keepaliveMs: 5000 });
      signal.addEventListener("abort", () => line.closed());
    },
  },
};

function startExchange(
  { rooms, clock, egresses, config }: VirtualRelay,
  telemetry: VirtualRelay["telemetry"],
  ownership: Partial<Ownership>,
  signal: AbortSignal,
): void {
  const settings = config.rooms;
  const parts = { clock, egresses, telemetry, settings, store: { ownership } } as unknown as OwnedRoomParts;
  new RoomExchange(rooms, parts, signal).start();
}

/** What the parts of a PostgreSQL store need; `query` answers all statements. */
function postgresParts(
  { clock, store }: VirtualRelay,
  telemetry: VirtualRelay["telemetry"],
  query: (pool: unknown) => Promise<unknown[]>,
) {
  const connections = { query, lostAt: Number.NEGATIVE_INFINITY } as unknown as Database;
  return { clock, telemetry, connections, health: store.health, followers: new Followers(clock) };
}

for (const [task, { begin, everyMs = 20 * SECONDS }] of Object.entries(LOOPS)) {
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
    await relay.advance(3 * everyMs);
    const failed = shown();
    assert.ok(failed.length >= 2, `${failed.length} bugs shown`);
    for (const line of failed) assert.deepEqual([line.task, line.level], [task, 50]);
    for (const [i, at] of rounds.slice(1).entries())
      assert.ok(at - (rounds[i] ?? 0) >= 1000, `a round at ${at} after ${rounds[i]}`);
    const faults = rounds.length;
    assert.equal(await relay.metric("relay_task_faults_total"), faults);
    isBroken = false;
    await relay.advance(3 * everyMs);
    assert.ok(rounds.length >= faults + 2, "it goes on");
    assert.equal(shown().length, failed.length);
    stopped.abort();
    await relay.advance(everyMs);
    const { length } = rounds;
    await relay.advance(3 * everyMs);
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
