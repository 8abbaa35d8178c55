/**
 * The service is stopped with all its viewers connected, some of which take nothing. Readiness must fail
 * first, then the streams end, spread and without an `end` frame, and every message that a viewer has seen is
 * stored after the restart.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { LoadReport } from "./load-clients.ts";
import type { LoadClientsProcess } from "./load-clients-process.ts";
import type { Report } from "./report.ts";
import type { CountedRoom, LoadOptions, Stage } from "./stage.ts";

/** Enough that the unsent rest does not fit into the kernel's buffers. */
const HISTORY = 20_000;
const POLL_MS = 1000;
const SPOKEN_PER_SECOND = 10;
/** Time until the viewers that take nothing have filled the kernel's buffers, too. */
const BEFORE_MS = 10_000;
const STOP_LIMIT_MS = 5000;
const READINESS_INTERVAL_MS = 10;
/** How long the service is waited for, whatever it has promised. */
const PATIENCE_MS = 60_000;
/** Streams that may end, and so readers that may come back, in one moment. */
const MOMENT_MS = 100;
const MAX_IN_A_MOMENT = 0.25;

export async function stop(stage: Stage, report: Report, { viewers, stuck }: LoadOptions): Promise<void> {
  const { service } = stage;
  const clients = stage.clients();
  const stuckClients = stage.clients();
  const room = await stage.room("stop-video1", POLL_MS, clients, { viewers: 1 });
  await room.fill(HISTORY);
  const coming = { service: service.url, videoId: room.videoId, withinMs: viewers / 2 };
  await stuckClients.tell("open", { ...coming, viewers: stuck, lastEventIds: [0], stuck: true });
  await clients.tell("open", { ...coming, viewers: viewers - stuck });
  const traffic = room.speak(SPOKEN_PER_SECOND);
  await pause(BEFORE_MS);

  const watched = watchReadiness(service.url);
  await pause(MOMENT_MS);
  const told = Date.now();
  service.signal("SIGTERM");
  const exit = await Promise.race([service.exited, pause(PATIENCE_MS, undefined, { ref: false })]);
  const tookMs = Date.now() - told;
  const readiness = await watched;
  await clients.tell("ended", PATIENCE_MS);
  const seen = await clients.tell("report");
  report.figure("from the signal until it is gone, ms", tookMs);
  report.promise(exit?.code === 0, `the service ended with ${JSON.stringify(exit)} instead of 0`);
  report.promise(tookMs <= STOP_LIMIT_MS, `the stop took ${tookMs} ms`);
  judgeEnds(seen, told, readiness, report);

  traffic.stop();
  if (!exit) return;
  await service.start();
  await judgeKept(room, seen.head, stage.clients(), service.url, report);
}

interface Readiness {
  /** Wall time, milliseconds since 1970, of the last answer that welcomed new viewers. */
  lastReadyAt: number;
  /** The time of the first answer that did not. */
  firstUnreadyAt: number | undefined;
}

/** What a load balancer sees: asks for readiness again and again, until nobody answers. */
async function watchReadiness(service: string): Promise<Readiness> {
  const seen: Readiness = { lastReadyAt: 0, firstUnreadyAt: undefined };
  for (;;) {
    const answer = await fetch(`${service}/readyz`).catch(() => undefined);
    if (!answer) return seen;
    if (answer.ok) seen.lastReadyAt = Date.now();
    else seen.firstUnreadyAt ??= Date.now();
    await answer.body?.cancel();
    await pause(READINESS_INTERVAL_MS);
  }
}

/** How the streams ended, and what readiness said before. */
function judgeEnds(
  { viewers, closings, faults }: LoadReport,
  told: number,
  readiness: Readiness,
  report: Report,
): void {
  const ends = closings.map(({ at }) => at - told).sort((a, b) => a - b);
  const [first = Number.NaN, last = Number.NaN] = [ends[0], ends.at(-1)];
  const median = ends[ends.length >> 1] ?? Number.NaN;
  const unreadyMs = readiness.firstUnreadyAt === undefined ? Number.NaN : readiness.firstUnreadyAt - told;
  const cut = closings.filter(({ complete }) => !complete).length;
  const crowded = ends.reduce((most, end, i) => {
    const inMoment = ends.findLastIndex((other) => other < end + MOMENT_MS) - i + 1;
    return Math.max(most, inMoment);
  }, 0);
  report.figure("from the signal until unready, ms", unreadyMs);
  report.figure(
    "streams' ends after the signal, first / median / last, ms",
    [first, median, last].join(" / "),
  );
  report.figure(`most ends, and 3 s later returns, within ${MOMENT_MS} ms`, crowded);
  report.figure("streams cut instead of ended", cut);
  report.promise(closings.length === viewers, `${viewers - closings.length} streams did not end`);
  report.promise(cut === 0, `${cut} streams were cut instead of ended`);
  report.promise(crowded <= viewers * MAX_IN_A_MOMENT, `${crowded} streams ended within ${MOMENT_MS} ms`);
  report.promise(readiness.lastReadyAt - told <= first, "viewers were welcome after streams had ended");
  report.promise(unreadyMs > 0, "it was never said that viewers are not welcome");
  report.faults(faults, "before the end");
}

/** No viewer may have seen a message that is absent after the restart. */
async function judgeKept(
  room: CountedRoom,
  seen: number,
  clients: LoadClientsProcess,
  service: string,
  report: Report,
): Promise<void> {
  await clients.tell("open", { service, videoId: room.videoId, viewers: 1, withinMs: 0, lastEventIds: [0] });
  const short = await clients.tell("reached", room.videoId, seen, PATIENCE_MS);
  const { faults, head } = await clients.tell("report");
  report.promise(short === 0, `cursor ${seen} was seen, but only ${head} is kept`);
  report.faults(faults, "after the restart");
}
