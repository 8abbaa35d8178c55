/**
 * Reads event streams with third-party libraries: `node:http` reads the response, `eventsource-parser` its
 * frames. A connection has one request, and its owner controls when bytes are read.
 */
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { createParser, type EventSourceParser } from "eventsource-parser";

export interface SseFrame {
  event: string;
  /** The frame's own `id:` line; undefined if it has none. */
  id: string | undefined;
  data: string;
}

export interface SseListener {
  /** The head of the answer; header names in lower case. */
  head(status: number, headers: ReadonlyMap<string, string>): void;
  frame(frame: SseFrame): void;
  /** An id that comes alone, without an event. */
  cursor?(id: string): void;
  /** A reconnection time, in milliseconds. */
  retry?(ms: number): void;
  comment?(text: string): void;
  /** The whole body of an answer that is not a stream. */
  body?(text: string): void;
  malformed?(what: string): void;
  /** The connection is over. */
  closed(): void;
}

export function frameParser(listener: Omit<SseListener, "head" | "closed">): Pick<EventSourceParser, "feed"> {
  /** An id whose event has not come yet: there is none if something else comes first. */
  let idAlone: string | undefined;
  const passIdOn = () => {
    if (idAlone !== undefined) listener.cursor?.(idAlone);
    idAlone = undefined;
  };
  const parser = createParser({
    onId: (id) => {
      passIdOn();
      idAlone = id;
    },
    onEvent: ({ event = "message", id, data }) => {
      if (id !== undefined) idAlone = undefined;
      passIdOn();
      listener.frame({ event, id, data });
    },
    onRetry: (ms) => listener.retry?.(ms),
    onComment: (text) => {
      passIdOn();
      listener.comment?.(text);
    },
    onError: ({ message }) => listener.malformed?.(message),
  });
  const feed = (text: string) => {
    parser.feed(text);
    passIdOn();
  };
  return { feed };
}

/** The stream's parameters in the request's URL. */
export interface StreamQuery {
  /** One of the three is given: a video, several on one connection, or a channel. */
  videoId?: string;
  videoIds?: readonly string[];
  channel?: string;
  backfill?: number | string;
  details?: boolean;
  types?: string | undefined;
  /** `lastEventId` in the query; the header takes precedence. */
  inQuery?: number | string;
}

export function streamUrl(base: string, asked: StreamQuery): string {
  const { videoId, videoIds, channel, backfill, details, types, inQuery } = asked;
  const url = new URL(videoIds ? "/v1/merged" : "/v1/stream", base);
  const watched = { videoId, videoIds: videoIds?.join(), channel };
  for (const [name, value] of Object.entries(watched)) if (value) url.searchParams.set(name, value);
  if (backfill !== undefined) url.searchParams.set("backfill", String(backfill));
  if (inQuery !== undefined) url.searchParams.set("lastEventId", String(inQuery));
  if (details) url.searchParams.set("details", "true");
  if (types) url.searchParams.set("types", types);
  return url.href;
}

/** Whether an answer is the requested stream. */
export function isStream(status: number, headers: ReadonlyMap<string, string>): boolean {
  return status === 200 && /^text\/event-stream\s*(;|$)/i.test(headers.get("content-type") ?? "");
}

export class SseConnection {
  readonly #request: ClientRequest;
  #response: IncomingMessage | undefined;

  constructor(url: URL, lastEventId: string | undefined, listener: SseListener) {
    const resume = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = { accept: "text/event-stream", connection: "keep-alive", ...resume };
    this.#request = get(url, { agent: false, headers });
    this.#request.on("response", (response) => this.#read(response, listener));
    this.#request.on("error", ({ message, ...error }) => {
      if ("code" in error && String(error.code).startsWith("HPE_")) listener.malformed?.(message);
    });
    this.#request.on("close", () => this.#response ?? listener.closed());
  }

  /** Stops reading, so that the sender's window fills; Node's read-ahead of 64 KiB stays in memory. */
  pause(): void {
    this.#response?.pause();
  }

  /** Reads at most this many characters while paused. */
  readSlowly(characters: number): void {
    if (this.#response) this.#response.read(Math.min(characters, this.#response.readableLength));
  }

  resume(): void {
    this.#response?.resume();
  }

  /** Breaks the connection. */
  destroy(): void {
    this.#request.destroy();
  }

  #read(response: IncomingMessage, listener: SseListener): void {
    this.#response = response;
    const { statusCode: status = 0 } = response;
    const headers = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
    const parser = isStream(status, headers) ? frameParser(listener) : undefined;
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => {
      if (parser) parser.feed(text);
      else body += text;
    });
    response.on("error", () => {}); // "close" follows
    response.on("close", () => {
      if (!parser && response.complete) listener.body?.(body);
      listener.closed();
    });
    listener.head(status, headers);
  }
}
