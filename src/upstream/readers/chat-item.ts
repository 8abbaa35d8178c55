/**
 * What all items of the chat's list have in common: an id, a time, an author with photo and badges. All of it
 * but the id may be missing. The plainest item, what viewers write, is read here too.
 */

import { asArray, dig, type JsonObject } from "../../json.ts";
import type { Badge } from "../../protocol/kinds.ts";
import type { Message } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import { imageAddress } from "./address.ts";
import { type Content, event, usableId } from "./event.ts";
import type { Context, Reader } from "./reader.ts";
import { labelOf, partsOf, shorten, wordsOf } from "./text.ts";
import { isoTime, microseconds } from "./timestamp.ts";

/** The message of a chat item. Throws where neither the item nor what holds it has a usable id. */
export function chatItem(item: JsonObject, context: Context, content: Content): Message {
  const { around } = context;
  const usec = microseconds(dig(item, "timestampUsec"));
  const authorId = dig(item, "authorExternalChannelId") ?? around.authorExternalChannelId;
  return event(usableId(dig(item, "id") ?? around.id), context, content, {
    author: wordsOf(dig(item, "authorName")).trim(),
    // Only replays carry the text; there it counts from the stream's beginning.
    shownTime: wordsOf(dig(item, "timestampText"), 50),
    usec,
    details: {
      authorId: shorten(authorId, 100) || undefined,
      authorPhoto: imageAddress(dig(item, "authorPhoto")),
      badges: badgesOf(item),
      publishedAt: usec === undefined ? undefined : isoTime(usec),
    },
  });
}

export const chat: Reader = (item, context) =>
  chatItem(item, context, { type: "chat", parts: partsOf(dig(item, "message")) });

const BADGE_KINDS: ReadonlyMap<unknown, Badge["kind"]> = new Map([
  ["OWNER", "owner"],
  ["MODERATOR", "moderator"],
  ["VERIFIED", "verified"],
]);

/** A member's badge has a picture of the channel's own; the others have one of three icons. */
function badgesOf(item: JsonObject): Badge[] | undefined {
  const badges: Badge[] = [];
  for (const badge of (asArray(dig(item, "authorBadges")) ?? []).slice(0, BOUNDS.badges)) {
    const renderer = dig(badge, "liveChatAuthorBadgeRenderer");
    const picture = dig(renderer, "customThumbnail");
    const kind = picture ? "member" : BADGE_KINDS.get(dig(renderer, "icon", "iconType"));
    if (!kind) continue;
    const label = shorten(dig(renderer, "tooltip")) || labelOf(renderer);
    const url = imageAddress(picture);
    badges.push(url === undefined ? { kind, label } : { kind, label, url });
  }
  return badges.length > 0 ? badges : undefined;
}
