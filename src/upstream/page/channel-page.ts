/**
 * The streams of a channel, as its pages show them. The streams tab lists all of them, in one of two layouts;
 * a watch page shows one. The state of a stream is read from structure, because texts are translated;
 * only the badge of a lockup parts a scheduled stream from a finished one by its text. Pure functions whose
 * cost is bounded for any page.
 */
import {
  asArray,
  asNumber,
  asObject,
  asString,
  dig,
  type JsonObject,
  omitUndefined,
} from "../../base/json.ts";
import { CHANNEL_ID } from "../../protocol/channel.ts";
import type { WallOf } from "../../protocol/chat-standing.ts";
import { VIDEO_ID } from "../../protocol/video-id.ts";
import { BOUNDS, plausibleTime, timeIn } from "../bounds.ts";
import { sanitised, shorten, wordsOf } from "../readers/text.ts";
import { handleIn } from "./channel-names.ts";
import { channelData } from "./initial-data.ts";
import { noData, whyNoChat } from "./no-chat.ts";

/** A stream that has not begun. */
export interface ScheduledStream {
  videoId: string;
  /** Wall time in milliseconds; absent if the page does not name it. */
  startsAt?: number;
  /** If the page does not show the time: the text in its place, which changes with the schedule. */
  note?: string;
}

export interface ChannelNames {
  channelId?: string;
  /** With its `@`, in lower case. */
  handle?: string;
  title?: string;
}

/**
 * A stream that the tab marks as members only is never in `live` or `upcoming`, because anonymous visitors
 * cannot read its chat.
 */
export interface ChannelSight extends ChannelNames {
  /** The ids of the videos that are live, the newest first. */
  live: readonly string[];
  upcoming: readonly ScheduledStream[];
  /** The ids of the channel's other videos: finished streams, and streams for members only. */
  others: readonly string[];
}

export type ChannelPage =
  /** `streams`: the tab, with all streams. `other`: a page that shows no streams, such as the home page. */
  | ({ shows: "streams" | "other" } & ChannelSight)
  /** The page of one video, which may be over. */
  | ({ shows: "watch"; videoId: string } & ChannelSight)
  /** `absent`: there is no such channel. `wall`: the page says nothing. `why`: without a full stop. */
  | { shows: "nothing"; means: "absent"; why: string }
  | { shows: "nothing"; means: "wall"; why: string; wallOf: WallOf };

/** A video's length. A finished video shows it where others show a word for their state. */
const LENGTH = /^\d{1,3}(?::\d\d){1,2}$/;

/** Reads any page of a channel, or a watch page. Never throws. */
export function readChannelPage(html: string): ChannelPage {
  const { channel: data, player } = channelData(html);
  if (!data) {
    const [, why, wallOf] = noData(html);
    return wall(why, wallOf);
  }
  const browsed = dig(data, "contents", "twoColumnBrowseResultsRenderer");
  if (browsed !== undefined) return channelPage(data, browsed);
  const watched = asString(dig(data, "currentVideoEndpoint", "watchEndpoint", "videoId"));
  if (watched !== undefined) return watchPage(html, watched, data, player);
  const alerts = (asArray(data.alerts) ?? []).map((alert) => dig(alert, "alertRenderer"));
  const refusal = alerts.find((alert) => dig(alert, "type") === "ERROR");
  if (data.contents !== undefined || !refusal) return wall("the page is of an unknown form");
  return { shows: "nothing", means: "absent", why: sanitised(wordsOf(dig(refusal, "text"))) };
}

function wall(why: string, wallOf: WallOf = "video"): ChannelPage {
  return { shows: "nothing", means: "wall", why, wallOf };
}

function watchPage(
  html: string,
  videoId: string,
  data: JsonObject,
  player: JsonObject | undefined,
): ChannelPage {
  const details = asObject(dig(player, "videoDetails"));
  if (!VIDEO_ID.test(videoId) || details?.videoId !== videoId) {
    const { why, wallOf } = whyNoChat(html, videoId, data, player);
    return wall(why, wallOf);
  }
  const format = dig(player, "microformat", "playerMicroformatRenderer");
  const broadcast = dig(format, "liveBroadcastDetails");
  const isLive = details.isLive === true || dig(broadcast, "isLiveNow") === true;
  const isUpcoming = !isLive && details.isUpcoming === true;
  return {
    shows: "watch",
    videoId,
    ...names(details.channelId, dig(format, "ownerProfileUrl"), details.author),
    live: isLive ? [videoId] : [],
    upcoming: isUpcoming ? [scheduled(videoId, startIn(player, broadcast))] : [],
    others: isLive || isUpcoming ? [] : [videoId],
  };
}

/** The scheduled start: the player's offline slate has it in seconds, else the broadcast as ISO 8601. */
function startIn(player: JsonObject | undefined, broadcast: unknown): number | undefined {
  const offline = dig(player, "playabilityStatus", "liveStreamability", "liveStreamabilityRenderer");
  const slate = dig(offline, "offlineSlate", "liveStreamOfflineSlateRenderer");
  return fromSeconds(dig(slate, "scheduledStartTime")) ?? timeIn(dig(broadcast, "startTimestamp"));
}

function channelPage(data: JsonObject, browsed: unknown): ChannelPage {
  const metadata = dig(data, "metadata", "channelMetadataRenderer");
  const known = names(dig(metadata, "externalId"), dig(metadata, "vanityChannelUrl"), dig(metadata, "title"));
  const tabs = (asArray(dig(browsed, "tabs")) ?? []).map((tab) => dig(tab, "tabRenderer"));
  const shown = tabs.find((tab) => dig(tab, "selected") === true);
  const path = dig(shown, "endpoint", "commandMetadata", "webCommandMetadata", "url");
  if (!asString(path)?.endsWith("/streams"))
    return { shows: "other", ...known, live: [], upcoming: [], others: [] };

  const items = asArray(dig(shown, "content", "richGridRenderer", "contents")) ?? [];
  const contents = items
    .slice(0, BOUNDS.streams)
    .map((item) => asObject(dig(item, "richItemRenderer", "content")))
    .filter((content) => content !== undefined);
  const listed = contents.flatMap((content) => listedStream(content) ?? []);
  if (contents.length > 0 && listed.length === 0) return wall("the streams tab is of an unknown form");
  return {
    shows: "streams",
    ...known,
    live: listed.flatMap(({ state, stream }) => (state === "live" ? stream.videoId : [])),
    upcoming: listed.flatMap(({ state, stream }) => (state === "upcoming" ? stream : [])),
    others: listed.flatMap(({ state, stream }) => (state === "other" ? stream.videoId : [])),
  };
}

interface ListedStream {
  state: "live" | "upcoming" | "other";
  stream: ScheduledStream;
}

/** Undefined for an unknown layout. */
function listedStream(content: JsonObject): ListedStream | undefined {
  const renderer = asObject(content.videoRenderer);
  if (renderer) return inRenderer(renderer);
  const lockup = asObject(content.lockupViewModel);
  return lockup && inLockup(lockup);
}

function inRenderer(renderer: JsonObject): ListedStream | undefined {
  const videoId = asString(renderer.videoId);
  if (videoId === undefined || !VIDEO_ID.test(videoId)) return undefined;
  const overlays = asArray(renderer.thumbnailOverlays) ?? [];
  const styles = overlays.map((overlay) => dig(overlay, "thumbnailOverlayTimeStatusRenderer", "style"));
  const badges = asArray(renderer.badges) ?? [];
  const isMembersOnly = badges.some(
    (badge) => dig(badge, "metadataBadgeRenderer", "style") === "BADGE_STYLE_TYPE_MEMBERS_ONLY",
  );
  const event = asObject(renderer.upcomingEventData);
  const isUpcoming = event !== undefined || styles.includes("UPCOMING");
  const state = styles.includes("LIVE") ? "live" : isUpcoming ? "upcoming" : "other";
  const stream = scheduled(videoId, fromSeconds(event?.startTime));
  return { state: isMembersOnly ? "other" : state, stream };
}

/** A lockup names no time. Only the text of its badge separates a scheduled stream from a finished one. */
function inLockup(lockup: JsonObject): ListedStream | undefined {
  const videoId = asString(lockup.contentId);
  if (videoId === undefined || !VIDEO_ID.test(videoId)) return undefined;
  const overlays = asArray(dig(lockup, "contentImage", "thumbnailViewModel", "overlays")) ?? [];
  const badges = overlays.flatMap(badgesIn);
  const metadata = dig(lockup, "metadata", "lockupMetadataViewModel", "metadata");
  const rows = asArray(dig(metadata, "contentMetadataViewModel", "metadataRows")) ?? [];
  const isMembersOnly = rows
    .flatMap((row) => asArray(dig(row, "badges")) ?? [])
    .some((badge) => dig(badge, "badgeViewModel", "badgeStyle") === "BADGE_MEMBERS_ONLY");
  const isLive = badges.some(({ badgeStyle }) => badgeStyle === "THUMBNAIL_OVERLAY_BADGE_STYLE_LIVE");
  const words = badges.map(({ text }) => asString(text) ?? "").filter((text) => text !== "");
  const isUpcoming = words.length > 0 && !words.some((text) => LENGTH.test(text));
  const state = isLive ? "live" : isUpcoming ? "upcoming" : "other";
  return { state: isMembersOnly ? "other" : state, stream: { videoId, note: noteOf(rows) } };
}

/** The badges on a thumbnail; the name of their list differs between overlays. */
function badgesIn(overlay: unknown): JsonObject[] {
  return Object.values(asObject(overlay) ?? {})
    .flatMap((view) => asArray(dig(view, "badges")) ?? asArray(dig(view, "thumbnailBadges")) ?? [])
    .map((badge) => asObject(dig(badge, "thumbnailBadgeViewModel")))
    .filter((badge) => badge !== undefined);
}

/** The last text of the rows. For a scheduled stream it is the date; the number of viewers precedes it. */
function noteOf(rows: readonly unknown[]): string {
  const parts = rows.flatMap((row) => asArray(dig(row, "metadataParts")) ?? []);
  return shorten(dig(parts.at(-1), "text", "content"));
}

function scheduled(videoId: string, startsAt: number | undefined): ScheduledStream {
  return startsAt === undefined ? { videoId } : { videoId, startsAt };
}

function names(channelId: unknown, url: unknown, title: unknown): ChannelNames {
  const id = asString(channelId) ?? "";
  return omitUndefined<ChannelNames>({
    channelId: CHANNEL_ID.test(id) ? id : undefined,
    handle: handleIn(asString(url) ?? "")[0],
    title: shorten(title) || undefined,
  });
}

function fromSeconds(seconds: unknown): number | undefined {
  return plausibleTime((asNumber(seconds) ?? Number.NaN) * 1000);
}
