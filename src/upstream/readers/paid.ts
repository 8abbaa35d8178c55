/**
 * Paid items: messages, stickers, donations to charity. `amount` is the upstream's own text; its meaning, the
 * colours and the tier that follows from them are details.
 */

import { dig, type JsonObject, unlessEmpty } from "../../base/json.ts";
import type { Colors } from "../../protocol/kinds.ts";
import { readAmount } from "./amount.ts";
import { chatItem, ownWords } from "./chat-item.ts";
import { hexColor, tierOf } from "./color.ts";
import type { Context, Reader } from "./reader.ts";
import { threadBelow } from "./reply-thread.ts";
import { labelOf, runsOf, sentence, wordsOf } from "./text.ts";
import { imageUrl } from "./url.ts";

/** The renderer's keys of the colours. */
type ColorKeys = readonly (readonly [keyof Colors, string])[];

const MESSAGE_COLORS: ColorKeys = [
  ["header", "headerBackgroundColor"],
  ["headerText", "headerTextColor"],
  ["body", "bodyBackgroundColor"],
  ["bodyText", "bodyTextColor"],
  ["author", "authorNameTextColor"],
  ["timestamp", "timestampColor"],
];
/** A sticker's header is the chip that shows the amount. */
const STICKER_COLORS: ColorKeys = [
  ["header", "moneyChipBackgroundColor"],
  ["headerText", "moneyChipTextColor"],
  ["body", "backgroundColor"],
  ["author", "authorNameTextColor"],
];

export const superchat: Reader = (item, context) => {
  const message = chatItem(item, context, {
    type: "superchat",
    parts: ownWords(item),
    ...paymentOf(item, MESSAGE_COLORS, context),
  });
  return { item: { message, thread: threadBelow([replyKeyIn(item), likeKeyIn(item)]) } };
};

export const supersticker: Reader = (item, context) => {
  const payment = paymentOf(item, STICKER_COLORS, context);
  const label = labelOf(item.sticker);
  const url = imageUrl(item.sticker);
  const sticker = url === undefined ? { label } : { label, url };
  return chatItem(item, context, {
    type: "supersticker",
    parts: label === "" ? [] : [{ kind: "text", text: label }],
    ...payment,
    details: { ...payment.details, sticker },
  });
};

function paymentOf(item: JsonObject, keys: ColorKeys, { counts, isEnglish }: Context) {
  const amount = wordsOf(item.purchaseAmountText, 100);
  const colors: Partial<Colors> = {};
  for (const [name, key] of keys) {
    const color = hexColor(item[key]);
    if (color !== undefined) colors[name] = color;
  }
  return {
    amount,
    color: colors.body ?? colors.header ?? "",
    details: {
      amount: amount === "" ? undefined : readAmount(amount, isEnglish),
      // A header can have a custom colour; the body then still has the tier's colour.
      tier: tierOf(colors.header) ?? tierOf(colors.body),
      likes: counts.get(likeKeyIn(item)),
      replies: counts.get(replyKeyIn(item)),
      colors: unlessEmpty(colors),
    },
  };
}

const likeKeyIn = (item: JsonObject) => keyIn(item, "pdgLikeViewModel", "likeCountEntityKey");
const replyKeyIn = (item: JsonObject) => keyIn(item, "pdgReplyButtonViewModel", "replyCountEntityKey");

/** The entity key of a button, in whichever part of the item the button is. */
function keyIn(item: JsonObject, model: string, key: string): unknown {
  const own = dig(item, model, key);
  if (own !== undefined) return own;
  for (const part of Object.values(item)) {
    const found = dig(part, model, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The upstream reports a donation in one sentence. */
export const donation: Reader = (item, context) => {
  const amount = amountIn(item.text, context.isEnglish);
  return chatItem(item, context, {
    type: "donation",
    parts: sentence(item.text, item.subtext),
    amount,
    details: { amount: amount === "" ? undefined : readAmount(amount, context.isEnglish) },
  });
};

/** A run that consists of an amount, or in English the words behind "donated". */
function amountIn(text: unknown, isEnglish: boolean): string {
  const [, donated = ""] = / donated (.+?)(?: to .*)?$/i.exec(wordsOf(text)) ?? [];
  for (const words of [...runsOf(text).map((run) => wordsOf({ runs: [run] })), donated]) {
    const { value, currency } = readAmount(words.trim(), isEnglish);
    if (value !== null && currency !== null) return words.trim();
  }
  return "";
}
