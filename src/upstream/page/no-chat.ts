/**
 * Why a page holds no chat, in a short sentence for the caller. It is judged by the page's structure, because the
 * page's words are translated; these are added for people to read.
 */

import { asObject, asString, dig, type JsonObject } from "../../json.ts";
import { stripMarkup, wordsOf } from "../readers/text.ts";
import { playerResponse } from "./initial-data.ts";

/** By `playabilityStatus.status` of a watch page's player. */
const NOT_PLAYABLE: ReadonlyMap<unknown, string> = new Map([
  ["LOGIN_REQUIRED", "the video is private, or asks its viewers to sign in"],
  ["ERROR", "the video is unavailable: deleted, or never there"],
  ["UNPLAYABLE", "the video cannot be played"],
]);

/** `data` is the page's initial data, if it has any. */
export function whyNoChat(html: string, data: JsonObject | undefined): string {
  const playability = dig(playerResponse(html), "playabilityStatus");
  const notice = noticeIn(data);
  const why = data ? reasonIn(playability, notice) : whyNoData(html);
  const words = stripMarkup(asString(dig(playability, "reason")) ?? wordsOf(dig(notice, "text")));
  return words === "" ? why : `${why} (the upstream says: ${words})`;
}

function reasonIn(playability: unknown, notice: JsonObject | undefined): string {
  if (dig(playability, "errorScreen", "playerLegacyDesktopYpcOfferRenderer") !== undefined) {
    return "the video is for members of its channel only";
  }
  const status = dig(playability, "status");
  const why = NOT_PLAYABLE.get(status);
  if (why !== undefined) return why;
  if (notice) return "the chat is disabled or not open";
  if (status === "LIVE_STREAM_OFFLINE") return "the stream has not begun and has no chat yet";
  return "the video has no live chat";
}

/** The notice in the place of the chat: on a watch page beside the video, on a popout page in place of everything. */
function noticeIn(data: JsonObject | undefined): JsonObject | undefined {
  const watchPage = dig(data, "contents", "twoColumnWatchNextResults");
  const bar = dig(watchPage, "conversationBar", "conversationBarRenderer");
  return asObject(
    dig(bar, "availabilityMessage", "messageRenderer") ?? bar ?? dig(data, "contents", "messageRenderer"),
  );
}

function whyNoData(html: string): string {
  return /action=["']https:\/\/consent\.(?:youtube|google)\.com\/|<title>\s*Before you continue/i.test(html)
    ? "the upstream asks for consent to cookies in place of the page"
    : "the page holds no initial data that could be read";
}
