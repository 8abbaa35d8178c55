/**
 * Why a page has no chat, and what that means: the video has none (any more), or the page is a wall, shown to
 * an address that the upstream distrusts. The page's structure decides, because its text is translated; the
 * text is quoted for people, and decides only if the structure does not.
 */

import { asArray, asObject, asString, dig, type JsonObject } from "../../base/json.ts";
import { VIDEO_ID_FORM } from "../../protocol/video-id.ts";
import { stripMarkup, wordsOf } from "../readers/text.ts";
import type { WallOf } from "../upstream-error.ts";

/** A page without a chat. */
export interface NoChat {
  /** A short sentence without a full stop. */
  why: string;
  /**
   * `over`: a page of this very video says so. `wall`: the page says nothing about the chat, which may exist.
   * `unknown`: the page does not name its video, as a popout page without a chat, or has no data of the
   * player, as an answer of `next`.
   */
  means: "over" | "wall" | "unknown";
  /** What a wall concerns; the video by default. */
  wallOf?: WallOf | undefined;
}

type Finding = readonly [means: NoChat["means"], why: string, wallOf?: WallOf];

/** `data` is the page's initial data and `player` its player response; undefined if the page has none. */
export function whyNoChat(
  html: string,
  videoId: string,
  data: JsonObject | undefined,
  player: JsonObject | undefined,
): NoChat {
  const playability = dig(player, "playabilityStatus");
  const notice = noticeIn(data);
  const words = stripMarkup(asString(dig(playability, "reason")) ?? wordsOf(dig(notice, "text")));
  const shown = data && (videoIn(data) ?? asString(dig(player, "videoDetails", "videoId")));
  const [means, why, wallOf] = data ? findingIn(player, notice, words) : noData(html);
  if (data && shown !== undefined && shown !== videoId) {
    return { means: "wall", why: "YouTube shows another video in its place" };
  }
  return {
    means: means === "over" && shown === undefined ? "unknown" : means,
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

/** The first finding that applies. */
function findingIn(player: JsonObject | undefined, notice: JsonObject | undefined, words: string): Finding {
  const playability = dig(player, "playabilityStatus");
  if (dig(playability, "errorScreen", "playerLegacyDesktopYpcOfferRenderer") !== undefined) {
    return ["over", "the video is for members of its channel only"];
  }
  const broadcast = dig(player, "microformat", "playerMicroformatRenderer", "liveBroadcastDetails");
  // The upstream's answer to an address that has made too many calls, whatever the video.
  if (/\btry again later\b/i.test(words)) return ["wall", "YouTube refuses this server", "address"];
  switch (dig(playability, "status")) {
    case "LOGIN_REQUIRED":
      // The upstream asks for a sign-in if it takes the visitor for a bot, and if the video is private or has
      // an age limit. The text is English because the request asks for it.
      return /\bprivate\b/i.test(words)
        ? ["over", "the video is private"]
        : ["wall", "YouTube asks this server to sign in", /\bbot\b/i.test(words) ? "address" : "video"];
    case "ERROR":
      return ["over", "the video does not exist or was deleted"];
    case "UNPLAYABLE":
      // Another egress may be in another country.
      return /\bcountry\b/i.test(words)
        ? ["wall", "YouTube does not show the video in this server's country"]
        : ["over", "the video cannot be played"];
  }
  if (notice) return ["over", "the chat is disabled or not open"];
  if (dig(playability, "status") === "LIVE_STREAM_OFFLINE") {
    return asString(dig(broadcast, "endTimestamp")) === undefined
      ? ["wall", "YouTube says that the stream has not begun or is not live, and shows no chat"]
      : ["over", "the stream has ended and has no chat"];
  }
  if (dig(player, "videoDetails", "isLive") === true || dig(broadcast, "isLiveNow") === true) {
    return ["wall", "the video is live, but its page shows no chat"];
  }
  return [player ? "over" : "unknown", "the video has no live chat"];
}

/** The notice instead of the chat: next to the video on a watch page, the only content of a popout page. */
function noticeIn(data: JsonObject | undefined): JsonObject | undefined {
  const watchPage = dig(data, "contents", "twoColumnWatchNextResults");
  const bar = dig(watchPage, "conversationBar", "conversationBarRenderer");
  return asObject(
    dig(bar, "availabilityMessage", "messageRenderer") ?? bar ?? dig(data, "contents", "messageRenderer"),
  );
}

/** What a page without initial data means: a wall, because every page of a video has initial data. */
export function noData(html: string): Finding {
  return /action=["']https:\/\/consent\.(?:youtube|google)\.com\/|<title>\s*Before you continue/i.test(html)
    ? ["wall", "YouTube asks for consent to cookies in place of the page", "address"]
    : ["wall", "the page holds no initial data that could be read", "address"];
}
