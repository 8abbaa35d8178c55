/**
 * `GET /v1/log/{videoId}`: the chat of a video as a durable stream (Durable Streams protocol), to read in
 * pages, by long polling, or as Server-Sent Events. Nothing of it is per reader that could be per log.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RelayError } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { itemJson } from "../../serving/history/formats.ts";
import type { History, HistoryPage } from "../../serving/history/history.ts";
import { ANSWERS, CacheCursors, eventForms } from "../../serving/log/forms.ts";
import { type LogPosition, offsetOf, parseOffset } from "../../serving/log/offset.ts";
import type { StreamRequest } from "../../serving/room.ts";
import { clientGone } from "../client-gone.ts";
import { acceptsGzip, isKnown } from "../negotiation.ts";
import { LogParams, LogQuery } from "../schemas/log-schemas.ts";
import { LogResponse, routeOptions } from "../schemas/responses.ts";
import { networkOf } from "../streams/address-limit.ts";
import { openBody } from "../streams/open-sink.ts";
import type { StreamParts } from "../streams/stream-parts.ts";
import { knownParametersOnly } from "../strict-query.ts";
import { Deadlines } from "./deadlines.ts";
import { type PollAnswer, PollSink } from "./poll-sink.ts";

/** The bounds of a page, in messages and in bytes. */
const PAGE_MESSAGES = 1000;
const PAGE_BYTES = 1024 * 1024;

const FULL = "public, max-age=31536000, immutable";
const AT_THE_END = "public, max-age=1, stale-while-revalidate=30";
const POLLED = "public, max-age=60";
const NEVER = "no-store";

const GZIP = { level: 3 };
const zip = promisify(gzip);

export interface LogSettings {
  /** How long a long poll waits, in milliseconds. */
  longPollMs: number;
  /** How long a connection with events stays open, in milliseconds; 0: as long as its client wants. */
  sseMs: number;
}

export interface LogParts extends StreamParts {
  history: History;
  /** Whether a stored message may change: deleted ones are blanked. */
  isBlanking: boolean;
  log: LogSettings;
}

type LogRequest = FastifyRequest<{ Params: LogParams; Querystring: LogQuery }>;

const EXPECTED = {
  summary: "Read the chat of a video as a durable stream",
  params: LogParams,
  querystring: LogQuery,
};

const LOG_OPTIONS = {
  ...routeOptions("/v1/log/{videoId}", EXPECTED, LogResponse),
  preValidation: knownParametersOnly(LogQuery),
  exposeHeadRoute: false,
  onRequest: async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.headers({ "x-content-type-options": "nosniff", "cross-origin-resource-policy": "cross-origin" });
  },
};

/** A stored log, for a reader at some position. */
interface StoredLog {
  room: HistoryPage["room"];
  /** The cursor up to which it goes now. */
  end: number;
  isClosed: boolean;
}

export function logRoute(app: FastifyInstance, parts: LogParts): void {
  const { rooms, history, clock } = parts;
  const cursors = new CacheCursors(clock);
  const polls = new Deadlines(clock, parts.log.longPollMs, rooms.stopped);
  const events = new Deadlines(clock, parts.log.sseMs, rooms.stopped);

  const logOf = ({ room }: Pick<HistoryPage, "room">): StoredLog => {
    const closedAt = rooms.closedAt(room);
    return { room, end: closedAt ?? room.head, isClosed: closedAt !== undefined };
  };

  const stored = async (videoId: string, gone: AbortSignal): Promise<StoredLog | undefined> => {
    const found = await history.page({ videoId, filter: {} }, 0, gone).catch(ifNotStored);
    return found && logOf(found);
  };

  /** One page, or an empty one at the end. Sets the headers, and returns the body. */
  const page = async (request: LogRequest, position: LogPosition, reply: FastifyReply, gone: AbortSignal) => {
    const videoId = parseVideoId(request.params.videoId);
    const after = typeof position === "number" ? { after: position } : {};
    const limit = position === "now" ? 0 : PAGE_MESSAGES;
    const found = await history.page({ videoId, ...after, filter: {} }, limit, gone);
    const log = logOf(found);
    assertThere(position, log);
    const start = position === "now" ? log.end : position === "begin" ? log.room.floor : position;
    const { body, next } = pageOf(found, start, log.end);
    const isAtEnd = next >= log.end;
    const isFinal = log.isClosed && isAtEnd;
    const state = parts.isBlanking ? `-${log.room.head}` : ""; // a deletion changes earlier items
    const etag = `"${log.room.base}-${start}-${next}${state}${isFinal ? ":c" : ""}"`;
    reply.headers({
      ...place(next, isAtEnd, isFinal),
      "cache-control": position === "now" ? NEVER : isAtEnd || parts.isBlanking ? AT_THE_END : FULL,
      ...(position !== "now" && { etag }),
    });
    if (position !== "now" && isKnown(etag, request.headers["if-none-match"])) return undefined;
    return body;
  };

  const sendPage = async (
    request: LogRequest,
    position: LogPosition,
    reply: FastifyReply,
    gone: AbortSignal,
  ) => {
    const body = await page(request, position, reply, gone);
    if (body === undefined) return reply.code(304).send();
    return sendBody(request, reply, body, gone);
  };

  const sendBody = async (request: LogRequest, reply: FastifyReply, body: Buffer, gone: AbortSignal) => {
    gone.throwIfAborted();
    const isGzip = parts.compresses && acceptsGzip(request.headers["accept-encoding"]);
    if (parts.compresses) reply.header("vary", "Accept-Encoding");
    reply.type("application/json");
    return isGzip ? reply.header("content-encoding", "gzip").send(await zip(body, GZIP)) : reply.send(body);
  };

  app.head<{ Params: LogParams; Querystring: LogQuery }>(
    "/v1/log/:videoId",
    headOptions,
    async (request, reply) => {
      const { room, end, isClosed } = logOf(
        await history.page(
          { videoId: parseVideoId(request.params.videoId), filter: {} },
          0,
          clientGone(reply.raw),
        ),
      );
      reply.headers({ ...place(end, false, isClosed), "cache-control": NEVER }).type("application/json");
      return reply.header("etag", `"${room.base}-${end}"`).send();
    },
  );

  app.get<{ Params: LogParams; Querystring: LogQuery }>(
    "/v1/log/:videoId",
    LOG_OPTIONS,
    async (request, reply) => {
      const { offset, live, cursor } = request.query;
      const videoId = parseVideoId(request.params.videoId);
      const position = parseOffset(offset);
      if (position === undefined)
        throw new RelayError(
          "INVALID_REQUEST",
          "offset: must be -1, now, or an offset that this log has given out.",
        );
      if (live !== undefined && offset === undefined)
        throw new RelayError("INVALID_REQUEST", "offset: is required with live.");
      const gone = clientGone(reply.raw);
      request.raw.resume(); // as in /v1/stream
      const log = await stored(videoId, gone);
      if (log) assertThere(position, log);
      const address = () => networkOf(request.ip);
      if (live === undefined) {
        if (!log) await enterInPassing(videoId, address, request, gone);
        return sendPage(request, position, reply, gone);
      }
      const least = cursors.leastFor(cursor);
      const start = { videoId, address, ...startAt(position), ...(log?.isClosed && { closedAt: log.end }) };
      if (live === "sse") return openEvents(request, reply, start, position, least, gone);
      const { body, next, isUpToDate, isClosed } = await poll(request, start, position, gone);
      reply.headers({
        ...place(next, isUpToDate, isClosed),
        ...(!isClosed && { "stream-cursor": String(Math.max(least, cursors.current())) }),
        "cache-control": body === undefined || position === "now" ? NEVER : POLLED,
        ...(parts.compresses && { vary: "Accept-Encoding" }),
      });
      if (body === undefined) return reply.code(204).send();
      if (position !== "now") reply.header("etag", `"${videoId}-${offset}-${next}${isClosed ? ":c" : ""}"`);
      if (isGzip(request)) reply.header("content-encoding", "gzip");
      return reply.type("application/json").send(body);
    },
  );

  const isGzip = (request: FastifyRequest) =>
    parts.compresses && acceptsGzip(request.headers["accept-encoding"]);

  /** Opens the room of a video of which nothing is stored, as a viewer that leaves at once. */
  const enterInPassing = async (
    videoId: string,
    address: () => string,
    request: FastifyRequest,
    gone: AbortSignal,
  ): Promise<void> => {
    const { giveBack } = parts.admission.take(request);
    try {
      const open: StreamRequest["open"] = (cursor, room) => {
        const sink = new PollSink(ANSWERS.plain, cursor, room, () => {});
        queueMicrotask(() => sink.end());
        return sink;
      };
      await rooms.enter({ videoId, lastEventId: undefined, backfill: 0, address, open }, gone);
    } finally {
      giveBack();
    }
  };

  /** Waits for the first messages after the position, or until the time is over. */
  const poll = async (
    request: FastifyRequest,
    start: Omit<StreamRequest, "open">,
    position: LogPosition,
    gone: AbortSignal,
  ): Promise<PollAnswer> => {
    const place = parts.admission.take(request);
    const { promise, resolve } = Promise.withResolvers<PollAnswer>();
    let forget = () => {};
    try {
      const open: StreamRequest["open"] = (cursor, room) => {
        gone.throwIfAborted();
        assertBegins(position, cursor);
        const sink = new PollSink(isGzip(request) ? ANSWERS.gzip : ANSWERS.plain, cursor, room, resolve);
        forget = polls.add(() => sink.end());
        gone.addEventListener("abort", () => sink.end(), { once: true });
        return place.keep(sink);
      };
      await rooms.enter({ ...start, open }, gone);
      return await promise;
    } finally {
      forget();
      place.giveBack();
    }
  };

  /** Opens the response of a reader of events. */
  const openEvents = async (
    request: FastifyRequest,
    reply: FastifyReply,
    start: Omit<StreamRequest, "open">,
    position: LogPosition,
    least: number,
    gone: AbortSignal,
  ): Promise<void> => {
    const place = parts.admission.take(request);
    let forget = () => {};
    const closed = () => {
      forget();
      place.giveBack();
    };
    const headers = {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      connection: "keep-alive",
      "x-accel-buffering": "no",
    };
    try {
      const open: StreamRequest["open"] = (cursor) => {
        assertBegins(position, cursor);
        const sink = openBody(
          reply,
          { forms: eventForms(cursors, least), headers, vary: [] },
          gone,
          parts,
          closed,
        );
        if (parts.log.sseMs > 0) forget = events.add(() => sink.end());
        return place.keep(sink);
      };
      await rooms.enter({ ...start, open }, gone);
    } catch (error) {
      closed();
      throw error;
    }
  };
}

const headOptions = { ...LOG_OPTIONS, schema: { params: LogParams, querystring: LogQuery } };

/** The headers of the place that a reader has reached (protocol, section 5.6). */
function place(next: number, isUpToDate: boolean, isClosed: boolean): Record<string, string> {
  return {
    "stream-next-offset": offsetOf(next),
    ...(isUpToDate && { "stream-up-to-date": "true" }),
    ...(isClosed && { "stream-closed": "true" }),
  };
}

/** Where a viewer of the room begins for a reader at this position. */
function startAt(position: LogPosition): Pick<StreamRequest, "lastEventId" | "backfill"> {
  if (position === "now") return { lastEventId: undefined, backfill: 0 };
  return { lastEventId: position === "begin" ? 0 : position, backfill: undefined };
}

/** Throws `RelayError` OFFSET_GONE if the log has lost the messages after the position, or never had it. */
function assertThere(position: LogPosition, { room, end }: StoredLog): void {
  if (typeof position !== "number" || (position >= room.floor && position <= end)) return;
  throw new RelayError(
    "OFFSET_GONE",
    `offset: is not in this log any more; it begins at ${offsetOf(room.floor)}.`,
  );
}

/** The same for a room that was opened for the reader: it begins elsewhere. */
function assertBegins(position: LogPosition, cursor: number): void {
  if (typeof position !== "number" || position === cursor) return;
  throw new RelayError("OFFSET_GONE", `offset: is not in this log; it begins at ${offsetOf(cursor)}.`);
}

/** The items of a page up to the end of the log, and the cursor behind them. */
function pageOf({ messages }: HistoryPage, start: number, end: number): { body: Buffer; next: number } {
  const items: string[] = [];
  let bytes = 2;
  let next = start;
  for (const message of messages) {
    if (message.cursor > end) break;
    const item = itemJson(message, true);
    bytes += Buffer.byteLength(item) + 1;
    if (items.length > 0 && bytes > PAGE_BYTES) break;
    items.push(item);
    next = message.cursor;
  }
  return { body: Buffer.from(`[${items.join()}]`), next };
}

function ifNotStored(error: unknown): undefined {
  if (!(error instanceof RelayError && error.code === "NOT_STORED")) throw error;
}
