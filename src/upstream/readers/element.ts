/**
 * The schema of the phone apps: an element that holds a model instead of a renderer, has its ids outside of
 * the model, texts with attributes instead of runs, and no time. Each model is converted to its corresponding
 * renderer and read as that.
 */
import { asString, dig } from "../../base/json.ts";
import { chat } from "./chat-item.ts";
import { notice } from "./notice.ts";
import { superchat, supersticker } from "./paid.ts";
import type { HolderFields, Reader } from "./reader.ts";

export const element: Reader = (renderer, { read }) =>
  read(dig(renderer, "newElement", "type", "componentType", "model"), idsInElement(renderer));

/** The ids that an element provides for its content, or for its sibling. */
export function idsInElement(renderer: unknown): HolderFields {
  return {
    id: dig(renderer, "compatibilityOptions", "liveChatId"),
    authorExternalChannelId: dig(renderer, "compatibilityOptions", "liveChatAuthorExternalChannelId"),
  };
}

/** A message in the list, or a pinned one. */
export const chatModel: Reader = (model, context) => {
  const data = dig(model, "messageData");
  const texts = dig(data, "attributedTextData");
  return chat(
    {
      authorName: dig(texts, "authorName"),
      authorPhoto: dig(data, "authorAvatar", "image"),
      message: dig(texts, "contentText"),
    },
    context,
  );
};

export const superchatModel: Reader = (model, context) => {
  const data = dig(model, "paidMessageData");
  const payer = dig(data, "paidItemHeaderStaticData");
  return superchat(
    {
      authorName: text(dig(payer, "authorName")),
      authorPhoto: dig(payer, "authorPhoto", "image"),
      message: dig(data, "message"),
      purchaseAmountText: text(dig(data, "paidMessageHeaderData", "priceText")),
    },
    context,
  );
};

export const superstickerModel: Reader = (model, context) => {
  const data = dig(model, "liveChatPaidSticker");
  const label = dig(data, "stickerAccessibilityLabel");
  const forms = dig(data, "sticker", "sources") ?? dig(data, "sticker", "image", "sources");
  return supersticker(
    {
      authorName: text(dig(data, "authorName")),
      authorPhoto: dig(data, "authorPhoto", "image"),
      sticker: { sources: forms, accessibility: { accessibilityData: { label } } },
      purchaseAmountText: text(dig(model, "priceText")),
    },
    context,
  );
};

export const noticeModel: Reader = (model, context) =>
  notice({ message: dig(model, "data", "messageText") }, context);

/** Some texts of the models are bare strings. */
function text(value: unknown): unknown {
  return asString(value) === undefined ? value : { simpleText: value };
}
