/** The answers of a log: what their headers say of the place that a reader has reached, and to caches. */
import { itemJson } from "../../serving/history/formats.ts";
import type { HistoryMessage } from "../../serving/history/history.ts";
import { type LogPosition, offsetOf, positionIn, tagOf } from "../../serving/log-position.ts";
import { gzippedTag } from "../negotiation.ts";

/** The bounds of a page, in messages and in bytes. */
export const PAGE_MESSAGES = 1000;
const PAGE_BYTES = 1024 * 1024;

const FULL = "public, max-age=31536000, immutable";
const AT_THE_END = "public, max-age=1, stale-while-revalidate=30";
const POLLED = "public, max-age=60";
const NEVER = "no-store";
const JSON_TYPE = { "content-type": "application/json" };

export interface LogAnswer {
  status: 200 | 204;
  headers: Record<string, string>;
  /** Undefined if there is none. */
  body?: Buffer | undefined;
}

/** A part of a log at some position. Cursors; a log keeps the messages from `floor` to `end`. */
export interface LogPart {
  videoId: string;
  floor: number;
  end: number;
  isClosed: boolean;
  /** The newest cursor of the room, if deletions change its stored messages. */
  blankedBy: number | undefined;
  /** The messages after the position, perhaps beyond `end`. */
  messages: Iterable<HistoryMessage>;
}

/** What a long poll is answered. */
export interface Polled {
  videoId: string;
  position: LogPosition;
  /** The cursors before the items, and of the last one. */
  start: number;
  next: number;
  isUpToDate: boolean;
  isClosed: boolean;
  /** The cache's cursor. */
  cursor: bigint;
  /** The items, in the form of the answer; undefined if there are none. */
  body: Buffer | undefined;
  isGzip: boolean;
}

/** One page, or an empty one at the end. Throws `RelayError` OFFSET_GONE. */
export function pageAnswer(position: LogPosition, part: LogPart): LogAnswer {
  const { videoId, floor, end, isClosed, blankedBy } = part;
  const start = positionIn(position, floor, end);
  const { body, next } = pageOf(part.messages, start, end);
  const isAtEnd = next >= end;
  const isFinal = isClosed && isAtEnd;
  // From -1, too: a cache may outlive the stored messages; a client that reads on gets 410.
  const isFixed = !isAtEnd && blankedBy === undefined;
  return {
    status: 200,
    headers: {
      ...JSON_TYPE,
      ...place(next, isAtEnd, isFinal),
      "cache-control": position === "now" ? NEVER : isFixed ? FULL : AT_THE_END,
      ...(position !== "now" && { etag: tagOf(videoId, start, next, isFinal, blankedBy) }),
    },
    body,
  };
}

/** The answer to HEAD, for a position in the log: where the log ends. Throws `RelayError` OFFSET_GONE. */
export function headAnswer(position: LogPosition, { floor, end, isClosed }: LogPart): LogAnswer {
  positionIn(position, floor, end);
  return {
    status: 200,
    headers: { ...JSON_TYPE, ...place(end, false, isClosed), "cache-control": NEVER },
  };
}

export function pollAnswer({ videoId, position, start, next, cursor, body, ...polled }: Polled): LogAnswer {
  const isKept = body !== undefined && position !== "now";
  const etag = tagOf(videoId, start, next, polled.isClosed);
  return {
    status: body === undefined ? 204 : 200,
    headers: {
      ...(body && JSON_TYPE),
      ...(body && polled.isGzip && { "content-encoding": "gzip" }),
      ...place(next, polled.isUpToDate, polled.isClosed),
      ...(!polled.isClosed && { "stream-cursor": String(cursor) }),
      "cache-control": isKept ? POLLED : NEVER,
      ...(isKept && { etag: polled.isGzip ? gzippedTag(etag) : etag }),
    },
    body,
  };
}

/** The headers of the place that a reader has reached (protocol, section 5.6). */
function place(next: number, isUpToDate: boolean, isClosed: boolean): Record<string, string> {
  return {
    "stream-next-offset": offsetOf(next),
    ...(isUpToDate && { "stream-up-to-date": "true" }),
    ...(isClosed && { "stream-closed": "true" }),
  };
}

/** The items of a page up to the end of the log, and the cursor behind them. */
function pageOf(
  messages: Iterable<HistoryMessage>,
  start: number,
  end: number,
): { body: Buffer; next: number } {
  const items: string[] = [];
  let bytes = 2;
  let next = start;
  for (const message of messages) {
    if (message.cursor > end || items.length >= PAGE_MESSAGES) break;
    const item = itemJson(message, true);
    bytes += Buffer.byteLength(item) + 1;
    if (items.length > 0 && bytes > PAGE_BYTES) break;
    items.push(item);
    next = message.cursor;
  }
  return { body: Buffer.from(`[${items.join()}]`), next };
}
