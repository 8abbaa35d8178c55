/**
 * `GET /v1/stream`: checks the request. For a video, the response is opened once its room is there (`Rooms`);
 * for a channel, before any of its rooms is (`channel-stream.ts`).
 */
import type { FastifyInstance } from "fastify";
import type { BodySink } from "../../multiplex/multiplex.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { parseCursor } from "../../serving/resume-or-backfill.ts";
import { networkOf } from "../access/address-limit.ts";
import { clientGone } from "../connections/client-gone.ts";
import { routeOptions, StreamResponse } from "../schemas/responses.ts";
import { StreamHeaders, StreamQuery } from "../schemas/schemas.ts";
import { noMisspeltParameters } from "../strict-query.ts";
import { channelAsked, openChannel } from "./channel-stream.ts";
import { openSink } from "./stream-head.ts";
import {
  formAsked,
  partAsked,
  type StreamInput,
  type StreamParts,
  type StreamService,
} from "./stream-parts.ts";

const EXPECTED = {
  summary: "Subscribe to the chat of a video, or to those of a channel",
  querystring: StreamQuery,
  headers: StreamHeaders,
};

export function streamRoute(app: FastifyInstance, parts: StreamParts): void {
  app.get<{ Querystring: StreamQuery; Headers: StreamHeaders }>(
    "/v1/stream",
    {
      ...routeOptions("/v1/stream", EXPECTED, StreamResponse),
      preValidation: noMisspeltParameters(StreamQuery),
    },
    async (request, reply) => {
      const asked = streamAsked(request);
      const gone = clientGone(reply.raw, { endsByItself: asked.isBounded });
      // The service ignores a body, but an unread one would hide the end of the connection.
      request.raw.resume();
      await parts.viewerPlaces.takeFor(request, gone, (place) => {
        const open = () => place.keep(openSink(reply, asked, gone, parts, place.giveBack));
        return openStream(asked, () => networkOf(request.ip), parts, open, gone);
      });
    },
  );
}

/** Throws `RelayError` INVALID_REQUEST and INVALID_VIDEO_ID. */
export function streamAsked({ query, headers }: StreamInput<StreamQuery>) {
  const { videoId, channel } = query;
  if ((videoId === undefined) === (channel === undefined))
    throw invalidRequest("videoId or channel: exactly one of the two is required.");
  if (query.chat !== undefined && query.until === undefined)
    throw invalidRequest("chat: only valid with until=now; other streams choose the chat themselves.");
  if (videoId === undefined) return channelAsked({ query, headers });
  return {
    videoId: parseVideoId(videoId),
    chat: query.chat,
    ...partAsked(query),
    // A browser's first request cannot set this header; on a reconnect, the header has the newer cursor.
    lastEventId: parseCursor(headers["last-event-id"]) ?? parseCursor(query.lastEventId),
    form: formAsked({ query, headers }),
  };
}

/**
 * Everything after the check of a request, apart from Fastify. Resolves when the answer has begun, which
 * `open` does. Rejects as `Rooms.enter` and `openChannel` do.
 */
export async function openStream(
  asked: ReturnType<typeof streamAsked>,
  address: () => string,
  served: StreamService,
  open: () => BodySink,
  gone: AbortSignal,
): Promise<void> {
  if ("channel" in asked) return await openChannel(asked, address(), served, open, gone);
  await served.rooms.enter({ ...asked, address, openSink: open }, gone);
}
