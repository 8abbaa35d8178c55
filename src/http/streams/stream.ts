/** `GET /v1/stream` of a video: checks the request, finds the room, and opens the response for a viewer. */
import type { FastifyInstance } from "fastify";
import { RelayError } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { parseCursor } from "../../serving/cursor.ts";
import { clientGone } from "../client-gone.ts";
import { routeOptions, StreamResponse } from "../schemas/responses.ts";
import { StreamHeaders, StreamQuery } from "../schemas/schemas.ts";
import { networkOf } from "./address-limit.ts";
import { openChannel } from "./channel.ts";
import { openSink } from "./open-sink.ts";
import { partAsked, type StreamParts } from "./stream-parts.ts";

const EXPECTED = {
  summary: "Subscribe to the chat of a video, or to those of a channel",
  querystring: StreamQuery,
  headers: StreamHeaders,
};

export function streamRoute(app: FastifyInstance, parts: StreamParts): void {
  app.get<{ Querystring: StreamQuery; Headers: StreamHeaders }>(
    "/v1/stream",
    { ...routeOptions("/v1/stream", EXPECTED, StreamResponse), exposeHeadRoute: false },
    async (request, reply) => {
      const { query, headers } = request;
      if ((query.videoId === undefined) === (query.channel === undefined))
        throw new RelayError("INVALID_REQUEST", "videoId or channel: exactly one of the two is required.");
      if (query.videoId === undefined) return openChannel(request, reply, parts);
      const gone = clientGone(reply.raw);
      const asked = {
        videoId: parseVideoId(query.videoId),
        ...partAsked(query),
        // A browser's first request cannot set this header; on a reconnect, the header has the newer cursor.
        lastEventId: parseCursor(headers["last-event-id"]) ?? parseCursor(query.lastEventId),
        address: () => networkOf(request.ip),
      };
      // The service ignores a body, but an unread one would hide the end of the connection.
      request.raw.resume();
      const giveBack = parts.addresses.take(request);
      const open = () => openSink(reply, query.details === "true", gone, parts, giveBack);
      try {
        await parts.rooms.enter({ ...asked, open }, gone);
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  );
}
