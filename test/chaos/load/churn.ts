/**
 * Viewers that come and go without end, some of them badly, beside healthy ones. Afterwards nothing of them
 * is left: no viewer, no open file, no memory.
 */
import { setTimeout as pause } from "node:timers/promises";
import { reportCosts } from "./gauges.ts";
import { HealthyViewers } from "./healthy.ts";
import type { Report } from "./report.ts";
import type { LoadOptions, Stage } from "./stage.ts";

const HEALTHY = 100;
/**
 * The first part fills caches and pools: what the second one adds to memory is lost, or waits for its
 * collection.
 */
const WARM_UP_MS = 10_000;
const CHURN_MS = 20_000;
/** How long the service may take to notice that everybody is gone; a request half sent may live for 15 s. */
const CLEARING_MS = 20_000;
const MAX_LOST_BYTES = 100e6;

export async function churn(stage: Stage, report: Report, { viewers }: LoadOptions): Promise<void> {
  const healthy = await HealthyViewers.open(stage, report, HEALTHY, "churn-video");
  const clients = stage.clients();
  await healthy.before();
  const before = await stage.gauges();
  const options = { service: stage.service.url, videoId: "churn-video", viewers };
  await clients.tell("comeAndGo", { ...options, forMs: WARM_UP_MS });
  const warm = await clearing(stage, before.openFiles);
  await healthy.forget();
  const calls = await clients.tell("comeAndGo", { ...options, forMs: CHURN_MS });
  await healthy.during();
  const after = await clearing(stage, before.openFiles);
  await healthy.judge();

  for (const [behaviour, count] of Object.entries(calls)) report.figure(`calls: ${behaviour}`, count);
  reportCosts(warm, after, report);
  report.figure("viewers before / after", `${before.viewers} / ${after.viewers}`);
  report.figure("open files before / after", `${before.openFiles} / ${after.openFiles}`);
  const rss = [before, warm, after].map(({ rssBytes }) => Math.round(rssBytes / 1e6));
  report.figure("memory before / warm / after, MB", rss.join(" / "));
  const [counted, files] = [after.viewers - HEALTHY, after.openFiles - before.openFiles];
  report.promise(counted === 0, `${counted} viewers that are gone are still counted`);
  report.promise(files <= 0, `${files} files were left open`);
  const lost = after.rssBytes - warm.rssBytes;
  report.promise(lost <= MAX_LOST_BYTES, `${Math.round(lost / 1e6)} MB of memory were not given back`);
}

/**
 * Waits until as few files are open as before, or for as long as that may take; resolves to the gauges then.
 */
async function clearing(stage: Stage, openFiles: number) {
  const until = performance.now() + CLEARING_MS;
  for (;;) {
    const gauges = await stage.gauges();
    if (gauges.openFiles <= openFiles || performance.now() > until) return gauges;
    await pause(500);
  }
}
