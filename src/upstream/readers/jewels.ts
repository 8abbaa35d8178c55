/**
 * Gifts paid in jewels. The upstream shows one as an item of the list, as a widget above it, or as both, with
 * different ids and, outside of replays, without a time. The `gift` beside a message lets a room join the two
 * (`joinGifts`).
 */
import { asPositiveInteger, dig, type JsonObject, omitUndefined } from "../../base/json.ts";
import { foldCase } from "../../protocol/fold-case.ts";
import { chatItem } from "./chat-item.ts";
import { usableId } from "./event.ts";
import type { Context, Gift, Outcome, Reader } from "./reader.ts";
import { partsOf, plainText, shorten } from "./text.ts";
import { imageUrl } from "./url.ts";

export const giftInList: Reader = (item, context) => giftItem(item, context, "list");

export const giftInWidget: Reader = (widget, context) => {
  const options = dig(widget, "elementRenderer", "compatibilityOptions");
  const text = dig(widget, "detailText");
  const item = {
    ...widget,
    authorExternalChannelId: dig(options, "liveChatAuthorExternalChannelId"),
    text: typeof text === "string" ? { content: text } : text,
    giftImageA11yLabel: dig(widget, "giftA11yLabel"),
    giftImage: dig(widget, "attributionImage"),
  };
  return giftItem(item, context, "widget");
};

/** Reads either form. A widget shown again with a higher count is one more gift; the list never shows it. */
function giftItem(item: JsonObject, context: Context, shownIn: Gift["shownIn"]): Outcome {
  const parts = partsOf(dig(item, "text"));
  const label = shorten(dig(item, "giftImageA11yLabel"));
  const url = imageUrl(dig(item, "giftImage"));
  const { name, count } = giftIn(plainText(parts));
  const names = [name, nameInUrl(url), nameInLabel(label)].filter((one) => one !== undefined);
  const combo = asPositiveInteger(dig(item, "comboCount"));
  const firstId = usableId(dig(item, "id") ?? context.around.id);
  const isRaised = combo !== undefined && combo > 1;
  const id = isRaised ? `${firstId}:${combo}` : firstId;
  const authorPhoto = dig(item, "authorAvatar", "avatarViewModel", "image");
  const message = chatItem({ ...item, id, authorPhoto }, context, {
    type: "jewels",
    parts,
    details: {
      sticker: url === undefined ? undefined : { label, url },
      jewels: { gift: names[0] ?? "", ...omitUndefined({ count, combo }) },
      target: isRaised ? { messageId: firstId } : undefined,
    },
  });
  return { item: isRaised ? { message } : { message, gift: { names: names.map(plainName), shownIn } } };
}

/**
 * Reads the upstream's sentence: `sent Gold coin for 10 Jewels`, `sent Hiding`, `かき氷 を送信しました`; but not `Sent
 * a gift`.
 */
function giftIn(text: string): { name?: string | undefined; count?: number | undefined } {
  const [, english, price] = /^sent (?!a gift$)(.+?)(?: for (\d[\d,.]*) Jewels?)?$/i.exec(text.trim()) ?? [];
  const [, japanese] = /^(.+?)\s*を送信しました$/.exec(text.trim()) ?? [];
  return { name: english ?? japanese, count: asPositiveInteger(price?.replaceAll(/[,.]/g, "")) };
}

/** `…/pdg/gift/assets/gold_coin_v2_320x320.png=w480` shows a gold coin, in every language. */
function nameInUrl(url = ""): string | undefined {
  const [, file] = /\/pdg\/gift\/(?:assets\/)?([^/?#=]+)/.exec(url) ?? [];
  const slug = file?.replace(/\.\w+$/, "").replace(/(?:_v\d+|_\d+x\d+)+$/, "");
  return slug?.replaceAll(/[_-]+/g, " ").trim() || undefined;
}

/** `@somebody sent a gift, Image of a star`. */
function nameInLabel(label: string): string | undefined {
  const [, name] = /, (?:Image of (?:an? )?)?([^,]+)$/i.exec(label) ?? [];
  return name;
}

/** A name for comparison. */
function plainName(name: string): string {
  return foldCase(name);
}
