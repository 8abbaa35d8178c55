/** `GET /v1/stream`: checks what is asked for, finds the room, and hands the open response to a viewer. */
import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { backfillFrom, lastEventIdFrom } from "../protocol/cursor.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { parseVideoId } from "../upstream/video-id.ts";
import { StreamQuery } from "./schemas.ts";

// [spec] Success response headers
const STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

export function streamRoute(app: FastifyInstance, rooms: Rooms): void {
  app.get<{ Querystring: StreamQuery }>(
    "/v1/stream",
    { schema: { querystring: StreamQuery }, exposeHeadRoute: false },
    async (request, reply) => {
      const { videoId, backfill: backfillText, details } = request.query;
      const backfill = backfillFrom(backfillText);
      if (backfill === undefined) throw new RelayError("INVALID_REQUEST", "backfill: must be a number.");

      const response = reply.raw;
      // A body is not asked for; left unread it would keep the end of the connection from being noticed.
      request.raw.resume();
      const gone = new AbortController();
      const onClose = () => gone.abort();
      response.once("close", onClose);

      const lastEventId = lastEventIdFrom(request.headers["last-event-id"]?.toString());
      const wanted = {
        videoId: parseVideoId(videoId),
        backfill,
        lastEventId,
        withDetails: details === "true",
      };
      let seat: Awaited<ReturnType<Rooms["enter"]>>;
      try {
        seat = await rooms.enter(wanted, gone.signal);
      } catch (error) {
        // Nobody is left to be told.
        if (gone.signal.aborted) return reply.hijack();
        throw error;
      }
      reply.hijack();
      if (gone.signal.aborted) return seat.viewer.leave();
      response.off("close", onClose);
      response.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...STREAM_HEADERS });
      seat.viewer.start(response, seat.init);
    },
  );
}
