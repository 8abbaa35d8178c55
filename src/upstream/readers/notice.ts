/**
 * The upstream's own messages in a chat, without an author: rules, results of polls, changes of mode. Also
 * products of the channel's shop, in a banner or bought by a viewer.
 */
import { asString, dig } from "../../base/json.ts";
import { chatItem } from "./chat-item.ts";
import { event, shortHash, usableId } from "./event.ts";
import type { Reader } from "./reader.ts";
import { partsOf, plainText, sentence } from "./text.ts";

/** The icon identifies a poll's result. A notice's id changes with each page load, its text does not. */
export const notice: Reader = (item, context) => {
  const parts = partsOf(dig(item, "message"));
  if (dig(item, "icon", "iconType") === "POLL")
    return chatItem(item, context, { type: "poll_result", parts });
  const id = `notice:${shortHash(plainText(parts))}`;
  return chatItem({ ...item, id }, context, { type: "notice", parts });
};

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
