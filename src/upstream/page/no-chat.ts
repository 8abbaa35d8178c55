/**
 * Why a page has no chat, and the standing of the chat: by what the page says of the stream, unless it is a
 * wall, shown to an address that the upstream distrusts. The page's structure decides, because its text is
 * translated; the text is quoted for people, and decides only if the structure does not.
 */

import { asArray, asObject, asString, dig, type JsonObject } from "../../base/json.ts";
import type { Absence, WallOf } from "../../protocol/chat-standing.ts";
import { VIDEO_ID_FORM } from "../../protocol/video-id.ts";
import { sanitised, wordsOf } from "../readers/text.ts";

/**
 * A page without a chat. `untold`: it does not name its video, as a popout page, or has no data of the
 * player, as an answer of `next`; so it says nothing of the stream, and contradicts no other page.
 */
export interface NoChat extends Omit<Absence, "is"> {
  is: Absence["is"] | "untold";
}

type Finding = readonly [is: NoChat["is"], why: string, wallOf?: WallOf];

/** `data` is the page's initial data and `player` its player response; undefined if the page has none. */
export function whyNoChat(
  html: string,
  videoId: string,
  data: JsonObject | undefined,
  player: JsonObject | undefined,
): NoChat {
  const playability = dig(player, "playabilityStatus");
  const notice = noticeIn(data);
  const words = sanitised(asString(dig(playability, "reason")) ?? wordsOf(dig(notice, "text")));
  const shown = data && (videoIn(data) ?? asString(dig(player, "videoDetails", "videoId")));
  const [is, why, wallOf] = data ? findingIn(player, notice, words) : noData(html);
  if (data && shown !== undefined && shown !== videoId) {
    return { is: "unknown", why: "YouTube shows another video in its place", wallOf: "video" };
  }
  return {
    is: is !== "unknown" && shown === undefined ? "untold" : is,
    why: words === "" ? why : `${why} (YouTube says: ${words})`,
    wallOf,
  };
}

const TOPIC = new RegExp(`^chat~(${VIDEO_ID_FORM})(?:~|$)`);

/** The video of a watch page, or of a popout page with a chat that names it. */
export function videoIn(data: JsonObject): string | undefined {
  const [popout] = asArray(dig(data, "contents", "liveChatRenderer", "continuations")) ?? [];
  const topic = asString(dig(popout, "invalidationContinuationData", "invalidationId", "topic"));
  const watched = asString(dig(data, "currentVideoEndpoint", "watchEndpoint", "videoId"));
  return watched ?? TOPIC.exec(topic ?? "")?.[1];
}

/** What a page says of the stream; undefined if it says nothing. */
function streamIn(player: JsonObject | undefined): "live" | "upcoming" | "ended" | "never" | undefined {
  const details = asObject(dig(player, "videoDetails"));
  const broadcast = dig(player, "microformat", "playerMicroformatRenderer", "liveBroadcastDetails");
  if (details?.isLive === true || dig(broadcast, "isLiveNow") === true) return "live";
  if (asString(dig(broadcast, "endTimestamp")) !== undefined) return "ended";
  const isOffline = dig(player, "playabilityStatus", "status") === "LIVE_STREAM_OFFLINE";
  if (details?.isUpcoming === true || isOffline) return "upcoming";
  if (details?.isLiveContent === true || asObject(broadcast)) return "ended";
  return details && "never";
}

/** The first finding that applies. */
function findingIn(player: JsonObject | undefined, notice: JsonObject | undefined, words: string): Finding {
  const playability = dig(player, "playabilityStatus");
  const status = dig(playability, "status");
  const stream = streamIn(player);
  // A page of a video that is not for everybody may leave out whether it is a stream.
  const isUnsaid = stream === "never" && dig(player, "videoDetails", "isLiveContent") !== false;
  const hidden = stream && !isUnsaid ? OF_HIDDEN[stream] : "hidden";
  if (dig(playability, "errorScreen", "playerLegacyDesktopYpcOfferRenderer") !== undefined) {
    return [hidden, "the video is for members of its channel only"];
  }
  // The upstream's answer to an address that has made too many calls, whatever the video.
  if (/\btry again later\b/i.test(words)) return ["unknown", "YouTube refuses this server", "address"];
  switch (status) {
    case "LOGIN_REQUIRED":
      // The upstream asks for a sign-in if it takes the visitor for a bot, and if the video is private or has
      // an age limit. The text is English because the request asks for it.
      if (/\bprivate\b/i.test(words)) return [hidden, "the video is private"];
      return /\bbot\b/i.test(words)
        ? ["unknown", "YouTube asks this server to sign in", "address"]
        : [hidden, "YouTube asks this server to sign in", "video"];
    case "AGE_CHECK_REQUIRED":
    case "AGE_VERIFICATION_REQUIRED":
    case "CONTENT_CHECK_REQUIRED":
      return [hidden, "YouTube asks for a confirmation of age, or of a warning, first", "video"];
    case "ERROR":
      return [stream === "ended" ? "over" : "none", "the video does not exist or was deleted"];
    case "UNPLAYABLE":
      // Another egress may be in another country.
      return /\bcountry\b/i.test(words)
        ? ["unknown", "YouTube does not show the video in this server's country", "video"]
        : [hidden, "the video cannot be played"];
  }
  const is = stream ? WITHOUT_CHAT[stream] : player ? "unknown" : "untold";
  if (notice) return [is, "the chat is disabled or not open"];
  if (status === "LIVE_STREAM_OFFLINE") {
    return [
      is,
      stream === "ended"
        ? "the stream has ended and has no chat"
        : "YouTube says that the stream has not begun or is not live, and shows no chat",
    ];
  }
  return [
    is,
    stream === "live" ? "the video is live, but its page shows no chat" : "the video has no live chat",
  ];
}

/** The standing of a chat that the page of its stream does not show. */
const WITHOUT_CHAT = { live: "off", upcoming: "off", ended: "over", never: "none" } as const;

/** The standing of a chat whose video is not for everybody. */
const OF_HIDDEN = { live: "hidden", upcoming: "hidden", ended: "over", never: "none" } as const;

/** The notice instead of the chat: next to the video on a watch page, the only content of a popout page. */
function noticeIn(data: JsonObject | undefined): JsonObject | undefined {
  const watchPage = dig(data, "contents", "twoColumnWatchNextResults");
  const bar = dig(watchPage, "conversationBar", "conversationBarRenderer");
  return asObject(
    dig(bar, "availabilityMessage", "messageRenderer") ?? bar ?? dig(data, "contents", "messageRenderer"),
  );
}

/** The wall that a page without initial data is: every page of a video has initial data. */
export function noData(html: string): Finding {
  return /action=["']https:\/\/consent\.(?:youtube|google)\.com\/|<title>\s*Before you continue/i.test(html)
    ? ["unknown", "YouTube asks for consent to cookies in place of the page", "address"]
    : ["unknown", "the page holds no initial data that could be read", "address"];
}
