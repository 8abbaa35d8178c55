/**
 * Hours of the real service at a moderate load, judged from outside: viewers lose nothing, and nothing grows.
 *
 *     npm run chaos -- soak [--minutes 120] [--rooms 20] [--viewers 500] [--seed 1]
 */
import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Failure } from "../../simulator/faults.ts";
import { commandLine, numberOf } from "./command-line.ts";
import { Report } from "./report.ts";
import { SoakWorld } from "./soak-world.ts";
import { type Bound, grows, type Sample, trendOf } from "./trend.ts";
import { Verdict } from "./verdict.ts";

/** In a shorter run caches still fill in the second quarter: growth is shown, and not judged. */
const MIN_JUDGED_MINUTES = 30;
const SAMPLE_MS = 10_000;
/** After one sample in so many all garbage is collected. */
const COLLECT_EVERY = 3;
/** One sample in so many is printed. */
const PRINT_EVERY = 30;
const MAX_EVENT_PAUSE_MS = 6000;
/** How long the metrics are waited for. */
const PATIENCE_MS = 30_000;
const MB = 2 ** 20;

/** Nobody is away for so long that messages behind its cursor are deleted. */
const MAX_AWAY_MS = 20_000;
const MAX_SLOW_MS = 15_000;
const FAILURES: readonly Failure[] = [{ status: 500 }, { status: 403 }, "reset", "lost", "truncated", "html"];

/** What can happen, and how often among all. */
const EVENTS: Record<string, [weight: number, play: (world: SoakWorld) => unknown]> = {
  "connections dropped": [5, (world) => world.each(0.05, MAX_AWAY_MS, ({ client }, ms) => client.drop(ms))],
  stalls: [4, (world) => world.each(0.04, MAX_SLOW_MS, ({ client }, ms) => client.stall(ms))],
  trickles: [1, (world) => world.each(0.02, MAX_SLOW_MS, ({ client }, ms) => client.trickle(ms))],
  "viewers come and go": [4, (world) => world.exchange(0.03)],
  "callers that behave badly": [1, (world) => world.churn()],
  bursts: [3, (world) => world.passingRoom().truth.chat.say(20 + world.random.below(60))],
  "refused tokens": [3, (world) => world.anyRoom().truth.chat.expireTokens()],
  "failed calls": [4, (world) => world.fail("get_live_chat", 1 + world.random.below(3), FAILURES)],
  throttling: [1, (world) => world.fail("get_live_chat", 1, [{ status: 429 }])],
  walls: [1, (world) => world.wall()],
  "restarts of the upstream": [1, (world) => world.restartUpstream()],
  "chats that end": [3, (world) => world.endRoom()],
  "rooms left for good": [2, (world) => world.leaveRoom(world.passingRoom())],
  "rooms left for a while": [1, (world) => world.desert()],
};
const BAG = Object.entries(EVENTS).flatMap(([name, [weight]]) => Array<string>(weight).fill(name));

interface Gauge {
  read(value: (name: string, labels?: string) => number, world: SoakWorld): number;
  /** By how much it may grow; what has none is shown, and not judged. */
  bound?: Bound;
  /** Read when all garbage was collected. */
  isCollected?: true;
}

/** The bounds are above what gauges that do not grow have been seen to differ by from quarter to quarter. */
const GAUGES: Record<string, Gauge> = {
  "heap after GC, MB": {
    read: (value) => value("nodejs_heap_size_used_bytes") / MB,
    bound: { share: 0.05, allowance: 2 },
    isCollected: true,
  },
  "external memory after GC, MB": {
    read: (value) => value("nodejs_external_memory_bytes") / MB,
    bound: { share: 0.1, allowance: 5 },
    isCollected: true,
  },
  "resident memory, MB": {
    read: (value) => value("process_resident_memory_bytes") / MB,
    bound: { share: 0.1, allowance: 10 },
  },
  "open files": { read: (value) => value("process_open_fds"), bound: { share: 0.03, allowance: 10 } },
  timers: {
    read: (value) => value("nodejs_active_resources", '{type="Timeout"}'),
    bound: { share: 0.03, allowance: 10 },
  },
  "store and WAL, MB": {
    read: (_, { storePath }) => (statSync(storePath).size + statSync(`${storePath}-wal`).size) / MB,
    bound: { share: 0.1, allowance: 1 },
  },
  // What else the machine does delays the loop, too.
  "loop delay p99, ms": { read: (value) => value("nodejs_eventloop_lag_p99_seconds") * 1000 },
  "loop delay max, ms": { read: (value) => value("nodejs_eventloop_lag_max_seconds") * 1000 },
  viewers: { read: (value) => value("relay_viewers") },
};

const { values } = commandLine({
  options: {
    minutes: { type: "string", default: "120" },
    rooms: { type: "string", default: "20" },
    viewers: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
  },
});
const minutes = numberOf("minutes", values.minutes, 3);
const rooms = numberOf("rooms", values.rooms, 3);
const viewers = numberOf("viewers", values.viewers, 3);
const seed = numberOf("seed", values.seed, 0);

const verdict = new Verdict();
const report = new Report();
const samples = Object.keys(GAUGES).map((name): [string, Sample[]] => [name, []]);
await soak();
for (const violation of verdict.violations) report.promise(false, violation);
say([report]);
process.exit(report.isGood ? 0 : 1);

async function soak(): Promise<void> {
  await using world = await SoakWorld.open(seed, verdict);
  await world.fill(rooms, viewers);
  const from = performance.now();
  const minute = () => (performance.now() - from) / 60_000;
  const cpu = process.cpuUsage();
  const serviceCpu = await serviceCpuSeconds(world);
  try {
    await Promise.all([playing(world, minute), sampling(world, minute)]);
  } catch (error) {
    verdict.violate("run", error instanceof Error ? (error.stack ?? error.message) : String(error));
    say(world.service.lastLines.slice(-30));
    return;
  }
  const { user, system } = process.cpuUsage(cpu);
  const shares = [(await serviceCpuSeconds(world)) - serviceCpu, (user + system) / 1e6].map((seconds) =>
    Math.round((100 * seconds) / (60 * minute())),
  );
  await world.end();
  for (const [what, count] of [...verdict.counts].toSorted()) report.figure(what, count);
  report.figure("CPU, % of a core: service / all else", shares.join(" / "));
  judgeGrowth();
}

async function playing(world: SoakWorld, minute: () => number): Promise<void> {
  while (minute() < minutes) {
    const name = world.random.pick(BAG);
    verdict.note(name);
    verdict.count(name);
    await EVENTS[name]?.[1](world);
    world.judge();
    await pause(world.random.below(MAX_EVENT_PAUSE_MS));
  }
}

/** Rejects where the service does not answer. */
async function sampling(world: SoakWorld, minute: () => number): Promise<void> {
  const { service } = world;
  let told = 0;
  for (let count = 1; minute() < minutes; count++) {
    await pause(SAMPLE_MS);
    await take(false);
    if (count % COLLECT_EVERY === 0) {
      await world.collectGarbage();
      await take(true); // it also takes the collection out of the next delays of the loop
    }
    const fresh = verdict.violations.slice(told);
    if (fresh.length > 0) say([...fresh.map((what) => `VIOLATION ${what}`), ...verdict.log]);
    told += fresh.length;
    const latest = samples.map(([name, taken]) => `${name} ${taken.at(-1)?.value.toFixed(1)}`);
    if (count % PRINT_EVERY === 0) say([`minute ${Math.round(minute())}: ${latest.join("; ")}`]);
  }

  async function take(isCollected: boolean): Promise<void> {
    const value = await readMetrics(service.url);
    for (const [name, taken] of samples) {
      const gauge = GAUGES[name];
      if (gauge && (gauge.isCollected ?? false) === isCollected)
        taken.push({ minute: minute(), value: gauge.read(value, world) });
    }
  }
}

function judgeGrowth(): void {
  report.figure("", "min / median / max / per hour / median of the second quarter / of the last");
  for (const [name, taken] of samples) {
    const trend = trendOf(taken, minutes);
    const { min, median, max, perHour, second, last } = trend;
    report.figure(
      name,
      [min, median, max, perHour, second, last].map((figure) => figure.toFixed(1)).join(" / "),
    );
    const bound = GAUGES[name]?.bound;
    if (bound && minutes >= MIN_JUDGED_MINUTES)
      report.promise(
        !grows(trend, bound),
        `${name} grew from ${second.toFixed(1)} to ${last.toFixed(1)} between the second and the last quarter`,
      );
  }
}

/** Its metrics, by name. Rejects if it does not answer; the reader throws if it lacks one. */
async function readMetrics(service: string): Promise<(name: string, labels?: string) => number> {
  const request = { headers: { connection: "close" }, signal: AbortSignal.timeout(PATIENCE_MS) };
  const text = await (await fetch(`${service}/metrics`, request)).text();
  const lines = new Map(text.split("\n").map((line) => [line.split(" ")[0], line.split(" ")[1]]));
  return (name, labels = "") => {
    if (!text.includes(`# TYPE ${name} `)) throw new Error(`the service does not report ${name}`);
    return Number(lines.get(name + labels) ?? 0); // with a label there is no line before it happens
  };
}

async function serviceCpuSeconds({ service }: SoakWorld): Promise<number> {
  return (await readMetrics(service.url))("process_cpu_seconds_total");
}

function say(lines: readonly unknown[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
