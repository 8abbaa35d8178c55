/**
 * The places that show a chat: the popout page, the watch page and the answer of `next`, with the
 * configuration calls and the initial data of the real ones; also their forms without a chat, and the
 * upstream's walls.
 */
import {
  type Answer,
  header,
  html,
  json,
  liveContinuation,
  noChatMessage,
  reloadContinuation,
  responseContext,
  trackingParams,
} from "./answers.ts";
import { deadToken, type Grant } from "./continuation-book.ts";
import { type Credentials, document, frame, scriptJson } from "./document.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import type { AbsentKind, ChatKind, Place, Scenario, StreamState } from "./scenario.ts";

/** The content of a video's page. */
export interface PageContent {
  videoId: string;
  kind: ChatKind;
  /** Undefined if the page does not say it. */
  stream?: StreamState;
  /** The form of the initial data: an object, or a quoted and escaped string. */
  initialData: "plain" | "escaped";
  random: Random;
  /** Why the page has no chat. */
  absent?: AbsentKind | "bot" | "offline";
  chat?: PageChat;
  /** The broadcast of a channel; without one the page names neither channel nor times. */
  broadcast?: PageBroadcast | undefined;
  /** A captured page: complete HTML, or the initial data for a generated page. */
  captured?: string | JsonObject;
}

/** The facts about a channel's broadcast on its watch page. */
export interface PageBroadcast {
  title: string;
  channelId: string;
  channelTitle: string;
  /** With its `@`. */
  handle: string;
  /** Wall times in milliseconds: the start, or the scheduled one, and the end. */
  startsAt: number;
  endedAt?: number | undefined;
}

/** A chat on a page. */
interface PageChat {
  token: string;
  /** The tokens of the view menu. */
  views: Record<Grant["view"], string>;
  renderer: "liveChatRenderer" | "liveChatReplayRenderer";
  actions: readonly JsonObject[];
  timeoutMs: number | null;
  continuation: Scenario["continuation"];
  untilLastMs: number;
}

/**
 * The walls for an address that the upstream distrusts, whatever the video: a sign-in, a cookie question, a
 * page without data, another video's page, a stream that is reported not to be live.
 */
export const WALLS = ["bot", "consent", "no-data", "other-video", "offline"] as const;
export type Wall = (typeof WALLS)[number];

/** The content of each page without a chat; a `bar` is the text in place of the chat. */
const absences: Record<
  NonNullable<PageContent["absent"]>,
  { bar?: string; popout: string; status: string; reason?: string }
> = {
  none: { popout: "Live chat is not available for this video.", status: "OK" },
  disabled: {
    bar: "Chat is disabled for this live stream.",
    popout: "Chat is disabled for this live stream.",
    status: "OK",
  },
  off: {
    bar: "Chat is disabled for this live stream.",
    popout: "Chat is disabled for this live stream.",
    status: "OK",
  },
  "members-only": {
    bar: "Chat is disabled for this live stream.",
    popout: "Sorry, live chat is currently unavailable",
    status: "UNPLAYABLE",
    reason: "Join this channel to get access to members-only content.",
  },
  "age-limit": {
    popout: "Sorry, live chat is currently unavailable",
    status: "LOGIN_REQUIRED",
    reason: "Sign in to confirm your age",
  },
  "age-check": {
    popout: "Sorry, live chat is currently unavailable",
    status: "AGE_CHECK_REQUIRED",
    reason: "Sign in to confirm your age",
  },
  "content-check": {
    popout: "Sorry, live chat is currently unavailable",
    status: "CONTENT_CHECK_REQUIRED",
    reason: "The following content may contain suicide or self-harm topics.",
  },
  private: {
    popout: "Sorry, live chat is currently unavailable",
    status: "LOGIN_REQUIRED",
    reason: "Private video",
  },
  unavailable: {
    popout: "Sorry, live chat is currently unavailable",
    status: "ERROR",
    reason: "Video unavailable",
  },
  bot: {
    popout: "Sorry, live chat is currently unavailable",
    status: "LOGIN_REQUIRED",
    reason: "Sign in to confirm you’re not a bot",
  },
  offline: {
    popout: "Chat is disabled for this live stream.",
    status: "LIVE_STREAM_OFFLINE",
    reason: "This live stream is not currently live.",
  },
};

/** Those whose watch page has no data of the video. */
const DATALESS: ReadonlySet<PageContent["absent"]> = new Set(["bot", "private", "unavailable"]);

/** A page of a video. */
export function chatPage(on: Place, content: PageContent, credentials: Credentials): Answer {
  const { captured } = content;
  if (typeof captured === "string") return html(200, captured);
  if (captured) return frame(credentials, content, 'window["ytInitialData"]', captured, "");
  if (on === "next") return json(200, watchData(content, credentials));
  return (on === "popout" ? popoutPage : watchPage)(content, credentials);
}

/** The wall that replaces a page. `other`: a page of another video. */
export function wallPage(
  wall: Wall,
  on: Place,
  frame: Pick<PageContent, "videoId" | "random" | "broadcast">,
  credentials: Credentials,
  other: PageContent,
): Answer {
  const content: PageContent = { ...frame, kind: "none", initialData: "plain" };
  switch (wall) {
    case "bot":
    case "offline":
      return chatPage(on, { ...content, absent: wall }, credentials);
    case "other-video":
      return chatPage(on, other, credentials);
    case "no-data":
      return on === "next" ? json(200, {}) : document(credentials, "");
    case "consent":
      return html(200, CONSENT_PAGE);
  }
}

const CONSENT_PAGE =
  "<!DOCTYPE html><html><head><title>Before you continue to YouTube</title></head><body>" +
  '<form action="https://consent.youtube.com/save" method="POST"></form></body></html>';

function popoutPage(content: PageContent, credentials: Credentials): Answer {
  const { chat, random, absent = "none" } = content;
  const contents = chat
    ? { [chat.renderer]: popoutChat(content, chat) }
    : noChatMessage(absences[absent].popout, random);
  const data = {
    responseContext: responseContext({ client: "WEB", clientVersion: credentials.clientVersion }, random),
    contents,
    trackingParams: trackingParams(random),
  };
  return frame(credentials, content, 'window["ytInitialData"]', data, "");
}

function watchPage(content: PageContent, credentials: Credentials): Answer {
  const { chat, videoId, stream, absent = "none", broadcast } = content;
  const { status, reason } = chat ? { status: "OK" } : absences[absent];
  const isLive = stream === "live";
  const isUpcoming = stream === "upcoming";
  const startTimestamp = broadcast && timestamp(broadcast.startsAt);
  const endTimestamp = stream === "ended" ? timestamp(broadcast?.endedAt ?? Date.UTC(2026, 0)) : undefined;
  const errorScreen = absent === "members-only" && { playerLegacyDesktopYpcOfferRenderer: {} };
  const playability = { status, ...(reason && { reason }), ...(errorScreen && { errorScreen }) };
  const player = {
    playabilityStatus: isUpcoming && status === "OK" ? offlineStatus(content) : playability,
    ...(!DATALESS.has(content.absent) && {
      videoDetails: {
        videoId,
        isLiveContent: stream !== "never",
        ...(isLive && { isLive }),
        ...(isUpcoming && { isUpcoming }),
        title: broadcast?.title,
        channelId: broadcast?.channelId,
        author: broadcast?.channelTitle,
      },
      microformat: {
        playerMicroformatRenderer: {
          ...(broadcast && {
            title: { simpleText: broadcast.title },
            ownerProfileUrl: `http://www.youtube.com/${broadcast.handle}`,
            externalChannelId: broadcast.channelId,
            ownerChannelName: broadcast.channelTitle,
          }),
          ...(stream !== "never" && {
            liveBroadcastDetails: { isLiveNow: isLive, startTimestamp, endTimestamp },
          }),
        },
      },
    }),
  };
  const canonical = `<link rel="canonical" href="https://www.youtube.com/watch?v=${videoId}">`;
  const before = `${canonical}<script>var ytInitialPlayerResponse = ${scriptJson(player)};var meta = document.createElement('meta');</script>`;
  return frame(credentials, content, "var ytInitialData", watchData(content, credentials), before);
}

/** A time as pages write it. */
function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "+00:00");
}

/** The status of a stream that has not begun. */
function offlineStatus({ videoId, broadcast }: PageContent): JsonObject {
  const status = { status: "LIVE_STREAM_OFFLINE", reason: "This live event will begin soon." };
  if (!broadcast) return status;
  const scheduledStartTime = String(Math.floor(broadcast.startsAt / 1000));
  const offlineSlate = { liveStreamOfflineSlateRenderer: { scheduledStartTime, canShowCountdown: true } };
  const liveStreamability = { liveStreamabilityRenderer: { videoId, offlineSlate, pollDelayMs: "15000" } };
  return { ...status, playableInEmbed: true, liveStreamability };
}

/** The title and the owner of the video, which a page shows below its player. */
function belowPlayer({ title, channelId, channelTitle, handle }: PageBroadcast): JsonObject {
  const browseEndpoint = { browseId: channelId, canonicalBaseUrl: `/${handle}` };
  const runs = [{ text: channelTitle, navigationEndpoint: { browseEndpoint } }];
  const owner = { videoOwnerRenderer: { title: { runs }, navigationEndpoint: { browseEndpoint } } };
  const contents = [
    { videoPrimaryInfoRenderer: { title: { runs: [{ text: title }] } } },
    { videoSecondaryInfoRenderer: { owner } },
  ];
  return { results: { contents } };
}

/** The initial data of a watch page, which is also the answer of `next`. */
function watchData(content: PageContent, credentials: Credentials): JsonObject {
  const { chat, random, videoId, broadcast, absent = "none" } = content;
  const isHidden = DATALESS.has(content.absent);
  const bar = chat ? undefined : absences[absent].bar;
  const text = { runs: [{ text: bar }] };
  const messageBar = {
    availabilityMessage: { messageRenderer: { text, trackingParams: trackingParams(random) } },
  };
  const barRenderer = bar && { conversationBarRenderer: messageBar };
  const conversationBar = chat ? { [chat.renderer]: watchChat(content, chat) } : barRenderer;
  return {
    responseContext: responseContext(
      { client: "WEB", clientVersion: credentials.clientVersion },
      random,
      "GetWatchNext",
    ),
    contents: {
      twoColumnWatchNextResults: {
        results: broadcast && !isHidden ? belowPlayer(broadcast) : {},
        secondaryResults: {},
        ...(conversationBar && { conversationBar }),
      },
    },
    currentVideoEndpoint: { watchEndpoint: { videoId } },
    trackingParams: trackingParams(random),
  };
}

function popoutChat({ videoId, kind, random }: PageContent, chat: PageChat): JsonObject {
  const replay = kind === "replay";
  const continuation = replay
    ? {
        liveChatReplayContinuationData: {
          timeUntilLastMessageMsec: chat.untilLastMs,
          continuation: chat.token,
        },
      }
    : liveContinuation(chat.continuation, videoId, chat.token, chat.timeoutMs, random);
  return {
    continuations: [continuation],
    ...(chat.actions.length > 0 && { actions: chat.actions }),
    actionPanel: {
      liveChatMessageInputRenderer: {
        inputField: {},
        sendButton: { buttonRenderer: { icon: { iconType: "SEND" } } },
      },
    },
    itemList: {
      liveChatItemListRenderer: { maxItemsToDisplay: 250, enablePauseChatKeyboardShortcuts: false },
    },
    header: header(replay ? "replay" : "live", chat.views, "top", random),
    ticker: { liveChatTickerRenderer: { sentinel: true } },
    trackingParams: trackingParams(random),
    emojis: [],
    clientMessages: { genericError: { runs: [{ text: "Error, try again." }] } },
    ...(replay && { isReplay: true }),
  };
}

function watchChat({ kind, random }: PageContent, chat: PageChat): JsonObject {
  const replay = kind === "replay";
  const dead = replay ? "replay" : "live";
  const views = { top: deadToken(dead, "top"), all: deadToken(dead, "all") };
  return {
    continuations: [reloadContinuation(chat.token, random)],
    header: header(dead, views, "top", random),
    trackingParams: trackingParams(random),
    clientMessages: { genericError: { runs: [{ text: "Error, try again." }] } },
    ...(replay && { isReplay: true }),
    initialDisplayState: "LIVE_CHAT_DISPLAY_STATE_EXPANDED",
  };
}
