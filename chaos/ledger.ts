/**
 * What a chat's ledger says that a room must hold, worked out without the service's code: by the simulator's names
 * of the kinds, one after the other. What is told twice counts once; what depends on the past is remembered here.
 */
import assert from "node:assert/strict";
import { dig, isObject } from "../src/simulator/json.ts";
import type { Entry } from "../src/simulator/log.ts";

/** A message as it is compared: hashes in ids are left out. */
export interface Told {
  type: string;
  id: string;
  author: string;
  message: string;
  amount: string;
}

const CHAT_ITEMS: Record<string, (item: unknown) => Omit<Told, "id">> = {
  liveChatTextMessageRenderer: (item) => said("chat", item, words(dig(item, "message"))),
  liveChatPaidMessageRenderer: (item) => said("superchat", item, words(dig(item, "message"))),
  liveChatPaidStickerRenderer: (item) =>
    said("supersticker", item, text(item, "sticker", "accessibility", "accessibilityData", "label")),
  liveChatMembershipItemRenderer: (item) =>
    dig(item, "headerPrimaryText")
      ? said("milestone", item, words(dig(item, "message")))
      : said("membership", item, words(dig(item, "headerSubtext"))),
  liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: (item) => {
    const header = dig(item, "header", "liveChatSponsorshipsHeaderRenderer");
    return said("gift", header, words(dig(header, "primaryText")));
  },
  liveChatSponsorshipsGiftRedemptionAnnouncementRenderer: (item) =>
    said("gift_received", item, words(dig(item, "message"))),
  giftMessageViewModel: (item) => said("jewels", item, text(item, "text", "content")),
  liveChatDonationAnnouncementRenderer: (item) => ({
    ...said("donation", item, `${words(dig(item, "text"))} ${words(dig(item, "subtext"))}`),
    amount: text(item, "text", "runs", 1, "text"),
  }),
  liveChatModeChangeMessageRenderer: (item) =>
    said("mode", item, `${words(dig(item, "text"))} ${words(dig(item, "subtext"))}`),
  liveChatViewerEngagementMessageRenderer: (item) =>
    said(
      dig(item, "icon", "iconType") === "POLL" ? "poll_result" : "notice",
      item,
      words(dig(item, "message")),
    ),
};

const BANNERS: Record<string, (contents: unknown) => Omit<Told, "id">> = {
  liveChatTextMessageRenderer: (item) => said("banner", item, words(dig(item, "message"))),
  liveChatBannerRedirectRenderer: (item) => said("raid", item, words(dig(item, "bannerMessage"))),
  liveChatBannerChatSummaryRenderer: (item) => said("summary", item, words(dig(item, "chatSummary"))),
  liveChatProductItemRenderer: (item) => said("product", item, text(item, "title")),
  liveChatCallForQuestionsRenderer: (item) => ({
    ...said("banner", item, words(dig(item, "questionMessage"))),
    author: text(item, "creatorAuthorName", "simpleText"),
  }),
};

/** What nobody is shown. */
const NOTHING = new Set([
  "liveChatPlaceholderItemRenderer",
  "liveChatFutureItemRenderer",
  "showLiveChatFutureThingCommand",
  "showCreatorGoalTickerChipCommand",
  "showLiveChatTooltipCommand",
]);

/** Types whose ids end with a hash. */
const HASHED = new Set(["poll", "replaced", "notice"]);

export class Ledger {
  /** All that the room must hold, in order. */
  readonly told: Told[] = [];
  readonly #seen = new Set<string>();
  /** What the room's messages say, by their id. */
  readonly #contents = new Map<string, string>();
  /** Authors all of whose messages were deleted, and whether they have said something since. */
  readonly #deletedAuthors = new Map<string, boolean>();
  /** By panel. */
  readonly #polls = new Map<string, unknown>();

  hear({ kind, action }: Readonly<Entry>): void {
    const key = Object.keys(action).find((name) => /(?:Action|Command)$/.test(name)) ?? "";
    const body = dig(action, key);
    if (NOTHING.has(kind)) return;
    if (key === "addChatItemAction" || key === "addLiveChatTickerItemAction") this.#item(dig(body, "item"));
    else if (key === "addBannerToLiveChatCommand")
      this.#banner(dig(body, "bannerRenderer", "liveChatBannerRenderer"));
    else if (key === "removeBannerForLiveChatCommand")
      this.#event("banner_removed", text(body, "targetActionId"));
    else if (/PollAction$|PanelAction$/.test(key)) this.#poll(key, body);
    else if (key === "replaceChatItemAction") this.#replacement(body);
    else if (/ByAuthor/.test(key)) this.#authorDeletion(text(body, "externalChannelId"), body);
    else if (/Deleted|removeChatItem/.test(key)) this.#event("deleted", text(body, "targetItemId"), body);
    else assert.fail(`the judge does not know ${kind}`);
  }

  /** An item, or one that a ticker shows; `outerId` is the ticker's. */
  #item(holder: unknown, outerId?: unknown): void {
    const [key, item] = only(holder);
    const shown = dig(item, "showItemEndpoint", "showLiveChatItemEndpoint", "renderer");
    const id = String(dig(item, "id") ?? outerId);
    if (shown) this.#item(shown, id);
    else this.#say({ ...read(CHAT_ITEMS, key, item), id }, text(item, "authorExternalChannelId"));
  }

  #banner(banner: unknown): void {
    const [key, item] = only(dig(banner, "contents"));
    const told = read(BANNERS, key, item);
    const author = text(item, "authorExternalChannelId");
    this.#tell({ ...told, id: `${told.type}:${text(banner, "actionId")}` }, "", author);
  }

  /** A message comes in the place of another, or is new where the room does not hold that other. */
  #replacement(body: unknown): void {
    const target = text(body, "targetItemId");
    const [key, item] = only(dig(body, "replacementItem"));
    if (NOTHING.has(key)) return;
    const told = { ...read(CHAT_ITEMS, key, item), id: text(item, "id") };
    const before = this.#contents.get(target);
    const author = text(item, "authorExternalChannelId");
    if (before === undefined) this.#say(told, author);
    else if (before !== contentOf(told)) {
      this.#tell({ ...told, type: "replaced", id: `replaced:${target}` }, contentOf(told), author);
    }
  }

  #poll(key: string, body: unknown): void {
    const closed = key.startsWith("close") ? text(body, "targetPanelId") : undefined;
    const poll =
      (closed === undefined ? undefined : this.#polls.get(closed)) ??
      dig(body, "pollToUpdate", "pollRenderer") ??
      dig(body, "panelToShow", "liveChatActionPanelRenderer", "contents", "pollRenderer");
    if (!poll) return;
    const id = text(poll, "liveChatPollId");
    if (closed === undefined) this.#polls.set(id, poll);
    else this.#polls.delete(closed);
    const header = dig(poll, "header", "pollHeaderRenderer");
    const shown = JSON.stringify([dig(poll, "choices"), words(dig(header, "metadataText")).split(" • ")[2]]);
    const message = words(dig(header, "pollQuestion"));
    this.#tell({ type: "poll", id: `poll:${id}`, author: "", message, amount: "" }, `${closed}${shown}`);
  }

  #event(type: string, target: string, body?: unknown, state = ""): void {
    const message = words(dig(body, "deletedStateMessage"));
    this.#tell({ type, id: `${type}:${target}`, author: "", message, amount: "" }, state);
  }

  /** A repeated deletion is another one where the author has said something since. */
  #authorDeletion(author: string, body: unknown): void {
    const state = this.#deletedAuthors.get(author) ? `after ${this.told.length}` : "";
    this.#event("author_deleted", author, body, state);
    this.#deletedAuthors.set(author, false);
  }

  /** A notice is known by its text: its own id is a new one at each load of the page. */
  #say(told: Told, author: string): void {
    if (told.type === "notice") this.#tell({ ...told, id: "notice" }, told.message);
    else this.#tell(told, "", author);
  }

  /** `state` tells apart what has one id but for its hash. */
  #tell(told: Told, state = "", author = ""): void {
    const name = `${told.id} ${state}`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    this.#contents.set(told.id, contentOf(told));
    if (this.#deletedAuthors.has(author)) this.#deletedAuthors.set(author, true);
    this.told.push(told);
  }
}

/** As far as a ledger can tell it: it knows of no hashes, and not after which message an author was deleted again. */
export function toldBy({ type, id, author, message, amount }: Told): Told {
  const known =
    /^author_deleted:[^:]*/.exec(id)?.[0] ?? (HASHED.has(type) ? id.slice(0, id.lastIndexOf(":")) : id);
  return { type, id: known, author, message, amount };
}

function said(type: string, item: unknown, message: string): Omit<Told, "id"> {
  const author = text(item, "authorName", "simpleText") || text(item, "authorName", "content");
  return { type, author: author.trim(), message, amount: text(item, "purchaseAmountText", "simpleText") };
}

function contentOf({ author, message, amount }: Told): string {
  return JSON.stringify([author, message, amount]);
}

function read(table: typeof CHAT_ITEMS, key: string, item: unknown): Omit<Told, "id"> {
  const reader = table[key] ?? assert.fail(`the judge does not know ${key}`);
  return reader(item);
}

/** The one thing that an object holds. */
function only(holder: unknown): [key: string, held: unknown] {
  assert.ok(isObject(holder));
  const [entry, ...others] = Object.entries(holder);
  assert.ok(entry && others.length === 0);
  return entry;
}

function text(value: unknown, ...path: (string | number)[]): string {
  const found = dig(value, ...path);
  return typeof found === "string" ? found : "";
}

/** A text's runs as they are read aloud: of a custom emoji its first shortcut. */
function words(value: unknown): string {
  const runs = dig(value, "runs");
  if (!Array.isArray(runs)) return text(value, "simpleText");
  const spoken = (run: unknown): string =>
    dig(run, "emoji", "isCustomEmoji") ? text(run, "emoji", "shortcuts", 0) : text(run, "emoji", "emojiId");
  return runs.map((run) => (dig(run, "emoji") ? spoken(run) : text(run, "text"))).join("");
}
