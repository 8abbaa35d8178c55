/** The messages of each minute as columns: by the clock for a live chat, by the video's time for a replay. */
import type { Activity } from "./room-figures.ts";

const MINUTE_MS = 60_000;
const MAX_LIVE = 60;
/** Maximum columns; beyond it, a column is the average of several minutes. */
const MAX_COLUMNS = 60;

/** Some minutes of the chat; nearly always one. */
export interface Column {
  /** Messages a minute. */
  count: number;
  /** Messages in all its minutes. */
  sum: number;
  /** The time at which it begins. */
  label: string;
}

/** From the first minute that has a message; the last one of a live chat is still running. */
export function columnsOf({ minutes, lastMinute }: Pick<Activity, "minutes" | "lastMinute">): Column[] {
  const isReplay = lastMinute === null;
  const counts = new Map(
    minutes.map(({ at = "", offsetMs, messages }) => [(offsetMs ?? Date.parse(at)) / MINUTE_MS, messages]),
  );
  if (counts.size === 0) return [];
  const newest = Math.max(...counts.keys());
  // The newest message may be ahead of this computer's clock, or so old that the chart would be empty.
  const now = Math.floor(Date.now() / MINUTE_MS);
  const last = isReplay || now - newest >= MAX_LIVE ? newest : Math.max(newest, now);
  const oldest = Math.min(...counts.keys());
  const first = isReplay ? oldest : Math.max(oldest, last - MAX_LIVE + 1);
  const step = Math.ceil((last - first + 1) / MAX_COLUMNS);
  return Array.from({ length: Math.ceil((last - first + 1) / step) }, (_, at) => {
    const from = first + at * step;
    const own = Array.from({ length: step }, (_, next) => counts.get(from + next) ?? 0);
    const sum = own.reduce((total, each) => total + each, 0);
    return { count: Math.round((sum / step) * 10) / 10, sum, label: labelOf(from, isReplay) };
  });
}

/** In a replay as the times of its messages: `-1:00`, `9:00`, `1:02:00`. */
function labelOf(minute: number, isReplay: boolean): string {
  if (!isReplay)
    return new Date(minute * MINUTE_MS).toLocaleTimeString("en", { hour: "numeric", minute: "2-digit" });
  const distance = Math.abs(minute);
  const hours = Math.floor(distance / 60);
  const time = hours === 0 ? distance : `${hours}:${String(distance % 60).padStart(2, "0")}`;
  return `${minute < 0 ? "-" : ""}${time}:00`;
}
