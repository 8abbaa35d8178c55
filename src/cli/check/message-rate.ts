/** How many messages a minute a chat has, by the times of those that were read. */
import type { Item } from "../../upstream/readers/reader.ts";

const MINUTE_MS = 60_000;
/** A shorter span says little. */
const LEAST_MS = 1000;

export interface Rate {
  perMinute: number;
  /** The number of messages that it is taken from. */
  messages: number;
}

/**
 * The rate of the last minute before `now` (wall time in milliseconds), or of the span of the messages if
 * that is shorter; of a replay, by the times in the video. Undefined if no message has a time.
 */
export function rateOf(items: readonly Item[], isReplay: boolean, now: number): Rate | undefined {
  const byId = new Map(items.map(({ message }) => [message.id, message.details]));
  const times = [...byId.values()]
    .map(({ publishedAt, offsetMs }) => (isReplay ? offsetMs : publishedAt && Date.parse(publishedAt)))
    .filter((time) => typeof time === "number");
  if (times.length === 0) return undefined;
  const end = isReplay ? Math.max(...times) : now;
  const begin = isReplay ? Math.min(...times) : Math.max(Math.min(...times), end - MINUTE_MS);
  const messages = times.filter((time) => time >= begin).length;
  return { perMinute: (messages * MINUTE_MS) / Math.max(LEAST_MS, end - begin), messages };
}
