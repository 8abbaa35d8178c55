/**
 * The pages of a channel: its home page and its streams tab in both layouts, with the data of the real ones.
 * Shapes and order are those of public snapshots of 2026-02 and 2026-04 (Agash/YTLiveChat on GitHub,
 * `YTLiveChat.Tests/TestData/WebSnapshots`).
 */
import { type Answer, html, responseContext, trackingParams } from "./answers.ts";
import { type Credentials, frame } from "./document.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import type { Broadcast, Channel, ChannelScenario } from "./simulated-channel.ts";

/** The number of streams on the tab; a real one continues with the next page while it is scrolled. */
const MAX_LISTED = 30;

const WORDS = {
  en: {
    ...{ home: "Home", videos: "Videos", upcoming: "Upcoming", members: "Members only" },
    ...{ waiting: "waiting", watching: "watching", scheduled: "Scheduled for ", locale: "en-US" },
    ...{ ended: "Streamed 1 day ago", gone: "This channel does not exist." },
  },
  de: {
    ...{ home: "Übersicht", videos: "Videos", upcoming: "Anstehend", members: "Nur für Kanalmitglieder" },
    ...{ waiting: "warten", watching: "Zuschauer", scheduled: "Geplant für: ", locale: "de" },
    ...{ ended: "vor 1 Tag gestreamt", gone: "Dieser Kanal existiert nicht." },
  },
} as const;

type Words = (typeof WORDS)[ChannelScenario["language"]];

/** The home page, which `/live` shows if there is no watch page, or the streams tab. */
export function channelPage(
  tab: "home" | "streams",
  channel: Channel,
  credentials: Credentials,
  random: Random,
): Answer {
  const { title, language, state } = channel.scenario;
  const words = WORDS[language];
  const context = responseContext(
    { client: "WEB", clientVersion: credentials.clientVersion },
    random,
    "GetChannelPage",
  );
  const url = `https://www.youtube.com/channel/${channel.channelId}`;
  const page = {
    contents: { twoColumnBrowseResultsRenderer: { tabs: tabs(tab, channel, words) } },
    header: { pageHeaderRenderer: { pageTitle: title } },
    metadata: {
      channelMetadataRenderer: {
        title,
        externalId: channel.channelId,
        vanityChannelUrl: `http://www.youtube.com/${channel.handle}`,
        channelUrl: url,
      },
    },
  };
  const alert = { alertRenderer: { type: "ERROR", text: { simpleText: words.gone } } };
  const data = {
    responseContext: context,
    ...(state === "terminated" ? { alerts: [alert] } : page),
    trackingParams: trackingParams(random),
  };
  const canonical = `<link rel="canonical" href="${url}">`;
  return frame(credentials, { initialData: "plain" }, "var ytInitialData", data, canonical);
}

/** The answer for a channel that does not exist. */
export function missingChannel(): Answer {
  return html(404, "<!DOCTYPE html><html><head><title>404 Not Found</title></head><body></body></html>");
}

/** A channel that never streamed has no streams tab: its home page is shown instead. */
function tabs(wanted: "home" | "streams", channel: Channel, words: Words): JsonObject[] {
  const { listed, handle } = channel;
  const shown = listed.length === 0 ? "home" : wanted;
  const tab = (title: string, path: string, content?: JsonObject): JsonObject => ({
    tabRenderer: {
      endpoint: { commandMetadata: { webCommandMetadata: { url: `/${handle}/${path}` } } },
      title,
      ...(content && { selected: true, content }),
    },
  });
  const home = shown === "home" ? { sectionListRenderer: { contents: [] } } : undefined;
  const streams = shown === "streams" ? { richGridRenderer: { contents: grid(channel, words) } } : undefined;
  return [
    tab(words.home, "featured", home),
    tab(words.videos, "videos"),
    ...(listed.length > 0 ? [tab("Live", "streams", streams)] : []),
  ];
}

function grid({ listed, scenario }: Channel, words: Words): JsonObject[] {
  const itemOf = scenario.layout === "videoRenderer" ? rendererOf : lockupOf;
  const items = listed
    .slice(0, MAX_LISTED)
    .map((broadcast) => ({ richItemRenderer: { content: itemOf(broadcast, words) } }));
  return listed.length > MAX_LISTED ? [...items, { continuationItemRenderer: {} }] : items;
}

function rendererOf(broadcast: Broadcast, words: Words): JsonObject {
  const { videoId, title, state, startsAt } = broadcast;
  const isLocked = broadcast.isMembersOnly && state !== "upcoming";
  const status = {
    upcoming: { text: { simpleText: words.upcoming }, style: "UPCOMING" },
    live: { text: { simpleText: "LIVE" }, style: "LIVE" },
    ended: { text: { simpleText: lengthOf(broadcast) }, style: "DEFAULT" },
  }[state];
  const upcomingEventText = { runs: [{ text: words.scheduled }, { text: "DATE_PLACEHOLDER" }] };
  const startTime = String(Math.floor(startsAt / 1000));
  const watched = { runs: [{ text: "517" }, { text: ` ${viewersIn(broadcast, words)}` }] };
  const badge = {
    style: "BADGE_STYLE_TYPE_MEMBERS_ONLY",
    label: words.members,
    icon: { iconType: "SPONSORSHIP_STAR" },
  };
  return {
    videoRenderer: {
      videoId,
      title: { runs: [{ text: title }] },
      navigationEndpoint: { watchEndpoint: { videoId } },
      ...(state === "ended"
        ? { publishedTimeText: { simpleText: words.ended }, lengthText: { simpleText: lengthOf(broadcast) } }
        : !isLocked && { viewCountText: watched, shortViewCountText: watched }),
      ...(state === "upcoming" && {
        upcomingEventData: { startTime, isReminderSet: false, upcomingEventText },
      }),
      ...(isLocked && { badges: [{ metadataBadgeRenderer: badge }] }),
      showActionMenu: false,
      thumbnailOverlays: [{ thumbnailOverlayTimeStatusRenderer: status }],
    },
  };
}

function lockupOf(broadcast: Broadcast, words: Words): JsonObject {
  const { videoId, title, state, startsAt } = broadcast;
  const isLive = state === "live";
  const badge = {
    ...(isLive && { icon: {} }),
    text: isLive ? "LIVE" : state === "upcoming" ? words.upcoming : lengthOf(broadcast),
    badgeStyle: `THUMBNAIL_OVERLAY_BADGE_STYLE_${isLive ? "LIVE" : "DEFAULT"}`,
    animationActivationTargetId: videoId,
  };
  const date = new Intl.DateTimeFormat(words.locale, {
    ...{ dateStyle: "short", timeStyle: "short" },
    timeZone: "UTC",
  }).format(startsAt);
  const texts = {
    upcoming: [`4 ${viewersIn(broadcast, words)}`, `${words.scheduled}${date}`],
    live: [`14k ${viewersIn(broadcast, words)}`],
    ended: [words.ended],
  }[state];
  const members = {
    badgeText: words.members,
    badgeStyle: "BADGE_MEMBERS_ONLY",
    iconName: "SPONSORSHIP_STAR",
  };
  const metadataRows = [
    { metadataParts: texts.map((content) => ({ text: { content } })) },
    ...(broadcast.isMembersOnly && state !== "upcoming" ? [{ badges: [{ badgeViewModel: members }] }] : []),
  ];
  return {
    lockupViewModel: {
      contentImage: {
        thumbnailViewModel: {
          overlays: [{ thumbnailBottomOverlayViewModel: { badges: [{ thumbnailBadgeViewModel: badge }] } }],
        },
      },
      metadata: {
        lockupMetadataViewModel: {
          title: { content: title },
          metadata: { contentMetadataViewModel: { metadataRows, delimiter: " • " } },
        },
      },
      contentId: videoId,
      contentType: "LOCKUP_CONTENT_TYPE_VIDEO",
    },
  };
}

function viewersIn({ state }: Broadcast, words: Words): string {
  return state === "live" ? words.watching : words.waiting;
}

/** `1:02:03`, or `2:03` below an hour. */
function lengthOf({ startedAt = 0, endedAt = startedAt }: Broadcast): string {
  const seconds = Math.floor((endedAt - startedAt) / 1000);
  const two = (number: number) => String(Math.floor(number) % 60).padStart(2, "0");
  return seconds < 3600
    ? `${Math.floor(seconds / 60)}:${two(seconds)}`
    : `${Math.floor(seconds / 3600)}:${two(seconds / 60)}:${two(seconds)}`;
}
