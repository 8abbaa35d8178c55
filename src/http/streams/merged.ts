/** `GET /v1/merged`: up to twenty chats on one connection; one id resumes all of them. */
import type { FastifyInstance } from "fastify";
import { parseVector } from "../../protocol/cursor-vector.ts";
import { RelayError } from "../../protocol/errors.ts";
import { parseListedVideoId } from "../../protocol/video-id.ts";
import type { BodySink } from "../../serving/multiplex/multiplex.ts";
import { clientGone } from "../client-gone.ts";
import { MergedResponse, routeOptions } from "../schemas/responses.ts";
import { MergedHeaders, MergedQuery, type StreamHeaders } from "../schemas/schemas.ts";
import { knownParametersOnly } from "../strict-query.ts";
import { networkOf } from "./address-limit.ts";
import { readMerged } from "./merged-chat.ts";
import { openSink } from "./stream-head.ts";
import {
  formAsked,
  openMultiplex,
  partAsked,
  type Served,
  type StreamInput,
  type StreamParts,
} from "./stream-parts.ts";

const PATH = "/v1/merged";
const MAX_CHATS = 20;
const EXPECTED = {
  summary: "Subscribe to several videos' chats on one connection",
  querystring: MergedQuery,
  headers: MergedHeaders,
};

export function mergedRoute(app: FastifyInstance, parts: StreamParts): void {
  app.get<{ Querystring: MergedQuery; Headers: StreamHeaders }>(
    PATH,
    {
      ...routeOptions(PATH, EXPECTED, MergedResponse),
      exposeHeadRoute: false,
      preValidation: knownParametersOnly(MergedQuery),
    },
    async (request, reply) => {
      const asked = mergedAsked(request);
      const gone = clientGone(reply.raw, { endsByItself: asked.isBounded });
      request.raw.resume(); // as in /v1/stream
      const place = parts.viewerPlaces.take(request, gone, asked.videoIds.length);
      const open = () => place.keep(openSink(reply, asked, gone, parts, place.giveBack));
      try {
        openMerged(asked, networkOf(request.ip), parts, open);
      } catch (error) {
        place.giveBack();
        throw error;
      }
    },
  );
}

/** Throws `RelayError` INVALID_VIDEO_ID and INVALID_REQUEST. */
export function mergedAsked({ query, headers }: StreamInput<MergedQuery>) {
  const videoIds = videosIn(query.videoIds);
  const { length } = videoIds;
  const cursors =
    parseVector(headers["last-event-id"], length) ?? parseVector(query.lastEventId, length) ?? [];
  return { videoIds, cursors, ...partAsked(query), form: formAsked({ query, headers }) };
}

/**
 * Everything after the check of a request, apart from Fastify. `open` begins the answer; the chats are read
 * in the background. Throws `RelayError` CAPACITY.
 */
export function openMerged(
  { videoIds, cursors, form, ...asked }: ReturnType<typeof mergedAsked>,
  address: string,
  served: Served,
  open: () => BodySink,
): void {
  served.rooms.assertPlaces(videoIds.length);
  const reserved = served.rooms.reserveOpenings(videoIds, address);
  const requests = videoIds.map((videoId, place) => ({
    ...asked,
    videoId,
    lastEventId: cursors[place],
    address: () => address,
  }));
  try {
    const { multiplex, parts } = openMultiplex("merged", form, served, open);
    void readMerged(multiplex, requests, parts, reserved);
  } catch (error) {
    reserved[Symbol.dispose]();
    throw error;
  }
}

/** Throws `RelayError` INVALID_VIDEO_ID, and INVALID_REQUEST for too many videos or one named twice. */
export function videosIn(list: string): string[] {
  const names = list.split(",").map((name) => name.trim());
  if (names.length > MAX_CHATS)
    throw new RelayError("INVALID_REQUEST", `videoIds: must not be more than ${MAX_CHATS} videos.`);
  const videoIds = names.map(parseListedVideoId);
  const twice = videoIds.find((videoId, place) => videoIds.indexOf(videoId) !== place);
  if (twice !== undefined) throw new RelayError("INVALID_REQUEST", `videoIds: names ${twice} twice.`);
  return videoIds;
}
