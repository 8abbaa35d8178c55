/** The videos and channels that a request asks to watch, in the one form of their names. */
import type { FastifyRequest } from "fastify";
import { parseChannel } from "../../protocol/channel.ts";
import { RelayError } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { videosIn } from "../streams/merged.ts";

interface Named {
  videoId?: string;
  videoIds?: string;
  channel?: string;
}

/**
 * At least one name: a request that names nothing must not be taken for one that asks for nothing. Throws
 * `RelayError` INVALID_REQUEST and INVALID_VIDEO_ID, as the routes themselves do.
 */
export function askedNames({ query, params }: FastifyRequest): string[] {
  const { videoId, videoIds, channel }: Named = { ...(query as Named), ...(params as Named) };
  const names = [
    ...(videoId === undefined ? [] : [parseVideoId(videoId)]),
    ...(videoIds === undefined ? [] : videosIn(videoIds)),
    ...(channel === undefined ? [] : [parseChannel(channel)]),
  ];
  if (names.length > 0) return names;
  throw new RelayError("INVALID_REQUEST", "videoId or channel: exactly one of the two is required.");
}
