/**
 * Viewers that come and go without end, some of them badly, beside healthy ones, which shall not notice. Afterwards
 * nothing of them is left: no viewer, no open file, no memory.
 */
import { setTimeout as pause } from "node:timers/promises";
import { judgeCrowd, judgeDelays } from "./judge.ts";
import type { LoadOptions } from "./main.ts";
import type { Report } from "./report.ts";
import type { Stage } from "./stage.ts";

const HEALTHY = 100;
const POLL_MS = 100;
const SPOKEN_PER_SECOND = 10;
const BEFORE_MS = 5000;
/** The first part fills caches and pools: what the second one adds to memory is lost, or waits for its collection. */
const WARM_UP_MS = 10_000;
const CHURN_MS = 20_000;
/** How long the service may take to notice that everybody is gone; a request half sent may live for 15 s. */
const CLEARING_MS = 20_000;
const MOST_LOST_BYTES = 100e6;

export async function churn(
  stage: Stage,
  report: Report,
  { viewers }: Pick<LoadOptions, "viewers">,
): Promise<void> {
  const { service } = stage;
  const healthy = stage.crowd();
  const restless = stage.crowd();
  const room = await stage.room("churn-video", POLL_MS, healthy, { viewers: HEALTHY, details: true });
  const speech = room.speak(SPOKEN_PER_SECOND);
  await pause(BEFORE_MS);
  report.times("healthy viewers' delay before, ms", await healthy.tell("deliveries"));

  const before = await stage.gauges();
  const churning = { service: service.url, videoId: room.videoId, viewers };
  await restless.tell("comeAndGo", { ...churning, forMs: WARM_UP_MS });
  const warm = await clearing(stage, before.openFiles);
  await healthy.tell("deliveries");
  const calls = await restless.tell("comeAndGo", { ...churning, forMs: CHURN_MS });
  const during = await healthy.tell("deliveries");
  const after = await clearing(stage, before.openFiles);
  speech.stop();
  await judgeCrowd("healthy viewers", healthy, [room], report);

  for (const [manner, count] of Object.entries(calls)) report.figure(`calls: ${manner}`, count);
  report.times("healthy viewers' delay during, ms", during);
  report.figure("longest delay of the service's event loop, ms", after.loopLagMs);
  report.figure("service's CPU, s", after.cpuSeconds - warm.cpuSeconds);
  report.figure("viewers before / after", `${before.viewers} / ${after.viewers}`);
  report.figure("open files before / after", `${before.openFiles} / ${after.openFiles}`);
  const rss = [before, warm, after].map(({ rssBytes }) => Math.round(rssBytes / 1e6));
  report.figure("memory before / warm / after, MB", rss.join(" / "));
  judgeDelays("healthy viewers", during, report);
  report.promise(
    after.viewers === HEALTHY,
    `${after.viewers - HEALTHY} viewers that are gone are still counted`,
  );
  report.promise(
    after.openFiles <= before.openFiles,
    `${after.openFiles - before.openFiles} files were left open`,
  );
  const lost = after.rssBytes - warm.rssBytes;
  report.promise(lost <= MOST_LOST_BYTES, `${Math.round(lost / 1e6)} MB of memory were not given back`);
}

/** Waits until as few files are open as before, or for as long as that may take; resolves to the gauges then. */
async function clearing(stage: Stage, openFiles: number) {
  const until = performance.now() + CLEARING_MS;
  for (;;) {
    const gauges = await stage.gauges();
    if (gauges.openFiles <= openFiles || performance.now() > until) return gauges;
    await pause(500);
  }
}
