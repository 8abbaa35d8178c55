/**
 * Viewers that ask for a long history and take nothing of it, beside healthy ones in the same room. Each
 * costs the service a bounded amount of memory for a bounded time, and nobody else anything.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Gauges, reportCosts } from "./gauges.ts";
import { HealthyViewers } from "./healthy.ts";
import type { Report } from "./report.ts";
import type { LoadOptions, Stage } from "./stage.ts";

const HEALTHY = 200;
/** Enough that the unsent rest does not fit into the kernel's buffers. */
const HISTORY = 20_000;
/** They read from this many places, so that they share neither frames nor reads. */
const PLACES = 5000;
const LOOK_MS = 250;
/** A viewer that has taken nothing for this long is disconnected. */
const STALL_MS = 30_000;
/**
 * Time limit from the last viewer's arrival until all are disconnected: they fill the kernel's buffers before
 * they stall.
 */
const ALL_CUT_MS = 45_000;
const PATIENCE_MS = 120_000;
/** For what cut viewers held to be given back. */
const AFTER_MS = 5000;
const MAX_BYTES_EACH = 200e3;

interface Look {
  at: number;
  gauges: Gauges;
}

export async function stuck(stage: Stage, report: Report, { viewers }: LoadOptions): Promise<void> {
  const healthy = await HealthyViewers.open(stage, report, HEALTHY, "stuck-video");
  const clients = stage.clients();
  const [room] = healthy.rooms;
  if (!room) throw new Error("the room did not open");
  await room.fill(HISTORY);
  await healthy.before();

  const before = await stage.gauges();
  const fromAt = performance.now();
  const opening = { service: stage.service.url, videoId: room.videoId, withinMs: viewers };
  const lastEventIds = Array.from({ length: PLACES }, (_, i) => room.base + i);
  await clients.tell("open", { ...opening, viewers, lastEventIds, stuck: true });
  const thereAt = performance.now();
  const looks = await untilCut(stage, viewers);
  await healthy.during();
  await pause(AFTER_MS);
  const after = await stage.gauges();
  await healthy.judge();

  const cut = after.viewersDropped - before.viewersDropped;
  const firstMs = (looks.find(({ gauges }) => gauges.viewersDropped > 0)?.at ?? Number.NaN) - fromAt;
  const lastMs = (looks.at(-1)?.at ?? Number.NaN) - thereAt;
  report.figure("viewers cut", cut);
  report.figure("from the first one's coming until the first is cut, ms", firstMs);
  report.figure("from the last one's coming until all are cut, ms", lastMs);
  report.promise(cut === viewers, `${viewers - cut} stuck viewers were not cut`);
  report.promise(firstMs >= STALL_MS, "a viewer was cut before its time");
  report.promise(lastMs <= ALL_CUT_MS, "a stuck viewer was cut late");
  judgeMemory(viewers, before, looks, after, report);
}

function judgeMemory(viewers: number, before: Gauges, looks: Look[], after: Gauges, report: Report): void {
  const max = (name: keyof Gauges) => Math.max(...looks.map(({ gauges }) => gauges[name]));
  const megabytes = (name: keyof Gauges) =>
    [before[name], max(name), after[name]].map((bytes) => Math.round(bytes / 1e6)).join(" / ");
  const eachBytes = (max("rssBytes") - before.rssBytes) / viewers;
  reportCosts(before, { ...after, loopLagMs: max("loopLagMs") }, report);
  report.figure("memory before / with / after, MB", megabytes("rssBytes"));
  report.figure("memory for each, KB", eachBytes / 1000);
  report.figure("kernel's, both ends, MB", megabytes("tcpBytes"));
  report.promise(eachBytes <= MAX_BYTES_EACH, `a stuck viewer costs ${Math.round(eachBytes / 1000)} KB`);
  const isKept = after.tcpBytes > max("tcpBytes") / 2;
  report.promise(!isKept, "the system still holds what cut viewers did not take");
}

/** Observes the service until this many viewers are disconnected, or the time limit. */
async function untilCut(stage: Stage, viewers: number): Promise<Look[]> {
  const looks: Look[] = [];
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until && (looks.at(-1)?.gauges.viewersDropped ?? 0) < viewers) {
    looks.push({ at: performance.now(), gauges: await stage.gauges() });
    await pause(LOOK_MS);
  }
  return looks;
}
