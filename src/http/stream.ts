/** `GET /v1/stream`: checks what is asked for, finds the room, and hands the open response to a viewer. */
import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { RelayError } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { backfillFrom, lastEventIdFrom } from "../rooms/cursor.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { AddressLimit } from "./address-limit.ts";
import { FAULT_CODES } from "./fault-codes.ts";
import { hangUpSignal } from "./hang-up.ts";
import { answers, StreamHeaders, StreamQuery, StreamResponse } from "./schemas.ts";

// [spec] Success response headers
const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

export function streamRoute(app: FastifyInstance, rooms: Rooms, addresses: AddressLimit): void {
  app.get<{ Querystring: StreamQuery }>(
    "/v1/stream",
    {
      exposeHeadRoute: false,
      config: { faultCodes: FAULT_CODES.stream },
      schema: {
        summary: "Subscribe to a video's chat",
        querystring: StreamQuery,
        headers: StreamHeaders,
        response: answers("/v1/stream", StreamResponse),
      },
    },
    async (request, reply) => {
      const { videoId, backfill: backfillText, details } = request.query;
      const backfill = backfillFrom(backfillText);
      if (backfill === undefined) throw new RelayError("INVALID_REQUEST", "backfill: must be a number.");
      const wanted = {
        videoId: parseVideoId(videoId),
        backfill,
        lastEventId: lastEventIdFrom(request.headers["last-event-id"]?.toString()),
        withDetails: details === "true",
      };
      // A body is not asked for; left unread it would keep the end of the connection from being noticed.
      request.raw.resume();
      const gone = hangUpSignal(reply.raw);
      reply.raw.once("close", addresses.take(request.ip));
      const { viewer, init } = await rooms.enter(wanted, gone);
      reply.hijack();
      if (gone.aborted) {
        viewer.leave();
        return;
      }
      reply.raw.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...STREAM_HEADERS });
      viewer.start(reply.raw, init);
    },
  );
}
