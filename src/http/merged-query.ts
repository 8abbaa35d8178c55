/** What the query of `/v1/merged` names: the videos, the channels, and the cursors at which chats begin. */
import { parseChannel } from "../protocol/channel.ts";
import { invalidRequest } from "../protocol/errors.ts";
import { quoted } from "../protocol/pasted-name.ts";
import { parseListedVideoId, VIDEO_ID_FORM } from "../protocol/video-id.ts";
import { parseCursor } from "../serving/resume-or-backfill.ts";

/** The maximum number of videos and channels together. */
const MAX_CHATS = 20;
const PAIR = new RegExp(`^(${VIDEO_ID_FORM}):(\\d+)$`);

interface MergedNames {
  videoIds: readonly string[];
  /** As `parseChannel` returns them. */
  channels: readonly string[];
}

/**
 * The names that the query has. Throws `RelayError` INVALID_VIDEO_ID, and INVALID_REQUEST for none, too many,
 * one named twice, or a channel's that has no valid form.
 */
export function mergedNames({ videoIds, channels }: { videoIds?: string; channels?: string }): MergedNames {
  if (videoIds === undefined && channels === undefined)
    throw invalidRequest("videoIds or channels: at least one of the two is required.");
  const lists = { videoIds: namesIn(videoIds), channels: namesIn(channels) };
  if (lists.videoIds.length + lists.channels.length > MAX_CHATS)
    throw invalidRequest(
      channels === undefined
        ? `videoIds: must not be more than ${MAX_CHATS} videos.`
        : `videoIds, channels: must not be more than ${MAX_CHATS} together.`,
    );
  const named = {
    videoIds: lists.videoIds.map(parseListedVideoId),
    channels: lists.channels.map(parseChannel),
  };
  for (const [list, names] of Object.entries(named)) refuseTwice(list, names);
  return named;
}

/**
 * The cursors of `videoId:cursor,…`, by video. Throws `RelayError` INVALID_REQUEST for another form, and for
 * a video named twice.
 */
export function cursorsIn(list: string | undefined): Map<string, number> {
  const pairs = namesIn(list?.trim() || undefined).map((pair): [string, number] => {
    const [, videoId, digits] = PAIR.exec(pair) ?? [];
    const cursor = parseCursor(digits);
    if (videoId !== undefined && cursor !== undefined) return [videoId, cursor];
    throw invalidRequest(
      `cursors: must be pairs of a video id and a cursor, such as dQw4w9WgXcQ:1795163753064: ${quoted(pair)}.`,
    );
  });
  refuseTwice(
    "cursors",
    pairs.map(([videoId]) => videoId),
  );
  return new Map(pairs);
}

function namesIn(list: string | undefined): string[] {
  return list?.split(",").map((name) => name.trim()) ?? [];
}

function refuseTwice(list: string, names: readonly string[]): void {
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw invalidRequest(`${list}: names ${twice} twice.`);
}
