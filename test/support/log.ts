/** The log of a video over HTTP, as a reader of the Durable Streams protocol sees it. */
import assert from "node:assert/strict";
import type { KeptMessage } from "./history.ts";

export interface LogAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The cursors of the items; none if there is no body. */
  cursors: number[];
  next: string;
  /** Whether the answer reaches the end of the log, and whether that is closed. */
  isUpToDate: boolean;
  isClosed: boolean;
}

/** One answer of the log, with its body. */
export async function readLog(
  url: string,
  videoId: string,
  query: Record<string, string | number> = {},
  init: RequestInit = {},
): Promise<LogAnswer> {
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]));
  const response = await fetch(`${url}/v1/log/${videoId}?${asked}`, init);
  const { status, headers } = response;
  const text = await response.text();
  const items = status === 200 && text.startsWith("[") ? (JSON.parse(text) as KeptMessage[]) : [];
  return {
    status,
    headers,
    text,
    cursors: items.map(({ cursor }) => cursor),
    next: headers.get("stream-next-offset") ?? "",
    isUpToDate: headers.get("stream-up-to-date") === "true",
    isClosed: headers.get("stream-closed") === "true",
  };
}

/** An event of `live=sse`, its data read as JSON. */
export interface LogEvent {
  event: string;
  data: unknown;
}

/** All that a connection with events brings until the service ends it. */
export async function readEvents(url: string, videoId: string, offset: string, init: RequestInit = {}) {
  const response = await fetch(`${url}/v1/log/${videoId}?live=sse&offset=${offset}`, init);
  assert.equal(response.status, 200);
  return { headers: response.headers, events: eventsIn(await response.text()) };
}

function eventsIn(text: string): LogEvent[] {
  return text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const [, event = "", data = ""] = /^event: (\w+)\ndata:(.*)$/.exec(block) ?? assert.fail(block);
      return { event, data: JSON.parse(data) };
    });
}

/** The items of all events: a log is read in pages, which end at multiples of a hundred. */
export function itemsOf(events: readonly LogEvent[]): unknown[] {
  return events.filter(({ event }) => event === "data").flatMap(({ data }) => data);
}

/** The items that long polls bring from the beginning up to now: one for each part of the log. */
export async function polledUpToNow(url: string, videoId: string): Promise<unknown[]> {
  const items: unknown[] = [];
  for (let offset = "-1"; ; ) {
    const { text, next, isUpToDate } = await readLog(url, videoId, { offset, live: "long-poll" });
    items.push(...JSON.parse(text));
    if (isUpToDate) return items;
    offset = next;
  }
}
