/**
 * What viewers pay for: messages, stickers, gifts in jewels, donations to charity. An amount stays the upstream's own
 * text; what it means, the colours and the tier that follows from these are details.
 */

import { asArray, asNumber, asString, dig, type JsonObject, omitUndefined } from "../../json.ts";
import type { Colors } from "../../protocol/kinds.ts";
import { imageAddress } from "./address.ts";
import { readAmount } from "./amount.ts";
import { chatItem } from "./chat-item.ts";
import { hexColor, tierOf } from "./color.ts";
import type { Context, Reader } from "./reader.ts";
import { labelOf, partsOf, sentence, shorten, wordsOf } from "./text.ts";

/** Under which keys a renderer has which colour. */
type ColorKeys = Readonly<Partial<Record<keyof Colors, string>>>;

const MESSAGE_COLORS: ColorKeys = {
  header: "headerBackgroundColor",
  headerText: "headerTextColor",
  body: "bodyBackgroundColor",
  bodyText: "bodyTextColor",
  author: "authorNameTextColor",
  timestamp: "timestampColor",
};
/** A sticker's header is the chip that shows the amount. */
const STICKER_COLORS: ColorKeys = {
  header: "moneyChipBackgroundColor",
  headerText: "moneyChipTextColor",
  body: "backgroundColor",
  author: "authorNameTextColor",
};

export const superchat: Reader = (item, context) =>
  chatItem(item, context, {
    type: "superchat",
    parts: partsOf(dig(item, "message")),
    ...paymentOf(item, MESSAGE_COLORS),
  });

export const supersticker: Reader = (item, context) => {
  const payment = paymentOf(item, STICKER_COLORS);
  const label = labelOf(dig(item, "sticker"));
  const url = imageAddress(dig(item, "sticker"));
  const sticker = url === undefined ? { label } : { label, url };
  return chatItem(item, context, {
    type: "supersticker",
    parts: label === "" ? [] : [{ kind: "text", text: label }],
    ...payment,
    details: { ...payment.details, sticker },
  });
};

function paymentOf(item: JsonObject, keys: ColorKeys) {
  const amount = wordsOf(dig(item, "purchaseAmountText"), 100);
  const colors = omitUndefined<Colors>(
    Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, hexColor(dig(item, key))])),
  );
  return {
    amount,
    color: colors.body ?? colors.header ?? "",
    details: {
      amount: amount === "" ? undefined : readAmount(amount),
      // A header can have a colour of its own; the body then still has the tier's.
      tier: tierOf(colors.header) ?? tierOf(colors.body),
      colors: Object.keys(colors).length > 0 ? colors : undefined,
    },
  };
}

/** The upstream reports a donation in one sentence. */
export const donation: Reader = (item, context) => {
  const amount = amountIn(dig(item, "text"));
  return chatItem(item, context, {
    type: "donation",
    parts: sentence(dig(item, "text"), dig(item, "subtext")),
    amount,
    details: { amount: amount === "" ? undefined : readAmount(amount) },
  });
};

/** The run that is an amount and nothing else. */
function amountIn(text: unknown): string {
  for (const run of asArray(dig(text, "runs")) ?? []) {
    const words = asString(dig(run, "text"))?.trim() ?? "";
    const { value, currency } = readAmount(words);
    if (value !== null && currency !== null) return words;
  }
  return "";
}

export const jewels: Reader = (item, context) => giftItem(item, context);

/** What phones show for some seconds; the same gift again only raises its count. */
export const giftAttribution: Reader = (item, context) => {
  const options = dig(item, "elementRenderer", "compatibilityOptions");
  const gift = {
    ...item,
    authorExternalChannelId: dig(options, "liveChatAuthorExternalChannelId"),
    text: dig(item, "detailText"),
    giftImageA11yLabel: dig(item, "giftA11yLabel"),
    giftImage: dig(item, "attributionImage"),
  };
  return giftItem(gift, context, asNumber(dig(item, "comboCount")));
};

/** Gifts in jewels carry no time, and names in a view model's form. */
function giftItem(item: JsonObject, context: Context, count?: number) {
  const url = imageAddress(dig(item, "giftImage"));
  const authorPhoto = dig(item, "authorAvatar", "avatarViewModel", "image");
  return chatItem({ ...item, authorPhoto }, context, {
    type: "jewels",
    parts: partsOf(dig(item, "text")),
    details: {
      sticker: url === undefined ? undefined : { label: shorten(dig(item, "giftImageA11yLabel")), url },
      gift: count === undefined ? undefined : { count },
    },
  });
}
