/** What must hold of every healthy crowd once nothing more is being said, whatever went on beside it. */
import type { CrowdProcess } from "./crowd-process.ts";
import type { Percentiles } from "./delays.ts";
import type { Report } from "./report.ts";
import type { CountedRoom } from "./stage.ts";

const PATIENCE_MS = 60_000;
/** What a healthy viewer may wait for a message: less than a browser waits before it reconnects. */
const MOST_DELAY_MS = 3000;

/** All have a stream, and on it everything that their rooms hold, each message once. */
export async function judgeCrowd(
  name: string,
  crowd: CrowdProcess,
  rooms: readonly CountedRoom[],
  report: Report,
): Promise<void> {
  for (const room of rooms) {
    const short = await crowd.tell("reached", room.videoId, room.head(), PATIENCE_MS);
    report.promise(short === 0, `${short} of the ${name} lack the end of ${room.videoId}`);
  }
  const { viewers, open, faults } = await crowd.tell("report");
  report.promise(open === viewers, `${viewers - open} of the ${name} have no stream`);
  for (const [what, count] of Object.entries(faults)) {
    report.promise(false, `${what}: ${count} times among the ${name}`);
  }
}

/** Messages come as soon as ever, as far as a viewer can tell. */
export function judgeDelays(name: string, delays: Percentiles, report: Report): void {
  report.promise(delays.count > 0, `no message came to the ${name}`);
  report.promise(delays.max <= MOST_DELAY_MS, `the ${name} waited ${delays.max} ms for a message`);
}
