/**
 * The id of a connection that carries several chats: what its client has of all of them.
 * `client/stream-table.ts` writes it again, because the SDK must stay small.
 */
import { VIDEO_ID } from "./video-id.ts";

const NONE = "_";

/** A place in the chats of a channel: a video, and a cursor of its chat. */
export interface ChannelPlace {
  videoId: string;
  cursor: number;
}

/** What a client has of each video that it names, and of each channel; undefined where it has nothing. */
interface MergedPlaces {
  cursors: readonly (number | undefined)[];
  places: readonly (ChannelPlace | undefined)[];
}

/** The later of two cursors; undefined if there is none. */
export function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.max(one, other ?? one);
}

/** The cursor of each chat, in base 36; `_` for a chat without one. */
export function vectorOf(cursors: readonly (number | undefined)[]): string {
  return cursors.map((cursor) => cursor?.toString(36) ?? NONE).join(".");
}

/** Undefined for a text of another form or length. */
export function parseVector(text: string | undefined, length: number): (number | undefined)[] | undefined {
  const cursors = text?.split(".").map((part) => (part === NONE ? undefined : Number.parseInt(part, 36)));
  const isValid = cursors?.every((cursor = 0) => Number.isSafeInteger(cursor) && cursor >= 0);
  return isValid && cursors?.length === length && vectorOf(cursors) === text ? cursors : undefined;
}

/** The vector of the videos, then the place in each channel: `<cursor in base 36>:<videoId>`, or `_`. */
export function mergedIdOf({ cursors, places }: MergedPlaces): string {
  const ofChannels = places.map((place) => (place ? `${vectorOf([place.cursor])}:${place.videoId}` : NONE));
  return [...cursors.map((cursor) => vectorOf([cursor])), ...ofChannels].join(".");
}

/** Undefined for a text of another form, or of other numbers of videos and channels. */
export function parseMergedId(
  text: string | undefined,
  videos: number,
  channels: number,
): MergedPlaces | undefined {
  const parts = text?.split(".").map((part) => part.split(":")) ?? [];
  const numbers = parseVector(parts.map(([cursor]) => cursor).join("."), videos + channels);
  if (!numbers) return undefined;
  const places = numbers.slice(videos).map((cursor, channel) => {
    const [, videoId = ""] = parts[videos + channel] ?? [];
    return cursor === undefined ? undefined : { videoId, cursor };
  });
  const found = { cursors: numbers.slice(0, videos), places };
  const isValid = places.every((place) => !place || VIDEO_ID.test(place.videoId));
  return isValid && mergedIdOf(found) === text ? found : undefined;
}
