/** `GET /v1/stream`: checks the request, finds the room, and opens the response for a viewer. */
import type { FastifyInstance } from "fastify";
import { RelayError } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { parseBackfill, parseCursor } from "../serving/cursor.ts";
import { parseTypes } from "../serving/filter.ts";
import { type AddressLimit, networkOf } from "./address-limit.ts";
import { clientGone } from "./client-gone.ts";
import { type OpenParts, openSink } from "./open-sink.ts";
import { routeOptions, StreamResponse } from "./responses.ts";
import { StreamHeaders, StreamQuery } from "./schemas.ts";

const EXPECTED = { summary: "Subscribe to a video's chat", querystring: StreamQuery, headers: StreamHeaders };

export interface StreamParts extends OpenParts {
  rooms: Rooms;
  addresses: AddressLimit;
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
        open: () => openSink(reply, query.details === "true", gone, parts, giveBack),
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

/** Throws `RelayError` INVALID_REQUEST. */
export function backfillOf({ backfill: text }: Pick<StreamQuery, "backfill">): number | undefined {
  if (text === undefined) return undefined;
  const backfill = parseBackfill(text);
  if (backfill === undefined) throw new RelayError("INVALID_REQUEST", "backfill: must be a number.");
  return backfill;
}
