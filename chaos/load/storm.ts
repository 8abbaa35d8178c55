/**
 * Everybody comes back at once: all viewers of a busy room lose their connection and resume within a second, each
 * from its own cursor, while the chat goes on and two other rooms are being watched. With `restart` it is the
 * service that goes, by `kill -9`, and the viewers return to an empty tail.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Gauges } from "./gauges.ts";
import { judgeCrowd, judgeDelays } from "./judge.ts";
import type { LoadOptions } from "./main.ts";
import type { Report } from "./report.ts";
import type { Stage } from "./stage.ts";

/** How far behind what they have seen the viewers' cursors lie at most; a room's tail holds the newest 500. */
const MOST_LAG = 1000;
const HISTORY = 1500;
/** Of the room that the storm hits, and of the two beside it, whose delays are measured. */
const STORM_POLL_MS = 1000;
const CALM_POLL_MS = 100;
const CALM_VIEWERS = 50;
const SPOKEN_PER_SECOND = 10;
const BEFORE_MS = 5000;
const RETURN_MS = 1000;
const PATIENCE_MS = 60_000;
/** Messages in one read of the store. */
const PAGE_MESSAGES = 100;
const TAIL_MESSAGES = 500;

export async function storm(
  stage: Stage,
  report: Report,
  { viewers, places, restart }: Pick<LoadOptions, "viewers" | "places" | "restart">,
): Promise<void> {
  const lags = Array.from({ length: places }, (_, i) => Math.floor((i * MOST_LAG) / places));
  const calm = stage.crowd();
  const crowd = stage.crowd();
  const room = await stage.room("storm-video", STORM_POLL_MS, crowd, { viewers: 1 });
  const others = await Promise.all(
    ["calm-video1", "calm-video2"].map((videoId) =>
      stage.room(videoId, CALM_POLL_MS, calm, { viewers: CALM_VIEWERS, details: true }),
    ),
  );
  await room.fill(HISTORY);
  const came = { service: stage.service.url, videoId: room.videoId, viewers, withinMs: viewers / 2 };
  await crowd.tell("open", came);
  report.times("first calls to init, ms", await crowd.tell("openings"));
  const speeches = [room, ...others].map((spoken) => spoken.speak(SPOKEN_PER_SECOND));

  await calm.tell("deliveries");
  await pause(BEFORE_MS);
  report.times("others' delay before, ms", await calm.tell("deliveries"));
  await crowd.tell("reached", room.videoId, room.head(), PATIENCE_MS);

  const bootstraps = stage.bootstraps;
  const before = await stage.gauges();
  const from = performance.now();
  if (restart) await killAndRestart(stage, report);
  else await crowd.tell("cut");
  const back = { service: stage.service.url, withinMs: RETURN_MS };
  const calmBack = restart ? calm.tell("comeBack", back) : undefined;
  await crowd.tell("comeBack", { ...back, lags });
  report.times("calls to init, ms", await crowd.tell("openings"));
  const short = await crowd.tell("reached", room.videoId, room.head(), PATIENCE_MS);
  report.figure("from the cut until all have what they missed, ms", performance.now() - from);
  await calmBack;
  const delays = await calm.tell("deliveries");
  report.times("others' delay during, ms", delays);
  const after = await stage.gauges();

  for (const speech of speeches) speech.stop();
  await judgeCrowd("other rooms' viewers", calm, others, report);
  await judgeCrowd("viewers", crowd, [room], report);
  report.promise(short === 0, `${short} viewers never had what they missed`);
  // A kill may take with it the answer to a token that is spent: then a new page has to be asked for.
  const most = restart ? 1 + others.length : 0;
  report.figure("bootstraps", stage.bootstraps - bootstraps);
  report.promise(stage.bootstraps - bootstraps <= most, "a room was bootstrapped again");
  const needed = (viewers * pagesNeeded(lags, restart)) / places;
  reportCosts(restart ? undefined : before, after, needed, report);
  if (!restart) judgeDelays("other rooms' viewers", delays, report);
}

/** What it cost a service that has run since `before`, or since its start. */
function reportCosts(before: Gauges | undefined, after: Gauges, pagesNeeded: number, report: Report): void {
  const pageReads = after.pageReads - (before?.pageReads ?? 0);
  report.figure("store reads", pageReads);
  report.figure("store reads without sharing, at most", pagesNeeded);
  report.figure("service's CPU, s", after.cpuSeconds - (before?.cpuSeconds ?? 0));
  report.figure("longest delay of its event loop, ms", after.loopLagMs);
  report.promise(
    pageReads <= pagesNeeded,
    "the store was read more often than if each viewer had read for itself",
  );
}

/** The service dies without warning and begins anew on the same store. */
async function killAndRestart(stage: Stage, report: Report): Promise<void> {
  const { service } = stage;
  service.signal("SIGKILL");
  await service.exited;
  report.figure("from the start until it listens, ms", await service.start());
}

/**
 * What one viewer at each place would read at most if nothing were shared: the first page may be a part of one, and so
 * may the last. After a restart the tail is empty.
 */
function pagesNeeded(lags: readonly number[], restart: boolean): number {
  const below = lags.map((lag) => (restart ? lag : lag - TAIL_MESSAGES)).filter((messages) => messages > 0);
  return below.reduce((sum, messages) => sum + Math.ceil(messages / PAGE_MESSAGES) + 1, 0);
}
