/** The lines of an origin's stream of a channel, read strictly: what they say is sent on to clients. */
import { asArray, asString, dig, omitUndefined, parseJson } from "../base/json.ts";
import { CHANNEL_ID, type ChannelState } from "../protocol/channel.ts";
import { isErrorCode, RelayError } from "../protocol/errors.ts";
import { VIDEO_ID } from "../protocol/video-id.ts";
import { OriginAwayError } from "./origin-refusal.ts";

/** Titles and reasons have at most a few hundred characters. */
const MAX_TEXT_LENGTH = 2000;

/** The state in a line of the event `channel`. Throws `OriginAwayError` if it is none. */
export function stateIn(line: string, channel: string): ChannelState {
  const said = parseJson(line);
  const text = (name: string) => asString(dig(said, name))?.slice(0, MAX_TEXT_LENGTH);
  const [state, channelId, videoId, startsAt] = ["state", "channelId", "videoId", "startsAt"].map(text);
  const isValid =
    (channelId === undefined || CHANNEL_ID.test(channelId)) &&
    (startsAt === undefined || isTime(startsAt)) &&
    (videoId === undefined ? state === "waiting" : VIDEO_ID.test(videoId)) &&
    (state !== "waiting" || videoId === undefined || text("reason") !== undefined);
  if (!isValid || (state !== "waiting" && state !== "live" && state !== "upcoming"))
    throw new OriginAwayError("a line of its answer is not the state of a channel");
  const names = omitUndefined({ channelId, title: text("title") });
  return { channel, ...names, state, ...omitUndefined({ videoId, startsAt, reason: text("reason") }) };
}

/** All videos that are live, as such a line has them; none if it names a single one. */
export function liveIn(line: string): string[] {
  const ids = asArray(dig(parseJson(line), "live")) ?? [];
  return ids.filter((id): id is string => typeof id === "string" && VIDEO_ID.test(id));
}

/** The error in the last line of a stream that the origin has ended. */
export function errorIn(line: string): RelayError {
  const error = parseJson(line);
  const message = asString(dig(error, "message")) ?? "The origin ended the stream of the channel.";
  const code = asString(dig(error, "code"));
  return new RelayError(isErrorCode(code) ? code : "INTERNAL", message.slice(0, MAX_TEXT_LENGTH));
}

function isTime(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text;
}
