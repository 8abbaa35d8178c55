/**
 * The renderers of chat items in the upstream's format: one function for each kind that viewers see. The
 * caller decides the author and the time; the text is drawn from the words.
 */
import { type Author, memberBadge, type Origin, thumbnails } from "./author.ts";
import type { JsonObject } from "./plain-json.ts";
import type { Random } from "./random.ts";
import { divided, standardEmoji, writeRuns } from "./runs.ts";
import { type Says, says, saysAs, wordsOf } from "./says.ts";
import * as words from "./words.ts";

/** An item with its renderer's key (as `item` holds it), and its message, if it has one. */
export interface Item {
  key: string;
  renderer: JsonObject;
  says?: Says;
  /** Set for a paid message. */
  thread?: Thread;
  /** Entities that accompany the item. */
  mutations?: readonly JsonObject[];
}

/** An id in the upstream's format: a small message in base64, sometimes a longer one with escaped padding. */
export function writeId(random: Random): string {
  const part = random.text(20).slice(0, 26);
  if (!random.chance(0.1)) return btoa(`\n\x1c\n\x1a${part}`);
  const client = random.text(21).slice(0, 27);
  return btoa(`\n\x39\n\x1a${part}\x12\x1b${client}`).replaceAll("=", "%3D");
}

function base({ author, usec, id }: Origin, random: Random): JsonObject {
  return {
    id,
    timestampUsec: usec,
    authorName: { simpleText: author.name },
    authorPhoto: author.photo,
    authorExternalChannelId: author.channelId,
    ...(author.badges.length > 0 && { authorBadges: author.badges }),
    contextMenuEndpoint: {
      commandMetadata: { webCommandMetadata: { ignoreNavigation: true } },
      liveChatItemContextMenuEndpoint: { params: random.text(18) },
    },
    contextMenuAccessibility: { accessibilityData: { label: "Chat actions" } },
    trackingParams: `CAEQl98B${random.text(15)}`,
  };
}

/** A place on the leaderboard, and the button that shows it. Few authors have one. */
function ranked(random: Random, chance: number): { rank?: number; button?: JsonObject } {
  if (!random.chance(chance)) return {};
  const rank = 1 + random.below(3);
  const title = `#${rank}`;
  return { rank, button: { buttonViewModel: { iconName: "CROWN", title, accessibilityText: title } } };
}

/** The buttons of a paid message, and usually the entities with their counts. */
function liked(thread: string, random: Random) {
  const keyOf = (counted: string) => encodeURIComponent(btoa(`\n\x04live\x12#${thread} ${counted}`));
  const [likeCountEntityKey, replyCountEntityKey] = ["likes", "replies"].map(keyOf);
  const buttons = {
    pdgLikeButton: { pdgLikeViewModel: { likeCountEntityKey } },
    replyButton: { pdgReplyButtonViewModel: { replyCountEntityKey } },
  };
  if (random.chance(0.3)) return { buttons, counts: {}, mutations: [] };
  const [likes, replies] = [random.below(2000), random.below(50)];
  const likeCountEntity = { key: likeCountEntityKey, likeCountIfIndifferentNumber: String(likes) };
  const replyCountEntity = { key: replyCountEntityKey, replyCountNumber: String(replies) };
  const type = "ENTITY_MUTATION_TYPE_REPLACE";
  const mutations = [
    { entityKey: likeCountEntityKey, type, payload: { likeCountEntity } },
    { entityKey: replyCountEntityKey, type, payload: { replyCountEntity } },
  ];
  return { buttons, counts: { likes, replies }, mutations };
}

/** New counts for a message from long ago. */
export function newCounts(random: Random): JsonObject {
  const { mutations } = liked(writeThread(random), random);
  return { entityUpdateCommand: { entityBatchUpdate: { mutations } } };
}

/** The id of the replies to a paid message. */
function writeThread(random: Random): string {
  return random.text(27).slice(0, 35);
}

/** A paid message, with the thread of its replies. */
export interface Thread {
  id: string;
  of: Says;
}

/** A reply to a paid message is a text whose button opens the thread. */
export function reply(origin: Origin, random: Random, thread: Thread): Item {
  const { key, renderer, says } = text(origin, random);
  const params = encodeURIComponent(btoa(`\x08\x01\n#${thread.id}\x10\x02`));
  const showEngagementPanelEndpoint = {
    identifier: { tag: "PAreply_thread" },
    globalConfiguration: { params },
  };
  const { author, id: messageId } = thread.of;
  const onTap = { innertubeCommand: { showEngagementPanelEndpoint } };
  const button = { buttonViewModel: { iconName: "MESSAGE", title: author, onTap } };
  const before = [button, ...[renderer.beforeContentButtons ?? []].flat()];
  const extras = { ...says?.extras, replyTo: { author, messageId } };
  return {
    key,
    renderer: { ...renderer, beforeContentButtons: before },
    ...(says && { says: { ...says, extras } }),
  };
}

export function text(origin: Origin, random: Random, runs = writeRuns(random)): Item {
  const { rank, button } = ranked(random, 0.02);
  const crown = button && { beforeContentButtons: [button] };
  const shown = random.chance(0.01)
    ? {
        messagePrefixIcon: { iconType: "TRANSLATE" },
        message: { simpleText: "(translated)" },
        hoverMessage: { runs },
      }
    : { message: { runs } };
  const renderer: JsonObject = { ...shown, ...base(origin, random), ...crown };
  // A deleted account's message has no name.
  const isNamed = !random.chance(0.002);
  if (!isNamed) delete renderer.authorName;
  const said = { ...saysAs(origin, "chat", wordsOf(runs)), ...(rank && { extras: { rank } }) };
  return { key: "liveChatTextMessageRenderer", renderer, says: isNamed ? said : { ...said, author: "" } };
}

/** By the number of decimals: each takes long to make. */
const AMOUNTS = {
  0: new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }),
  2: new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
  3: new Intl.NumberFormat("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 }),
};

/** A price in one of the seven tiers, most often a cheap one. */
function price(random: Random): { amount: string; tier: (typeof words.TIERS)[number] } {
  const index = Math.floor(random.next() ** 2 * words.TIERS.length);
  const tier = words.TIERS[index] ?? words.TIERS[0];
  const { prefix, decimals, unit } = random.pick(words.CURRENCIES);
  const value = tier.from * unit + random.below(Math.max(1, Math.floor(tier.from * unit * 0.5)));
  return { amount: `${prefix}${AMOUNTS[decimals].format(value)}`, tier };
}

export function paid(origin: Origin, random: Random): Item {
  const { amount, tier } = price(random);
  const own = base(origin, random);
  const runs = random.chance(0.85) ? writeRuns(random) : undefined;
  const { rank, button } = ranked(random, 0.1);
  const threadId = writeThread(random);
  const { buttons, counts, mutations } = liked(threadId, random);
  const said = {
    ...saysAs(origin, "superchat", wordsOf(runs ?? []), amount),
    extras: { ...(rank && { rank }), ...counts },
  };
  return {
    key: "liveChatPaidMessageRenderer",
    says: said,
    thread: { id: threadId, of: said },
    mutations,
    renderer: {
      ...(button && { leaderboardBadge: button }),
      ...buttons,
      ...own,
      purchaseAmountText: { simpleText: amount },
      ...(runs && { message: { runs } }),
      headerBackgroundColor: tier.header,
      headerTextColor: tier.text,
      bodyBackgroundColor: tier.body,
      bodyTextColor: tier.text,
      authorNameTextColor: tier.author,
      timestampColor: 0x80000000,
      isV2Style: true,
      textInputBackgroundColor: 0x33ffffff,
    },
  };
}

export function sticker(origin: Origin, random: Random): Item {
  const { amount, tier } = price(random);
  const label = random.pick(words.STICKERS);
  return {
    key: "liveChatPaidStickerRenderer",
    says: saysAs(origin, "supersticker", label, amount),
    renderer: {
      ...base(origin, random),
      sticker: {
        ...thumbnails(`//lh3.googleusercontent.com/${random.text(24)}=s`, 104, 208),
        accessibility: { accessibilityData: { label } },
      },
      moneyChipBackgroundColor: tier.header,
      moneyChipTextColor: tier.text,
      purchaseAmountText: { simpleText: amount },
      stickerDisplayWidth: 104,
      stickerDisplayHeight: 104,
      backgroundColor: tier.body,
      authorNameTextColor: tier.author,
      isV2Style: true,
    },
  };
}

function asMember(origin: Origin, random: Random): Origin {
  return { ...origin, author: { ...origin.author, badges: [memberBadge(random)] } };
}

/** A level's name, some with an emoji, as runs. */
function level(random: Random): JsonObject[] {
  const name = { text: random.pick(words.LEVELS) };
  return random.chance(0.2) ? [{ text: `${name.text} ` }, standardEmoji(random)] : [name];
}

/** A sentence about a level, divided in any way. */
function aboutLevel(begin: string, random: Random) {
  const named = level(random);
  const runs = [{ text: begin }, ...named, { text: "!" }];
  return { headerSubtext: divided(runs, random), sentence: wordsOf(runs), extras: { level: wordsOf(named) } };
}

function joining(
  origin: Origin,
  random: Random,
  { headerSubtext, sentence, extras }: ReturnType<typeof aboutLevel>,
): Item {
  return {
    key: "liveChatMembershipItemRenderer",
    says: { ...saysAs(origin, "membership", sentence), extras },
    renderer: { ...base(asMember(origin, random), random), headerSubtext },
  };
}

/** A new member. The sentence may name no level. */
export function membership(origin: Origin, random: Random): Item {
  if (!random.chance(0.2)) return joining(origin, random, aboutLevel("Welcome to ", random));
  const says = saysAs(origin, "membership", "New member");
  const headerSubtext = divided([{ text: "New member" }], random);
  return {
    key: "liveChatMembershipItemRenderer",
    says,
    renderer: { ...base(asMember(origin, random), random), headerSubtext },
  };
}

export function upgrade(origin: Origin, random: Random): Item {
  return joining(origin, random, aboutLevel("Upgraded membership to ", random));
}

export function milestone(origin: Origin, random: Random): Item {
  const months = 1 + random.below(40);
  const header = ["Member for ", String(months), months === 1 ? " month" : " months"];
  const runs = random.chance(0.8) ? writeRuns(random) : undefined;
  const named = level(random);
  return {
    key: "liveChatMembershipItemRenderer",
    says: {
      ...saysAs(origin, "milestone", wordsOf(runs ?? [])),
      extras: { months, level: wordsOf(named) },
    },
    renderer: {
      ...base(asMember(origin, random), random),
      headerPrimaryText: divided(
        header.map((text) => ({ text })),
        random,
      ),
      headerSubtext: divided(named, random),
      ...(runs ? { message: { runs } } : { empty: true }),
    },
  };
}

/** A gift of one may say "a" in place of a number. */
export function gift(origin: Origin, random: Random): Item {
  const { author, usec, id } = origin;
  const count = random.pick([1, 5, 10, 50]);
  const channel = random.pick(words.CHANNELS);
  const pieces = random.chance(0.5)
    ? ["Sent ", String(count), " ", channel, " gift memberships"]
    : ["Gifted ", count === 1 ? "a" : String(count), " ", channel, " memberships"];
  const runs = pieces.map((text) => ({ text, bold: true }));
  return {
    key: "liveChatSponsorshipsGiftPurchaseAnnouncementRenderer",
    says: { ...saysAs(origin, "gift", wordsOf(runs)), extras: { gift: { count } } },
    renderer: {
      id,
      timestampUsec: usec,
      authorExternalChannelId: author.channelId,
      header: {
        liveChatSponsorshipsHeaderRenderer: {
          authorName: { simpleText: author.name },
          authorPhoto: author.photo,
          primaryText: divided(runs, random),
          authorBadges: [memberBadge(random)],
          image: {
            thumbnails: [
              {
                url: "https://www.gstatic.com/youtube/img/sponsorships/sponsorships_gift_purchase_announcement_artwork.png",
              },
            ],
          },
        },
      },
    },
  };
}

export function redemption(origin: Origin, random: Random, giver: Author): Item {
  const runs = [
    { text: "received a gift membership by ", italics: true },
    { text: giver.name, bold: true, italics: true },
  ];
  return {
    key: "liveChatSponsorshipsGiftRedemptionAnnouncementRenderer",
    says: { ...saysAs(origin, "gift_received", wordsOf(runs)), extras: { giver: giver.name } },
    renderer: { message: divided(runs, random), ...base(origin, random) },
  };
}

/** A donation. The upstream's sentence names who gave it, but the item has no author. */
export function donation({ author, usec, id }: Origin, random: Random): Item {
  const { amount } = price(random);
  const charity = random.pick(words.CHARITIES);
  return {
    key: "liveChatDonationAnnouncementRenderer",
    says: says("donation", id, "", `${author.name} donated ${amount} to ${charity}`, amount),
    renderer: {
      id,
      timestampUsec: usec,
      text: divided([{ text: `${author.name} donated ` }, { text: amount }], random),
      subtext: { runs: [{ text: "to " }, { text: charity }] },
    },
  };
}

export function placeholder({ id, usec }: Origin): Item {
  return { key: "liveChatPlaceholderItemRenderer", renderer: { id, timestampUsec: usec } };
}

/** A notice of the site; `POLL` is the icon of a poll's result. Some have no time. */
export function engagement({ id, usec }: Origin, iconType: string, runs: JsonObject[]): Item {
  const time = iconType === "POLL" ? {} : { timestampUsec: usec };
  return {
    key: "liveChatViewerEngagementMessageRenderer",
    says: says(iconType === "POLL" ? "poll_result" : "notice", id, "", wordsOf(runs)),
    renderer: { id, ...time, icon: { iconType }, message: { runs } },
  };
}

export function modeChange({ id, usec }: Origin): Item {
  return {
    key: "liveChatModeChangeMessageRenderer",
    says: says("mode", id, "", "Slow mode is on Send a message every 60 seconds"),
    renderer: {
      id,
      timestampUsec: usec,
      icon: { iconType: "SLOW_MODE" },
      text: { runs: [{ text: "Slow mode is on", bold: true }] },
      subtext: {
        runs: [
          { text: "Send a message every ", italics: true },
          { text: "60 seconds", italics: true },
        ],
      },
    },
  };
}

export function houseRules(origin: Origin): Item {
  return engagement(origin, "YOUTUBE_ROUND", [{ text: "Be kind, and keep what is private private." }]);
}
