/**
 * The upstream's own messages in a chat, without an author: rules, results of polls, changes of mode. Also
 * products of the channel's shop, in a banner or bought by a viewer.
 */
import { asString, dig } from "../../base/json.ts";
import { BOUNDS } from "../bounds.ts";
import { chatItem } from "./chat-item.ts";
import { event, shortHash, usableId } from "./event.ts";
import type { Item, Reader } from "./reader.ts";
import { partsOf, plainText, sentence, shorten } from "./text.ts";

/**
 * The icon identifies a poll's result. A notice's id changes with each page load, its text does not; the
 * beginning of a replay shows notices that are made for its reader.
 */
export const notice: Reader = (item, context) => {
  const parts = partsOf(dig(item, "message"));
  if (dig(item, "icon", "iconType") === "POLL")
    return chatItem(item, context, { type: "poll_result", parts });
  const id = `notice:${shortHash(plainText(parts))}`;
  const message = chatItem({ ...item, id }, context, { type: "notice", parts });
  const noticeId = shorten(item.id ?? context.around.id, BOUNDS.idLength);
  if (noticeId === "") return message;
  const read = { message, noticeId };
  return { item: (context.offsetMs ?? 1) > 0 ? read : { ...read, isKnownByText: true } };
};

/** The items of a live chat that are shown without being new, such as by a page. */
export function knownByText(items: readonly Item[]): readonly Item[] {
  return items.map((item) => {
    const isRead = item.noticeId !== undefined && item.message.details.offsetMs === undefined;
    return isRead ? { ...item, isKnownByText: true } : item;
  });
}

export const mode: Reader = (item, context) =>
  chatItem(item, context, { type: "mode", parts: sentence(dig(item, "text"), dig(item, "subtext")) });

/** The only id is that of its banner. Without one, the content identifies it. */
export const product: Reader = (item, context) => {
  const title = dig(item, "title");
  const parts = partsOf(asString(title) === undefined ? title : { simpleText: title });
  const shown = shortHash(parts, dig(item, "price"), dig(item, "vendorName"));
  const id = context.around.id === undefined ? shown : usableId(context.around.id);
  return event(`product:${id}`, context, { type: "product", parts });
};

export const productBought: Reader = (item, context) =>
  chatItem(item, context, { type: "product", parts: partsOf(dig(item, "message")) });
