/**
 * What a video is, as rooms keep it: `VideoFacts` as JSON text. Read leniently: a fact that is damaged, or
 * longer than it can be, is one that no page has said.
 */
import { asString, dig, omitUndefined, parseJson, unlessEmpty } from "../base/json.ts";
import { CHANNEL_ID } from "../protocol/channel.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";

/** Five times the length of the longest title, in UTF-16 units. */
const MAX_LENGTH = 500;
/** As `Date.toISOString` writes it. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** `stored`: null before a page has said anything. */
export function readVideo(stored: string | null): VideoFacts {
  return stored === null ? {} : videoFactsIn(parseJson(stored));
}

/** The facts in a value of any form. */
export function videoFactsIn(value: unknown): VideoFacts {
  const [title, startedAt, endedAt] = [dig(value, "title"), dig(value, "startedAt"), dig(value, "endedAt")];
  const [id, name, handle] = ["id", "name", "handle"].map((key) => wordsIn(dig(value, "channel", key)));
  const channel = omitUndefined<NonNullable<VideoFacts["channel"]>>({ id, name, handle });
  return omitUndefined<VideoFacts>({
    title: wordsIn(title),
    channel: unlessEmpty(channel),
    startedAt: timeIn(startedAt),
    endedAt: timeIn(endedAt),
  });
}

/** The part of a stored text that says that the video is this channel's; `channel` is its id or handle. */
export function asShown(channel: string): string {
  return `"${CHANNEL_ID.test(channel) ? "id" : "handle"}":${JSON.stringify(channel)}`;
}

/** The text to store. */
export function videoText(facts: VideoFacts): string {
  return JSON.stringify(videoFactsIn(facts));
}

function wordsIn(value: unknown): string | undefined {
  const words = asString(value);
  return words !== undefined && words !== "" && words.length <= MAX_LENGTH ? words : undefined;
}

function timeIn(value: unknown): string | undefined {
  const time = asString(value);
  return time !== undefined && TIME.test(time) ? time : undefined;
}
