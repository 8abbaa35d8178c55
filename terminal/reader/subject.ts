/** What a command reads: a video, or a channel with one stream after the other; and a place in it. */

import { UsageError } from "../../src/cli/flags.ts";
import {
  CHANNEL_PLACE,
  type ChannelState,
  isChannel,
  parseVideoOrChannel,
} from "../../src/protocol/channel.ts";

/** A cursor of a video's chat; for a channel, `<videoId>.<cursor>`. */
export type Cursor = number | string;

/** The channel that a name stands for; undefined for a video, and for a name that the service will refuse. */
export function channelIn(name: string): string | undefined {
  const found = parsed(name);
  return found !== undefined && isChannel(found) ? found : undefined;
}

/** The id of the video that a name stands for; a name that the service will refuse stays as it is. */
export function videoIn(name: string): string {
  return parsed(name) ?? name;
}

export function isVideoOrChannel(name: string): boolean {
  return parsed(name) !== undefined;
}

function parsed(name: string): string | undefined {
  try {
    return parseVideoOrChannel(name);
  } catch {
    return undefined;
  }
}

/** Undefined for any other text. */
export function parseCursor(text: string): Cursor | undefined {
  if (CHANNEL_PLACE.test(text)) return text;
  const cursor = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(cursor) ? cursor : undefined;
}

/** Whether both are cursors of one chat, and not of two streams of a channel. */
export function areOfOneChat(one: Cursor, other: Cursor): boolean {
  const videoOf = (cursor: Cursor) => CHANNEL_PLACE.exec(`${cursor}`)?.[1];
  return videoOf(one) === videoOf(other);
}

/** Whether a room of this name can continue after the cursor. */
export function isCursorOf(name: string, cursor: Cursor): boolean {
  return (channelIn(name) !== undefined) === (typeof cursor === "string");
}

/** Throws `UsageError` if `--since` is the cursor of a channel for a video, or the other way around. */
export function assertPlace(name: string, since: Cursor | undefined): void {
  if (since === undefined || isCursorOf(name, since)) return;
  throw new UsageError(
    typeof since === "string"
      ? `--since: ${since} is a place in a channel; a video continues after a whole number`
      : `--since: a channel continues after <video id>.<cursor>, not after ${since}`,
  );
}

/** As the command line takes it: the id of a video can begin with a dash. */
export function sinceFlag(cursor: Cursor): string {
  return `--since${`${cursor}`.startsWith("-") ? "=" : " "}${cursor}`;
}

/** A channel's state as a sentence without a full stop. */
export function newsOf({ channel, title = channel, state, videoId, startsAt, reason }: ChannelState): string {
  if (state === "live") return `${title} is live: video ${videoId}`;
  const why = reason === undefined ? "" : `: ${reason}`;
  if (state === "waiting" && videoId)
    return `${title}: the chat of video ${videoId} is not there; waiting${why}`;
  if (state === "waiting") return `${title} has no stream; waiting${why}`;
  const begins = startsAt === undefined ? "" : ` at ${startsAt.slice(0, 16).replace("T", " ")} UTC`;
  return `${title} has scheduled a stream${begins}: video ${videoId}`;
}
