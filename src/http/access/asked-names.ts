/**
 * The videos and channels that a request asks to watch, in the one form of their names. A request that names
 * none is refused, so that nothing passes the check of rights unnamed.
 */
import type { FastifyRequest } from "fastify";
import { parseChannel } from "../../protocol/channel.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { mergedNames } from "../merged-query.ts";

interface Named {
  videoId?: string;
  videoIds?: string;
  channels?: string;
  channel?: string;
}

/**
 * At least one name: a request that names nothing must not be taken for one that asks for nothing. Throws
 * `RelayError` INVALID_REQUEST and INVALID_VIDEO_ID, as the routes themselves do.
 */
export function askedNames({ query, params, routeOptions }: FastifyRequest): string[] {
  const named: Named = { ...(query as Named), ...(params as Named) };
  const { videoId, videoIds, channel, channels } = named;
  // Beside a video, `channels` is an edge's question about it.
  const isMerged =
    routeOptions.url === "/v1/merged" ||
    videoIds !== undefined ||
    (videoId === undefined && channels !== undefined);
  const names = [
    ...(videoId === undefined ? [] : [parseVideoId(videoId)]),
    ...(isMerged ? Object.values(mergedNames(named)).flat() : []),
    ...(channel === undefined ? [] : [parseChannel(channel)]),
  ];
  if (names.length > 0) return names;
  throw invalidRequest("videoId or channel: exactly one of the two is required.");
}
