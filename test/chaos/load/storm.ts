/**
 * Everybody comes back at once: all viewers of a busy room lose their connection and resume within a second,
 * each from its own cursor, while the chat continues and two other rooms are being watched. With `restart` it
 * is the service that goes, by `kill -9`, and the viewers return to an empty tail.
 */
import { type Gauges, reportCosts } from "./gauges.ts";
import { HealthyViewers, judgeClients } from "./healthy.ts";
import type { Report } from "./report.ts";
import type { LoadOptions, Stage } from "./stage.ts";

/**
 * Maximum distance of the viewers' cursors behind their last messages; a room's tail holds the newest 500.
 */
const MAX_LAG = 1000;
const HISTORY = 1500;
const POLL_MS = 1000;
const HEALTHY_EACH = 50;
const SPOKEN_PER_SECOND = 10;
const RETURN_MS = 1000;
const PATIENCE_MS = 60_000;
/** Messages in one read of the store. */
const PAGE_MESSAGES = 100;
const TAIL_MESSAGES = 500;

export async function storm(
  stage: Stage,
  report: Report,
  { viewers, places, restart }: LoadOptions,
): Promise<void> {
  const lags = Array.from({ length: places }, (_, i) => Math.floor((i * MAX_LAG) / places));
  const clients = stage.clients();
  const room = await stage.room("storm-video", POLL_MS, clients, { viewers: 1 });
  const healthy = await HealthyViewers.open(stage, report, HEALTHY_EACH, "calm-video1", "calm-video2");
  await room.fill(HISTORY);
  const { service } = stage;
  await clients.tell("open", {
    service: service.url,
    videoId: room.videoId,
    viewers,
    withinMs: viewers / 2,
  });
  report.times("first calls to init, ms", await clients.tell("openings"));
  const traffic = room.speak(SPOKEN_PER_SECOND);
  await healthy.before();
  await clients.tell("reached", room.videoId, room.head(), PATIENCE_MS);

  const bootstraps = stage.bootstraps;
  const before = restart ? undefined : await stage.gauges();
  const from = performance.now();
  if (restart) {
    service.signal("SIGKILL");
    await service.exited;
    report.figure("from the start until it listens, ms", await service.start());
  } else await clients.tell("cut");
  const healthyBack = restart ? healthy.comeBack(service.url, RETURN_MS) : undefined;
  await clients.tell("comeBack", { service: service.url, withinMs: RETURN_MS, lags });
  report.times("calls to init, ms", await clients.tell("openings"));
  const lacking = await clients.tell("reached", room.videoId, room.head(), PATIENCE_MS);
  report.figure("from the cut until all have what they missed, ms", performance.now() - from);
  report.promise(lacking === 0, `${lacking} viewers never had what they missed`);
  await healthyBack;
  if (!restart) await healthy.during();
  const after = await stage.gauges();

  traffic.stop();
  await healthy.judge();
  await judgeClients("viewers", clients, [room], report);
  // A kill may take with it the answer to a token that is spent: then a new page has to be asked for.
  const maxBootstraps = restart ? 1 + healthy.rooms.length : 0;
  report.figure("bootstraps", stage.bootstraps - bootstraps);
  report.promise(stage.bootstraps - bootstraps <= maxBootstraps, "a room was bootstrapped again");
  reportCosts(before, after, report);
  judgeReads(before, after, (viewers * pagesNeeded(lags, restart)) / places, report);
}

function judgeReads(before: Gauges | undefined, after: Gauges, pagesNeeded: number, report: Report): void {
  const pageReads = after.pageReads - (before?.pageReads ?? 0);
  report.figure("store reads without sharing, at most", pagesNeeded);
  report.promise(
    pageReads <= pagesNeeded,
    "the store was read more often than if each viewer had read for itself",
  );
}

/**
 * What one viewer at each place would read at most if nothing were shared: the first page may be a part of
 * one, and so may the last. After a restart the tail is empty.
 */
function pagesNeeded(lags: readonly number[], restart: boolean): number {
  const below = lags.map((lag) => (restart ? lag : lag - TAIL_MESSAGES)).filter((messages) => messages > 0);
  return below.reduce((sum, messages) => sum + Math.ceil(messages / PAGE_MESSAGES) + 1, 0);
}
