/**
 * Why a page holds no chat, in a short sentence for whoever asked for it: judged by the page's structure, for
 * its words are translated. The upstream's own words are added for people to read.
 */

import { asObject, asString, dig, type JsonObject } from "../../json.ts";
import { stripMarkup, wordsOf } from "../readers/text.ts";
import { playerResponse } from "./initial-data.ts";

/** The parts of a page by which the reason is found. */
interface Signs {
  html: string;
  data: JsonObject | undefined;
  /** `playabilityStatus.status` of a watch page's player. */
  status: string | undefined;
  /** What the player offers in place of the video. */
  errorScreen: JsonObject;
  /** The notice that stands where the chat would. */
  notice: JsonObject | undefined;
}

/** The first that holds is the reason. */
const REASONS: readonly (readonly [why: string, holds: (signs: Signs) => boolean])[] = [
  [
    "the upstream asks for consent to cookies in place of the page",
    ({ html, data }) => !data && asksConsent(html),
  ],
  ["the page holds no initial data that could be read", ({ data }) => !data],
  [
    "the video is for members of its channel only",
    ({ errorScreen }) => Object.hasOwn(errorScreen, "playerLegacyDesktopYpcOfferRenderer"),
  ],
  ["the video is private, or asks its viewers to sign in", ({ status }) => status === "LOGIN_REQUIRED"],
  ["the video is unavailable: deleted, or never there", ({ status }) => status === "ERROR"],
  ["the video cannot be played", ({ status }) => status === "UNPLAYABLE"],
  ["the chat is disabled or not open", ({ notice }) => notice !== undefined],
  ["the stream has not begun and has no chat yet", ({ status }) => status === "LIVE_STREAM_OFFLINE"],
  ["the video has no live chat", () => true],
];

/** `data` is the page's initial data, if it has any. */
export function whyNoChat(html: string, data: JsonObject | undefined): string {
  const playability = dig(playerResponse(html), "playabilityStatus");
  const notice = noticeIn(data);
  const signs: Signs = {
    html,
    data,
    status: asString(dig(playability, "status")),
    errorScreen: asObject(dig(playability, "errorScreen")) ?? {},
    notice,
  };
  const why = REASONS.find(([, holds]) => holds(signs))?.[0] ?? "";
  const words = stripMarkup(asString(dig(playability, "reason")) ?? wordsOf(dig(notice, "text")));
  return words === "" ? why : `${why} (the upstream says: ${words})`;
}

/** On a watch page beside the video, on a popout page in place of everything. */
function noticeIn(data: JsonObject | undefined): JsonObject | undefined {
  const bar = dig(
    data,
    "contents",
    "twoColumnWatchNextResults",
    "conversationBar",
    "conversationBarRenderer",
  );
  return asObject(
    dig(bar, "availabilityMessage", "messageRenderer") ?? bar ?? dig(data, "contents", "messageRenderer"),
  );
}

function asksConsent(html: string): boolean {
  return /action=["']https:\/\/consent\.(?:youtube|google)\.com\/|<title>\s*Before you continue/i.test(html);
}
