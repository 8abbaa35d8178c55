/**
 * The common part of all items in the chat's list: an id, a time, an author with photo and badges. All of
 * them except the id are optional. Also reads the plainest item, a viewer's text message.
 */

import { asArray, asNumber, asPositiveInteger, asString, dig, type JsonObject } from "../../base/json.ts";
import type { Badge, Details } from "../../protocol/kinds.ts";
import type { Message, Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import { type Content, event, usableId } from "./event.ts";
import type { Context, Reader } from "./reader.ts";
import { replyIn } from "./reply-thread.ts";
import { labelOf, partsOf, shorten, wordsOf } from "./text.ts";
import { isoTime } from "./timestamp.ts";
import { imageUrl } from "./url.ts";

/**
 * Creates the message of a chat item. Throws `BrokenItem` if neither the item nor its holder has a usable id.
 */
export function chatItem(item: JsonObject, context: Context, content: Content): Message {
  const { around } = context;
  const usec = asPositiveInteger(item.timestampUsec);
  const authorId = item.authorExternalChannelId ?? around.authorExternalChannelId;
  const details: Details = {};
  const author = shorten(authorId, 100);
  const photo = imageUrl(item.authorPhoto);
  const badges = badgesOf(item);
  const rank = rankOf(item);
  if (author !== "") details.authorId = author;
  if (photo !== undefined) details.authorPhoto = photo;
  if (badges) details.badges = badges;
  if (rank !== undefined) details.rank = rank;
  if (usec !== undefined) details.publishedAt = isoTime(usec);
  // Only replays carry the time as text. There it counts from the stream's beginning.
  const shownTime = wordsOf(item.timestampText, 50);
  return event(usableId(item.id ?? around.id), context, content, {
    author: wordsOf(item.authorName).trim(),
    shownTime,
    usec,
    details,
  });
}

export const chat: Reader = (item, context) => {
  const reply = replyIn(item);
  const replyTo = reply && { author: reply.author };
  const message = chatItem(item, context, { type: "chat", parts: ownWords(item), details: { replyTo } });
  return { item: { message, thread: reply?.thread } };
};

/** The writer's own words: those of a translated message are beside the translation. */
export function ownWords(item: JsonObject): Part[] {
  const isTranslated = dig(item, "messagePrefixIcon", "iconType") === "TRANSLATE";
  const original = isTranslated ? partsOf(item.hoverMessage) : [];
  return original.length > 0 ? original : partsOf(item.message);
}

/** The rank on the leaderboard's button (`#1`), before the text or in a paid message's header. */
function rankOf(item: JsonObject): number | undefined {
  const [before, beside] = [asArray(item.beforeContentButtons), item.leaderboardBadge];
  if (!before && beside === undefined) return undefined;
  const buttons = [...(before ?? []), beside];
  const titles = buttons.map((button) => asString(dig(button, "buttonViewModel", "title")));
  return asNumber(titles.find((title) => title !== undefined && /^#[1-3]$/.test(title))?.slice(1));
}

const BADGE_KINDS: ReadonlyMap<unknown, Badge["kind"]> = new Map([
  ["OWNER", "owner"],
  ["MODERATOR", "moderator"],
  ["VERIFIED", "verified"],
]);

/** A member's badge has the channel's own picture. The others have one of three icons. */
function badgesOf(item: JsonObject): Badge[] | undefined {
  const shown = asArray(item.authorBadges);
  if (!shown) return undefined;
  const badges: Badge[] = [];
  for (const badge of shown.slice(0, BOUNDS.badges)) {
    const renderer = dig(badge, "liveChatAuthorBadgeRenderer");
    const picture = dig(renderer, "customThumbnail");
    const kind = picture ? "member" : BADGE_KINDS.get(dig(renderer, "icon", "iconType"));
    if (!kind) continue;
    const label = shorten(dig(renderer, "tooltip")) || labelOf(renderer);
    const url = imageUrl(picture);
    badges.push(url === undefined ? { kind, label } : { kind, label, url });
  }
  return badges.length > 0 ? badges : undefined;
}
