/**
 * What a watch page, or an answer of `next`, says of its video: the title, the channel, and when the stream
 * began and ended. A popout page says nothing of it, and an answer of `next` no times.
 */
import { asArray, asString, dig, type JsonObject, omitUndefined, unlessEmpty } from "../../base/json.ts";
import { CHANNEL_ID } from "../../protocol/channel.ts";
import type { VideoFacts } from "../../protocol/video-facts.ts";
import { timeIn } from "../bounds.ts";
import { shorten, wordsOf } from "../readers/text.ts";
import { handleIn } from "./channel-names.ts";
import { videoIn } from "./no-chat.ts";

/**
 * `content` and `playerData`: as in `videoData`. Undefined if the page says nothing, or is of another video.
 */
export function toldVideo(
  content: JsonObject | undefined,
  playerData: () => JsonObject | undefined,
  videoId: string,
): VideoFacts | undefined {
  const watched = dig(content, "contents", "twoColumnWatchNextResults");
  if (!content || watched === undefined || (videoIn(content) ?? videoId) !== videoId) return undefined;
  const player = playerData();
  const shown = asString(dig(player, "videoDetails", "videoId"));
  const ofPlayer = shown === undefined || shown === videoId ? player : undefined;
  const details = dig(ofPlayer, "videoDetails");
  const format = dig(ofPlayer, "microformat", "playerMicroformatRenderer");
  const below = asArray(dig(watched, "results", "results", "contents"));
  const part = (name: string) => (below ?? []).map((item) => dig(item, name)).find(Boolean);
  const title = wordsOf(dig(part("videoPrimaryInfoRenderer"), "title"));
  const owner = dig(part("videoSecondaryInfoRenderer"), "owner", "videoOwnerRenderer");
  const page = dig(owner, "navigationEndpoint", "browseEndpoint");
  const profiles = [dig(format, "ownerProfileUrl"), dig(page, "canonicalBaseUrl")].map(
    (url) => asString(url) ?? "",
  );
  const channel = omitUndefined<NonNullable<VideoFacts["channel"]>>({
    id: [dig(details, "channelId"), dig(page, "browseId")]
      .map(asString)
      .find((id) => CHANNEL_ID.test(id ?? "")),
    name: words(shorten(dig(details, "author")) || wordsOf(dig(owner, "title"))),
    handle: profiles.flatMap(handleIn)[0],
  });
  return unlessEmpty(
    omitUndefined<VideoFacts>({
      title: words(shorten(dig(details, "title")) || title),
      channel: unlessEmpty(channel),
      ...timesIn(ofPlayer),
    }),
  );
}

/**
 * The facts once a later page has shown these: it adds and corrects, and takes none away, except those of a
 * channel with another id.
 */
export function mergedFacts(known: VideoFacts, told: VideoFacts): VideoFacts {
  if (!told.channel) return { ...known, ...told };
  const isOther = told.channel.id !== undefined && told.channel.id !== known.channel?.id;
  return { ...known, ...told, channel: isOther ? told.channel : { ...known.channel, ...told.channel } };
}

/** A stream that has not begun names the time of its schedule as its start: that is left out. */
function timesIn(player: JsonObject | undefined): Record<"startedAt" | "endedAt", string | undefined> {
  const broadcast = dig(player, "microformat", "playerMicroformatRenderer", "liveBroadcastDetails");
  const endedAt = isoIn(dig(broadcast, "endTimestamp"));
  const isOffline = dig(player, "playabilityStatus", "status") === "LIVE_STREAM_OFFLINE";
  const hasBegun = endedAt !== undefined || dig(broadcast, "isLiveNow") === true || !isOffline;
  const isUpcoming = dig(player, "videoDetails", "isUpcoming") === true;
  const startedAt = hasBegun && !isUpcoming ? isoIn(dig(broadcast, "startTimestamp")) : undefined;
  return { startedAt, endedAt };
}

/** ISO 8601 in UTC; undefined for anything else than a time. */
function isoIn(value: unknown): string | undefined {
  const time = timeIn(value);
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** Undefined for empty text. */
function words(text: string): string | undefined {
  return text.toWellFormed().trim() || undefined;
}
