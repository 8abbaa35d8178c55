/** `GET /v1/merged`: up to twenty chats on one connection; one id resumes all of them. */
import type { FastifyInstance } from "fastify";
import { readMerged } from "../../multiplex/merged-chat.ts";
import type { BodySink } from "../../multiplex/multiplex.ts";
import { parseMergedId } from "../../protocol/merged-id.ts";
import { networkOf } from "../access/address-limit.ts";
import type { ViewerPlace } from "../access/viewer-places.ts";
import { clientGone } from "../connections/client-gone.ts";
import { cursorsIn, mergedNames } from "../merged-query.ts";
import { MergedResponse, routeOptions } from "../schemas/responses.ts";
import { MergedHeaders, MergedQuery, type StreamHeaders } from "../schemas/schemas.ts";
import { knownParametersOnly } from "../strict-query.ts";
import { refuseUntil } from "./channel-stream.ts";
import { openSink } from "./stream-head.ts";
import {
  formAsked,
  openMultiplex,
  partAsked,
  type StreamInput,
  type StreamParts,
  type StreamService,
} from "./stream-parts.ts";

const PATH = "/v1/merged";
const EXPECTED = {
  summary: "Subscribe to the chats of several videos and channels on one connection",
  querystring: MergedQuery,
  headers: MergedHeaders,
};

export function mergedRoute(app: FastifyInstance, parts: StreamParts): void {
  app.get<{ Querystring: MergedQuery; Headers: StreamHeaders }>(
    PATH,
    {
      ...routeOptions(PATH, EXPECTED, MergedResponse),
      preValidation: knownParametersOnly(MergedQuery),
    },
    async (request, reply) => {
      const asked = mergedAsked(request);
      const gone = clientGone(reply.raw, { endsByItself: asked.isBounded });
      request.raw.resume(); // as in /v1/stream
      const begin = (place: ViewerPlace) => {
        const open = () => place.keep(openSink(reply, asked, gone, parts, place.giveBack));
        openMerged(asked, networkOf(request.ip), parts, open);
      };
      const count = asked.videoIds.length + asked.channels.length;
      await parts.viewerPlaces.takeFor(request, gone, begin, count);
    },
  );
}

/** Throws `RelayError` INVALID_VIDEO_ID and INVALID_REQUEST. */
export function mergedAsked({ query, headers }: StreamInput<MergedQuery>) {
  const { videoIds, channels } = mergedNames(query);
  if (channels.length > 0) refuseUntil(query);
  const begins = cursorsIn(query.cursors);
  const parse = (id: string | undefined) => parseMergedId(id, videoIds.length, channels.length);
  const resumed = parse(headers["last-event-id"]) ?? parse(query.lastEventId);
  const cursors = videoIds.map((videoId, i) => resumed?.cursors[i] ?? begins.get(videoId));
  const places = channels.map((_, i) => resumed?.places[i]);
  for (const videoId of videoIds) begins.delete(videoId); // the others are videos of the channels
  const form = formAsked({ query, headers });
  return { videoIds, channels, cursors, places, begins, ...partAsked(query), form };
}

/**
 * Everything after the check of a request, apart from Fastify. `open` begins the answer; the chats are read
 * in the background. Throws `RelayError` CAPACITY, and what `open` throws.
 */
export function openMerged(
  { videoIds, channels, cursors, places, begins, form, ...asked }: ReturnType<typeof mergedAsked>,
  address: string,
  served: StreamService,
  open: () => BodySink,
): void {
  const { rooms, videoChannels } = served;
  rooms.assertBelowMaxViewers(videoIds.length + channels.length);
  using owned = new DisposableStack();
  const watches = channels.map((channel, i) => ({
    watch: owned.use(served.channels.watch(channel, address)),
    resume: places[i],
  }));
  const reserved = owned.use(rooms.reserveOpenings(videoIds, address));
  const requests = videoIds.map((videoId, i) => ({
    ...asked,
    videoId,
    lastEventId: cursors[i],
    address: () => address,
  }));
  const { multiplex, parts } = openMultiplex("merged", form, served, open);
  const ofChannels = { ...asked, address, begins };
  void readMerged(
    multiplex,
    { requests, watches, ofChannels, reserved },
    { ...parts, videoChannels },
    owned.move(),
  );
}
