/** `GET /v1/stream`: checks what is asked for, finds the room, and opens the response for a viewer. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import { RelayError } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { parseBackfill, parseCursor } from "../rooms/cursor.ts";
import { DETAILED, PLAIN } from "../rooms/form.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Sink } from "../rooms/sink.ts";
import type { AddressLimit } from "./address-limit.ts";
import { routeOptions, StreamResponse } from "./answers.ts";
import { clientGone } from "./client-gone.ts";
import { StreamHeaders, StreamQuery } from "./schemas.ts";

// [spec] Success response headers
const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

const EXPECTED = { summary: "Subscribe to a video's chat", querystring: StreamQuery, headers: StreamHeaders };

export function streamRoute(app: FastifyInstance, rooms: Rooms, addresses: AddressLimit): void {
  app.get<{ Querystring: StreamQuery; Headers: StreamHeaders }>(
    "/v1/stream",
    { ...routeOptions("/v1/stream", EXPECTED, StreamResponse), exposeHeadRoute: false },
    async (request, reply) => {
      const { query, headers } = request;
      const gone = clientGone(reply.raw);
      const streamRequest = {
        videoId: parseVideoId(query.videoId),
        backfill: backfillOf(query),
        // A browser cannot send a first header; when it reconnects, the header has the newer cursor.
        lastEventId: parseCursor(headers["last-event-id"]) ?? parseCursor(query.lastEventId),
        form: query.details === "true" ? DETAILED : PLAIN,
        open: () => openSink(reply, gone),
      };
      // A body is not asked for; left unread it would keep the end of the connection from being noticed.
      request.raw.resume();
      const giveBack = addresses.take(request.ip);
      try {
        await rooms.enter(streamRequest, gone);
        reply.raw.once("close", giveBack);
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  );
}

/** Throws the signal's reason, or `RelayError` where another answer of the connection is not finished. */
function openSink(reply: FastifyReply, gone: AbortSignal): Sink {
  gone.throwIfAborted();
  // Node queues an answer behind those before it: a stream would wait there unseen, behind another stream for ever.
  if (!reply.raw.socket) {
    reply.request.raw.socket.destroy();
    throw new RelayError("INVALID_REQUEST", "This connection is busy with another answer.");
  }
  reply.hijack();
  reply.raw.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...STREAM_HEADERS });
  return sseSink(reply.raw);
}

/** A response, its head sent, as the sink of a viewer. */
function sseSink(response: ServerResponse): Sink {
  const { socket } = response.req;
  response.on("error", () => socket.destroy()); // a connection that breaks is a viewer that leaves
  return {
    write: (bytes) => response.write(bytes),
    end: () => void response.end(),
    // After an orderly close the kernel would keep offering what it holds: megabytes per viewer, for minutes.
    reset: () => void socket.resetAndDestroy(),
    onDrain: (listener) => void response.on("drain", listener),
    onClose: (listener) => void response.on("close", listener),
  };
}

function backfillOf({ backfill: text }: StreamQuery): number | undefined {
  if (text === undefined) return undefined;
  const backfill = parseBackfill(text);
  if (backfill === undefined) throw new RelayError("INVALID_REQUEST", "backfill: must be a number.");
  return backfill;
}
