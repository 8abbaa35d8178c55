/** `GET /v1/stream`: checks the request, finds the room, and opens the response for a viewer. */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import { RelayError } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { parseBackfill, parseCursor } from "../serving/cursor.ts";
import { parseTypes } from "../serving/filter.ts";
import { FORMS, type Format } from "../serving/form.ts";
import type { Sink } from "../serving/sink.ts";
import { type AddressLimit, networkOf } from "./address-limit.ts";
import { clientGone } from "./client-gone.ts";
import { takeSocket } from "./hand-over.ts";
import { acceptsGzip } from "./negotiation.ts";
import type { RawErrors } from "./raw-errors.ts";
import { routeOptions, StreamResponse } from "./responses.ts";
import { StreamHeaders, StreamQuery } from "./schemas.ts";
import { ResponseSink, SocketSink, type StreamConnections } from "./sinks.ts";

const MEDIA_TYPES: Record<Format, string> = { sse: "text/event-stream", ndjson: "application/x-ndjson" };

// [spec] Success response headers
const STREAM_HEADERS = {
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

const EXPECTED = { summary: "Subscribe to a video's chat", querystring: StreamQuery, headers: StreamHeaders };

interface StreamParts {
  rooms: Rooms;
  addresses: AddressLimit;
  rawErrors: RawErrors;
  connections: StreamConnections;
  /** Whether a stream may use its socket without Node's response. */
  handsOver: boolean;
  /** Whether streams may be compressed; needs `handsOver`. */
  compresses: boolean;
}

export function streamRoute(app: FastifyInstance, parts: StreamParts): void {
  app.get<{ Querystring: StreamQuery; Headers: StreamHeaders }>(
    "/v1/stream",
    { ...routeOptions("/v1/stream", EXPECTED, StreamResponse), exposeHeadRoute: false },
    async (request, reply) => {
      const { query, headers } = request;
      const gone = clientGone(reply.raw);
      const streamRequest = {
        videoId: parseVideoId(query.videoId),
        backfill: backfillOf(query),
        filter: parseTypes(query.types ?? ""),
        isBounded: query.until === "now",
        // A browser's first request cannot set this header; on a reconnect, the header has the newer cursor.
        lastEventId: parseCursor(headers["last-event-id"]) ?? parseCursor(query.lastEventId),
        address: () => networkOf(request.ip),
        open: () => openSink(reply, gone, parts, giveBack),
      };
      // The service ignores a body, but an unread one would hide the end of the connection.
      request.raw.resume();
      const giveBack = parts.addresses.take(request);
      try {
        await parts.rooms.enter(streamRequest, gone);
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  );
}

/** Throws the signal's reason, or `RelayError` if an earlier answer on this connection is incomplete. */
function openSink(
  reply: FastifyReply<{ Querystring: StreamQuery }>,
  gone: AbortSignal,
  { rawErrors, connections, handsOver, compresses }: StreamParts,
  onClosed: () => void,
): Sink {
  gone.throwIfAborted();
  const { raw: response, request } = reply;
  // Node queues an answer behind the earlier ones of its connection: behind another stream it would wait for
  // ever.
  if (!response.socket) {
    request.raw.socket.destroy();
    throw new RelayError("INVALID_REQUEST", "This connection is busy with another answer.");
  }
  reply.hijack();
  const isTaken = handsOver && response.socket.writable && isAlone(request.raw) && rawErrors.forget(response);
  const isGzip = isTaken && compresses && acceptsGzip(request.headers["accept-encoding"]);
  const format = formatFor(request.headers.accept);
  const vary = [...(format === "ndjson" ? ["Accept"] : []), ...(compresses ? ["Accept-Encoding"] : [])];
  response.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    "content-type": MEDIA_TYPES[format],
    ...STREAM_HEADERS,
    ...(vary.length > 0 && { vary: vary.join(", ") }),
    ...(isGzip && { "content-encoding": "gzip" }),
  });
  const forms = FORMS[format][request.query.details === "true" ? "detailed" : "plain"];
  if (!isTaken) return new ResponseSink(response, forms.bare, connections, onClosed);
  const form = isGzip ? forms.gzip : forms.chunked;
  // Corked for this turn, so that the head and the first frames leave in one write.
  const { socket } = response;
  socket.cork();
  process.nextTick(() => socket.uncork());
  return new SocketSink(takeSocket(response), form, connections, onClosed);
}

/** Whether the request has no body and its answer will be chunked. */
function isAlone({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === "1.1" && !headers["transfer-encoding"] && !Number(headers["content-length"] ?? 0);
}

/** NDJSON for a client that names it, and does not name event streams. */
function formatFor(accept: string | undefined): Format {
  const isNamed = (format: Format) => names(accept, MEDIA_TYPES[format]);
  return isNamed("ndjson") && !isNamed("sse") ? "ndjson" : "sse";
}

/** Whether an `Accept` header names the media type, with any weight but 0. */
function names(accept = "", mediaType: string): boolean {
  return accept.split(",").some((part) => {
    const [range, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    return range === mediaType && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

function backfillOf({ backfill: text }: StreamQuery): number | undefined {
  if (text === undefined) return undefined;
  const backfill = parseBackfill(text);
  if (backfill === undefined) throw new RelayError("INVALID_REQUEST", "backfill: must be a number.");
  return backfill;
}
