/**
 * Hours of the real service at a moderate load, judged from outside: viewers lose nothing, and nothing grows.
 *
 *     npm run soak -- [--minutes 120] [--rooms 20] [--viewers 500] [--seed 1]
 */
import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { commandLine, numberOf } from "./command-line.ts";
import { readMetrics } from "./load/gauges.ts";
import { Report } from "./load/report.ts";
import { SoakWorld } from "./soak-world.ts";
import { type Bound, grows, type Sample, trendOf } from "./trend.ts";
import { Verdict } from "./verdict.ts";

/** In a shorter run caches still fill in the second quarter: growth is shown, and not judged. */
const MIN_JUDGED_MINUTES = 30;
const SAMPLE_MS = 10_000;
/** After one sample in so many all garbage is collected. */
const COLLECT_EVERY = 3;
const COLLECTION_MS = 500;
/** One sample in so many is printed. */
const PRINT_EVERY = 30;
const MAX_EVENT_PAUSE_MS = 6000;
const MB = 2 ** 20;

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
verdict.over.addEventListener("abort", () => say(["VIOLATION", ...verdict.violations, ...verdict.log]));
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
    verdict.violate(error instanceof Error ? (error.stack ?? error.message) : String(error));
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
    await world.playOne();
    await pause(world.random.below(MAX_EVENT_PAUSE_MS));
  }
}

/** Rejects where the service does not answer. */
async function sampling(world: SoakWorld, minute: () => number): Promise<void> {
  const { service } = world;
  for (let count = 1; minute() < minutes; count++) {
    await pause(SAMPLE_MS);
    await take(false);
    if (count % COLLECT_EVERY === 0) {
      service.signal("SIGUSR2");
      await pause(COLLECTION_MS);
      await take(true); // it also takes the collection out of the next delays of the loop
    }
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

async function serviceCpuSeconds({ service }: SoakWorld): Promise<number> {
  return (await readMetrics(service.url))("process_cpu_seconds_total");
}

function say(lines: readonly unknown[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
