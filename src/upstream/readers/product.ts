/** Products of the channel's shop, shown in a banner or bought by a viewer. */
import { asString, dig } from "../../json.ts";
import { chatItem } from "./chat-item.ts";
import { event, shortHash, usableId } from "./event.ts";
import type { Reader } from "./reader.ts";
import { partsOf } from "./text.ts";

/** It has no id but that of its banner; without one it is known by what it shows. */
export const product: Reader = (item, context) => {
  const title = dig(item, "title");
  const parts = partsOf(asString(title) === undefined ? title : { simpleText: title });
  const shown = shortHash(parts, dig(item, "price"), dig(item, "vendorName"));
  const id = context.around.id === undefined ? shown : usableId(context.around.id);
  return event(`product:${id}`, context, { type: "product", parts });
};

export const productBought: Reader = (item, context) =>
  chatItem(item, context, { type: "product", parts: partsOf(dig(item, "message")) });
