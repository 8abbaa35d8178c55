/** Gifts paid in jewels. They carry no time, and names in a view model's form. */

import { asNumber, dig, type JsonObject } from "../../json.ts";
import { imageAddress } from "./address.ts";
import { chatItem } from "./chat-item.ts";
import type { Context, Reader } from "./reader.ts";
import { partsOf, shorten } from "./text.ts";

export const jewels: Reader = (item, context) =>
  gift(item, context, {
    text: dig(item, "text"),
    label: dig(item, "giftImageA11yLabel"),
    image: dig(item, "giftImage"),
  });

/** What phones show for some seconds; the same gift again only raises its count. */
export const giftAttribution: Reader = (item, context) => {
  const options = dig(item, "elementRenderer", "compatibilityOptions");
  const giver = { ...item, authorExternalChannelId: dig(options, "liveChatAuthorExternalChannelId") };
  return gift(giver, context, {
    text: dig(item, "detailText"),
    label: dig(item, "giftA11yLabel"),
    image: dig(item, "attributionImage"),
    count: asNumber(dig(item, "comboCount")),
  });
};

interface Gift {
  text: unknown;
  label: unknown;
  image: unknown;
  count?: number | undefined;
}

function gift(item: JsonObject, context: Context, { text, label, image, count }: Gift) {
  const url = imageAddress(image);
  const authorPhoto = dig(item, "authorAvatar", "avatarViewModel", "image");
  return chatItem({ ...item, authorPhoto }, context, {
    type: "jewels",
    parts: partsOf(text),
    details: {
      sticker: url === undefined ? undefined : { label: shorten(label), url },
      gift: count === undefined ? undefined : { count },
    },
  });
}
