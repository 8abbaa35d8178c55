/** `GET /v1/stream` of a video: checks the request, finds the room, and opens the response for a viewer. */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";
import { RelayError } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { Channels } from "../rooms/channels.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { parseBackfill, parseCursor } from "../serving/cursor.ts";
import { parseTypes } from "../serving/filter.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type AddressLimit, networkOf } from "./address-limit.ts";
import { openChannel } from "./channel.ts";
import { clientGone } from "./client-gone.ts";
import { type OpenParts, openSink } from "./open-sink.ts";
import { routeOptions, StreamResponse } from "./responses.ts";
import { StreamHeaders, StreamQuery } from "./schemas.ts";

const EXPECTED = {
  summary: "Subscribe to the chat of a video, or to those of a channel",
  querystring: StreamQuery,
  headers: StreamHeaders,
};

export interface StreamParts extends OpenParts {
  rooms: Rooms;
  channels: Channels;
  addresses: AddressLimit;
  clock: Clock;
  telemetry: Telemetry;
  /** The interval of keepalives on connections that carry several chats. */
  keepaliveMs: number;
}

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
