/**
 * Hours of the real service at a moderate load, judged from outside: viewers lose nothing, and nothing grows.
 *
 *     npm run chaos -- soak [--minutes 120] [--rooms 20] [--viewers 500] [--seed 1]
 */
import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { commandLine, numberOf } from "./command-line.ts";
import type { Gap } from "./room-truth.ts";
import { end } from "./run.ts";
import { EVENTS, GRACE_MS, HABITS, SoakChats, type SoakWorld } from "./soak-events.ts";
import { judgeGaps } from "./store-judge.ts";
import { type Bound, grows, type Sample, trendOf } from "./trend.ts";
import { Verdict } from "./verdict.ts";
import { World } from "./world.ts";

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

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const LIMITS = { spacingMs: 50, concurrency: 4, cooldownMs: 1000, pollMinMs: 500 };
const KEPT_MINUTES = 5;
const SETTINGS = {
  /** Collects all garbage at SIGUSR2: what is left is in use. */
  NODE_OPTIONS: "--expose-gc --import=data:text/javascript,process.on(%22SIGUSR2%22,()=>gc())",
  RELAY_GRACE_MS: String(GRACE_MS),
  RELAY_RETENTION_DAYS: (KEPT_MINUTES / 1440).toFixed(9),
};
const COLLECTION_MS = 500;
const SETTLE_MS = 60_000;

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
    read: (_, { disk: { path } }) => (statSync(path).size + statSync(`${path}-wal`).size) / MB,
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

const verdict = new Verdict({ goesOn: true });
/** For people to read. */
const figures: [name: string, value: number | string][] = [];
const judgedGaps = new Set<Gap>();
const samples = Object.keys(GAUGES).map((name): [string, Sample[]] => [name, []]);
await soak();
const { violations } = verdict;
const width = Math.max(0, ...figures.map(([{ length }]) => length));
say(figures.map(([name, value]) => `${name.padEnd(width)}  ${value}`));
say(["", ...(violations.length > 0 ? violations.map((what) => `BROKEN: ${what}`) : ["all promises kept"])]);
process.exit(violations.length > 0 ? 1 : 0);

async function soak(): Promise<void> {
  const options = { projectDir: PROJECT, limits: LIMITS, settings: SETTINGS, isInjected: false };
  await using world = await World.create(
    { ...options, seed, habits: HABITS, settleMs: SETTLE_MS },
    verdict,
    (upstream) => new SoakChats(upstream, rooms),
  );
  await world.start();
  for (const room of world.rooms)
    for (let i = 0; i < Math.floor(viewers / rooms); i++) await world.arrive(room);
  const from = performance.now();
  const minute = () => (performance.now() - from) / 60_000;
  const cpu = process.cpuUsage();
  const serviceCpu = await serviceCpuSeconds(world);
  try {
    await Promise.all([playing(world, minute), sampling(world, minute)]);
  } catch (error) {
    verdict.violate("run", inspect(error));
    say(world.service.lastLines.slice(-30));
    return;
  }
  const { user, system } = process.cpuUsage(cpu);
  const shares = [(await serviceCpuSeconds(world)) - serviceCpu, (user + system) / 1e6].map((seconds) =>
    Math.round((100 * seconds) / (60 * minute())),
  );
  await endSoak(world);
  figures.push(...[...verdict.counts].toSorted());
  figures.push(["CPU, % of a core: service / all else", shares.join(" / ")]);
  judgeGrowth();
}

async function endSoak(world: SoakWorld): Promise<void> {
  await world.calm();
  const lost = verdict.total("connections lost");
  if (lost > 0) verdict.violate("delivery", `${lost} connections were lost`);
  verdict.lives += 1; // what they lose from now on goes with the service
  await end(world, { isPruned: true });
}

async function playing(world: SoakWorld, minute: () => number): Promise<void> {
  while (minute() < minutes) {
    const name = world.random.pick(BAG);
    verdict.note(name);
    verdict.count(name);
    await EVENTS[name]?.[1](world);
    world.judge();
    judgeGaps(world.disk.path, world.rooms, world.gapJudge, verdict, judgedGaps);
    if (world.service.pid === undefined) throw new Error("the service ended by itself");
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
      service.signal("SIGUSR2"); // for which it stands still
      await pause(COLLECTION_MS);
      world.thawed();
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
  figures.push(["", "min / median / max / per hour / median of the second quarter / of the last"]);
  for (const [name, taken] of samples) {
    const trend = trendOf(taken, minutes);
    const { min, median, max, perHour, second, last } = trend;
    const all = [min, median, max, perHour, second, last];
    figures.push([name, all.map((figure) => figure.toFixed(1)).join(" / ")]);
    const bound = GAUGES[name]?.bound;
    if (bound && minutes >= MIN_JUDGED_MINUTES && grows(trend, bound))
      verdict.violate(
        "health",
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
