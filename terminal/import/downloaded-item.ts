/**
 * Turns an item of chat-downloader's JSON back into the action of the upstream from which it was made, so
 * that the usual readers read it. The targets of links, the labels of stickers, and banners stay absent.
 */
import {
  asArray,
  asNumber,
  asObject,
  asString,
  dig,
  type JsonObject,
  omitUndefined,
} from "../../src/base/json.ts";
import { BOUNDS } from "../../src/upstream/bounds.ts";
import { shorten } from "../../src/upstream/readers/text.ts";

/** chat-downloader's names of colours, and the renderer's keys. */
const COLORS: readonly (readonly [name: string, key: string])[] = [
  ["header_background_colour", "headerBackgroundColor"],
  ["header_text_colour", "headerTextColor"],
  ["body_background_colour", "bodyBackgroundColor"],
  ["body_text_colour", "bodyTextColor"],
  ["author_name_text_colour", "authorNameTextColor"],
  ["timestamp_colour", "timestampColor"],
  ["money_chip_background_colour", "moneyChipBackgroundColor"],
  ["money_chip_text_colour", "moneyChipTextColor"],
  ["background_colour", "backgroundColor"],
];

/** The types of items: those of the upstream's renderers, in another spelling. */
const TYPES: ReadonlySet<string> = new Set([
  "text_message",
  "paid_message",
  "paid_sticker",
  "membership_item",
  "sponsorships_gift_purchase_announcement",
  "sponsorships_gift_redemption_announcement",
  "donation_announcement",
  "viewer_engagement_message",
  "mode_change_message",
  "purchased_product_message",
]);

/** Whether the object looks like an item of chat-downloader. */
export function isDownloadedItem(line: JsonObject): boolean {
  return asString(line.message_type) !== undefined;
}

/** Undefined if its kind is unknown. An item with an offset in the video is of a replay. */
export function actionOf(item: JsonObject): JsonObject | undefined {
  const action = deletionOf(item) ?? additionOf(item);
  const seconds = asNumber(item.time_in_seconds);
  if (!action || seconds === undefined) return action;
  const videoOffsetTimeMsec = String(Math.round(seconds * 1000));
  return { replayChatItemAction: { actions: [action], videoOffsetTimeMsec } };
}

function deletionOf(item: JsonObject): JsonObject | undefined {
  const deletedStateMessage = textOf(item.message);
  const targetItemId = asString(item.target_message_id);
  if (item.message_type === "deleted_message")
    return { markChatItemAsDeletedAction: { targetItemId, deletedStateMessage } };
  if (item.message_type !== "ban_user") return undefined;
  if (targetItemId !== undefined) return { removeChatItemAction: { targetItemId } };
  const externalChannelId = dig(item, "author", "id");
  return { markChatItemsByAuthorAsDeletedAction: { externalChannelId, deletedStateMessage } };
}

function additionOf(item: JsonObject): JsonObject | undefined {
  const { author, message_type: type } = item;
  if (typeof type !== "string" || !TYPES.has(type)) return undefined;
  const text = textOf(item.message);
  const renderer = {
    id: item.message_id,
    timestampUsec: item.timestamp,
    timestampText: textOf(item.time_text),
    ...authorOf(author),
    authorExternalChannelId: dig(author, "id"),
    message: { runs: runsOf(shorten(item.message, BOUNDS.messageLength), asArray(item.emotes) ?? []) },
    text, // in place of a message, in some renderers
    header: { liveChatSponsorshipsHeaderRenderer: { ...authorOf(author), primaryText: text } },
    purchaseAmountText: textOf(dig(item, "money", "text")),
    headerPrimaryText: textOf(item.header_primary_text),
    headerSubtext: textOf(item.header_secondary_text),
    sticker: imageOf(item.sticker_images),
    ...Object.fromEntries(COLORS.map(([name, color]) => [color, numberOf(item[name])])),
  };
  const name = type.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
  return {
    addChatItemAction: { item: { [`liveChat${name}Renderer`]: omitUndefined<JsonObject>(renderer) } },
  };
}

function authorOf(author: unknown): JsonObject {
  const badges = asArray(dig(author, "badges"));
  return {
    authorName: textOf(dig(author, "name")),
    authorPhoto: imageOf(dig(author, "images")),
    authorBadges: badges?.map((badge) => ({
      liveChatAuthorBadgeRenderer: {
        tooltip: dig(badge, "title"),
        icon: { iconType: asString(dig(badge, "icon_name"))?.toUpperCase() },
        customThumbnail: imageOf(dig(badge, "icons")),
      },
    })),
  };
}

/** The text, in which emojis are named by their first shortcut, as runs. */
function runsOf(text: string, emotes: readonly unknown[]): JsonObject[] {
  const byName = new Map(
    emotes.slice(0, BOUNDS.parts).map((emote) => [asString(dig(emote, "name")) ?? "", asObject(emote)]),
  );
  byName.delete("");
  if (byName.size === 0) return [{ text }];
  const longestFirst = [...byName.keys()].sort((a, b) => b.length - a.length);
  const names = longestFirst.map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return text.split(new RegExp(`(${names.join("|")})`)).map((part) => {
    const emote = byName.get(part);
    if (!emote) return { text: part };
    const { id: emojiId, shortcuts, is_custom_emoji: isCustomEmoji, images } = emote;
    return { emoji: { emojiId, shortcuts, isCustomEmoji, image: imageOf(images) } };
  });
}

function textOf(value: unknown): JsonObject | undefined {
  const simpleText = asString(value);
  return simpleText === undefined ? undefined : { simpleText };
}

function imageOf(thumbnails: unknown): JsonObject | undefined {
  return asArray(thumbnails)?.length ? { thumbnails } : undefined;
}

/** The ARGB number of a colour `#rrggbbaa`. */
function numberOf(color: unknown): number | undefined {
  const [, rgb = "", alpha = ""] = /^#([\da-f]{6})([\da-f]{2})$/i.exec(asString(color) ?? "") ?? [];
  return rgb === "" ? undefined : Number.parseInt(alpha + rgb, 16);
}
