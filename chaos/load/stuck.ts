/**
 * Viewers that ask for a long history and take nothing of it, beside healthy ones in the same room. Each costs the
 * service a bounded amount of memory for a bounded time, and nobody else anything.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Gauges } from "./gauges.ts";
import { judgeCrowd, judgeDelays } from "./judge.ts";
import type { LoadOptions } from "./main.ts";
import type { Report } from "./report.ts";
import type { Stage } from "./stage.ts";

const HEALTHY = 200;
/** Enough that what is left to send does not fit into the kernel's buffers. */
const HISTORY = 20_000;
/** From so many places do they read, so that neither what they are sent nor what is read for them is shared. */
const PLACES = 5000;
const POLL_MS = 100;
const SPOKEN_PER_SECOND = 10;
const BEFORE_MS = 5000;
const LOOK_MS = 250;
/** A viewer is cut when it has taken nothing for this long. */
const STALL_MS = 30_000;
/** From the last one's coming until all are cut: they take what the kernel's buffers hold before they stall. */
const ALL_CUT_MS = 45_000;
const PATIENCE_MS = 120_000;
const MOST_BYTES_EACH = 200e3;

export async function stuck(
  stage: Stage,
  report: Report,
  { viewers }: Pick<LoadOptions, "viewers">,
): Promise<void> {
  const healthy = stage.crowd();
  const stuckOnes = stage.crowd();
  const room = await stage.room("stuck-video", POLL_MS, healthy, { viewers: HEALTHY, details: true });
  await room.fill(HISTORY);
  const speech = room.speak(SPOKEN_PER_SECOND);
  await healthy.tell("reached", room.videoId, room.head(), PATIENCE_MS);
  await healthy.tell("deliveries");
  await pause(BEFORE_MS);
  report.times("healthy viewers' delay before, ms", await healthy.tell("deliveries"));

  const before = await stage.gauges();
  const comingAt = performance.now();
  const opening = { service: stage.service.url, videoId: room.videoId, withinMs: viewers };
  const lastEventIds = Array.from({ length: PLACES }, (_, i) => room.base + i);
  await stuckOnes.tell("open", { ...opening, viewers, lastEventIds, stuck: true });
  const thereAt = performance.now();
  const looks = await untilCut(stage, viewers);
  const during = await healthy.tell("deliveries");
  await pause(BEFORE_MS);
  const siege = { viewers, before, comingAt, thereAt, looks, after: await stage.gauges() };
  speech.stop();
  await judgeCrowd("healthy viewers", healthy, [room], report);
  report.times("healthy viewers' delay during, ms", during);
  judgeDelays("healthy viewers", during, report);
  judgeCuts(siege, report);
  judgeCosts(siege, report);
}

interface Look {
  at: number;
  gauges: Gauges;
}

interface Siege {
  viewers: number;
  before: Gauges;
  /** When the first one came, and when the last one had come, on the clock of the looks. */
  comingAt: number;
  thereAt: number;
  /** Until all were cut. */
  looks: readonly Look[];
  after: Gauges;
}

function judgeCuts({ viewers, before, comingAt, thereAt, looks, after }: Siege, report: Report): void {
  const cut = after.viewersDropped - before.viewersDropped;
  const firstMs = (looks.find(({ gauges }) => gauges.viewersDropped > 0)?.at ?? Number.NaN) - comingAt;
  const lastMs = (looks.at(-1)?.at ?? Number.NaN) - thereAt;
  report.figure("viewers cut", cut);
  report.figure("from the first one's coming until the first is cut, ms", firstMs);
  report.figure("from the last one's coming until all are cut, ms", lastMs);
  report.promise(cut === viewers, `${viewers - cut} stuck viewers were not cut`);
  report.promise(firstMs >= STALL_MS, "a viewer was cut before its time");
  report.promise(lastMs <= ALL_CUT_MS, "a stuck viewer was cut late");
}

function judgeCosts({ viewers, before, looks, after }: Siege, report: Report): void {
  const most = (name: keyof Gauges) => Math.max(...looks.map(({ gauges }) => gauges[name]));
  const megabytes = (name: keyof Gauges) =>
    [before[name], most(name), after[name]].map((bytes) => Math.round(bytes / 1e6)).join(" / ");
  const eachBytes = (most("rssBytes") - before.rssBytes) / viewers;
  report.figure("longest delay of the service's event loop, ms", most("loopLagMs"));
  report.figure("service's CPU, s", after.cpuSeconds - before.cpuSeconds);
  report.figure("store reads", after.pageReads - before.pageReads);
  report.figure("memory before / with / after, MB", megabytes("rssBytes"));
  report.figure("memory for each, KB", eachBytes / 1000);
  report.figure("kernel's, both ends, MB", megabytes("tcpBytes"));
  report.promise(eachBytes <= MOST_BYTES_EACH, `a stuck viewer costs ${Math.round(eachBytes / 1000)} KB`);
  const isKept = after.tcpBytes > most("tcpBytes") / 2;
  report.promise(!isKept, "the system still holds what cut viewers did not take");
}

/** Looks at the service until so many viewers are cut, or for as long as that may take. */
async function untilCut(stage: Stage, viewers: number): Promise<Look[]> {
  const looks: Look[] = [];
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until && (looks.at(-1)?.gauges.viewersDropped ?? 0) < viewers) {
    looks.push({ at: performance.now(), gauges: await stage.gauges() });
    await pause(LOOK_MS);
  }
  return looks;
}
