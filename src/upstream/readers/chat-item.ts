/**
 * What all items of the chat's list have in common: an id, a time, an author with photo and badges. All of it
 * but the id may be missing.
 */
import type { Badge, Details, Message, MessageType, Part } from "../../protocol/message.ts";
import { imageAddress } from "../address.ts";
import { asArray, asString, dig, type JsonObject, present } from "../json.ts";
import { joined, labelOf, shortened, wordsOf } from "../text.ts";
import { isoTime, microseconds, offsetText } from "../timestamp.ts";
import type { Moment } from "./reader.ts";

/** What a kind adds to that. */
export interface Own {
  type: MessageType;
  parts: Part[];
  amount?: string;
  color?: string;
  details?: { [K in keyof Details]: Details[K] | undefined };
}

/** The message of a chat item. Throws where the item has no usable id, for without one it could not be told apart. */
export function chatItem(item: JsonObject, moment: Moment, own: Own): Message {
  const usec = microseconds(dig(item, "timestampUsec"));
  return {
    type: own.type,
    id: idOf(item),
    timestamp: timestampOf(item, usec, moment),
    author: wordsOf(dig(item, "authorName")).trim(),
    message: joined(own.parts),
    amount: own.amount ?? "",
    color: own.color ?? "",
    parts: own.parts,
    details: present<Details>({
      authorId: shortened(dig(item, "authorExternalChannelId"), 100) || undefined,
      authorPhoto: imageAddress(dig(item, "authorPhoto")),
      badges: badgesOf(item),
      publishedAt: usec === undefined ? undefined : isoTime(usec),
      ...own.details,
    }),
  };
}

function idOf(item: JsonObject): string {
  const id = asString(dig(item, "id")) ?? "";
  if (!/^[^\p{Cc}\p{Cs}]{1,500}$/u.test(id)) throw new Error("no usable id");
  return id;
}

/** Only replays carry the text; there it counts from the stream's beginning. */
function timestampOf(item: JsonObject, usec: number | undefined, moment: Moment): string {
  const shown = wordsOf(dig(item, "timestampText"), 50);
  if (shown !== "") return shown;
  if (moment.offsetMs !== undefined) return offsetText(moment.offsetMs);
  return moment.timeOfDay(usec === undefined ? moment.receivedAt : usec / 1000);
}

const BADGE_KINDS: ReadonlyMap<unknown, Badge["kind"]> = new Map([
  ["OWNER", "owner"],
  ["MODERATOR", "moderator"],
  ["VERIFIED", "verified"],
]);
/** Nobody has been seen with more than three. */
const MAX_BADGES = 10;

/** A badge with a picture of the channel's own says member; the others have one of three icons. */
function badgesOf(item: JsonObject): Badge[] | undefined {
  const badges: Badge[] = [];
  for (const badge of (asArray(dig(item, "authorBadges")) ?? []).slice(0, MAX_BADGES)) {
    const renderer = dig(badge, "liveChatAuthorBadgeRenderer");
    const picture = dig(renderer, "customThumbnail");
    const kind = picture ? "member" : BADGE_KINDS.get(dig(renderer, "icon", "iconType"));
    if (!kind) continue;
    const label = shortened(dig(renderer, "tooltip")) || labelOf(renderer);
    const url = imageAddress(picture);
    badges.push(url === undefined ? { kind, label } : { kind, label, url });
  }
  return badges.length > 0 ? badges : undefined;
}
