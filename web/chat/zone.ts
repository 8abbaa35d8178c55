/**
 * Times in the reader's zone. Some live messages, such as polls, have only the time of their receipt, as a
 * clock of the service's zone; those that have both times show how far the reader's clock is ahead.
 */
import type { Details } from "../../src/protocol/kinds.ts";

const CLOCK = /^(1[0-2]|[1-9]):([0-5]\d) ([AP])M$/;
const DAY = 24 * 60;

/** In minutes; undefined before a message has shown it. */
let ahead: number | undefined;

/** Learns how far the reader's clock is ahead, if the message has both times. */
export function learnZone(timestamp: string, { publishedAt, offsetMs }: Details): void {
  const moment = new Date(typeof publishedAt === "string" ? publishedAt : "");
  const minutes = minutesOf(timestamp);
  if (minutes === undefined || offsetMs !== undefined || Number.isNaN(moment.getTime())) return;
  ahead = moment.getHours() * 60 + moment.getMinutes() - minutes;
}

/** The service's clock time as the reader's, if it is one and a message has shown how far that is ahead. */
export function inReadersZone(timestamp: string): string {
  const minutes = minutesOf(timestamp);
  if (minutes === undefined || ahead === undefined) return timestamp;
  const local = (minutes + ahead + DAY) % DAY;
  const hours = Math.floor(local / 60);
  return `${hours % 12 || 12}:${String(local % 60).padStart(2, "0")} ${hours < 12 ? "A" : "P"}M`;
}

function minutesOf(clock: string): number | undefined {
  const [, hours, minutes, half] = CLOCK.exec(clock) ?? [];
  if (half === undefined) return undefined;
  return ((Number(hours) % 12) + (half === "P" ? 12 : 0)) * 60 + Number(minutes);
}
