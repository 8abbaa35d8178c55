/** `GET /v1/videos/{videoId}`: the channel of a video. Edges need it to check the rights of viewers. */
import type { FastifyInstance } from "fastify";
import { parseChannel } from "../protocol/channel.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { VideoChannels } from "../rooms/channels/video-channels.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import { networkOf } from "./access/address-limit.ts";
import { clientGone } from "./connections/client-gone.ts";
import { json, routeOptions } from "./schemas/responses.ts";
import { RoomParams, VideoQuery, VideoResponse } from "./schemas/room-schemas.ts";
import { knownParametersOnly } from "./strict-query.ts";

const EXPECTED = { summary: "Show the channel of a video", params: RoomParams, querystring: VideoQuery };
const OPTIONS = {
  ...routeOptions("/v1/videos/{videoId}", EXPECTED, json("The video and its channel.", VideoResponse)),
  preValidation: knownParametersOnly(VideoQuery),
};

export function videoRoute(app: FastifyInstance, videoChannels: VideoChannels): void {
  type Route = { Params: RoomParams; Querystring: VideoQuery };
  app.get<Route>("/v1/videos/:videoId", OPTIONS, async (request, reply) => {
    const videoId = parseVideoId(request.params.videoId);
    const asked = request.query.channels?.split(",").map(parseChannel);
    const address = () => networkOf(request.ip);
    const gone = clientGone(reply.raw);
    const question = { videoId, channels: asked };
    const channels = await videoChannels.namesOf(question, address, gone).catch(refuseUnavailable);
    return { videoId, channels };
  });
}
