/** `GET /v1/merged`: up to twenty chats on one connection; one id resumes all of them. */
import type { FastifyInstance } from "fastify";
import { parseVector } from "../../protocol/cursor-vector.ts";
import { RelayError } from "../../protocol/errors.ts";
import { parseListedVideoId } from "../../protocol/video-id.ts";
import { Multiplex } from "../../serving/multiplex/multiplex.ts";
import { PART_FORMS } from "../../serving/multiplex/parts.ts";
import { clientGone } from "../client-gone.ts";
import { errorConverter } from "../errors.ts";
import { MergedResponse, routeOptions } from "../schemas/responses.ts";
import { MergedHeaders, MergedQuery, type StreamHeaders } from "../schemas/schemas.ts";
import { knownParametersOnly } from "../strict-query.ts";
import { networkOf } from "./address-limit.ts";
import { readMerged } from "./merged-chat.ts";
import { formatFor, openSink } from "./open-sink.ts";
import { partAsked, type StreamParts } from "./stream-parts.ts";

const PATH = "/v1/merged";
const MAX_CHATS = 20;
const EXPECTED = {
  summary: "Subscribe to several videos' chats on one connection",
  querystring: MergedQuery,
  headers: MergedHeaders,
};

export function mergedRoute(app: FastifyInstance, parts: StreamParts): void {
  const { rooms, clock, telemetry, keepaliveMs } = parts;
  app.get<{ Querystring: MergedQuery; Headers: StreamHeaders }>(
    PATH,
    {
      ...routeOptions(PATH, EXPECTED, MergedResponse),
      exposeHeadRoute: false,
      preValidation: knownParametersOnly(MergedQuery),
    },
    async (request, reply) => {
      const { query, headers } = request;
      const gone = clientGone(reply.raw);
      const videoIds = videosIn(query.videoIds);
      const { length } = videoIds;
      const cursors =
        parseVector(headers["last-event-id"], length) ?? parseVector(query.lastEventId, length) ?? [];
      const details = query.details === "true";
      const format = formatFor(headers.accept);
      const common = { ...partAsked(query), address: () => networkOf(request.ip) };
      request.raw.resume(); // as in /v1/stream
      rooms.assertPlaces(length);
      const giveBack = parts.addresses.take(request, length);
      try {
        const toRelayError = errorConverter(PATH, telemetry);
        const sink = openSink(reply, details, gone, parts, giveBack);
        const line = new Multiplex(sink, format);
        telemetry.sources.connections.add("merged", line.gone);
        const requests = videoIds.map((videoId, place) => ({
          ...common,
          videoId,
          lastEventId: cursors[place],
        }));
        const form = PART_FORMS[format][details ? "detailed" : "plain"];
        void line.keepOpen({ clock, telemetry, keepaliveMs });
        await readMerged(line, requests, { rooms, clock, form, toRelayError });
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  );
}

/** Throws `RelayError` INVALID_VIDEO_ID, and INVALID_REQUEST for too many videos or one named twice. */
function videosIn(list: string): string[] {
  const names = list.split(",").map((name) => name.trim());
  if (names.length > MAX_CHATS)
    throw new RelayError("INVALID_REQUEST", `videoIds: must not be more than ${MAX_CHATS} videos.`);
  const videoIds = names.map(parseListedVideoId);
  const twice = videoIds.find((videoId, place) => videoIds.indexOf(videoId) !== place);
  if (twice !== undefined) throw new RelayError("INVALID_REQUEST", `videoIds: names ${twice} twice.`);
  return videoIds;
}
