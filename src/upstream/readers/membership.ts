/**
 * Members of the channel: joining, a new level, a milestone, a gift of memberships, a membership received.
 * The text is the upstream's, except at a milestone, where it is the member's own.
 */
import { asObject, asPositiveInteger, dig, type JsonObject } from "../../base/json.ts";
import { chatItem, ownWords } from "./chat-item.ts";
import type { Reader } from "./reader.ts";
import { partsOf, runsOf, sentence, wordsOf } from "./text.ts";

/** One renderer for two events: with a primary header it is a milestone. */
export const membership: Reader = (item, context) =>
  asObject(dig(item, "headerPrimaryText")) ? milestone(item, context) : joining(item, context);

const joining: Reader = (item, context) =>
  chatItem(item, context, {
    type: "membership",
    parts: partsOf(item.headerSubtext),
    details: { level: levelIn(item.headerSubtext) },
  });

const milestone: Reader = (item, context) => {
  const header = wordsOf(item.headerPrimaryText);
  return chatItem(item, context, {
    type: "milestone",
    parts: ownWords(item),
    details: {
      header: header || undefined,
      months: monthsIn(header),
      level: wordsOf(item.headerSubtext) || undefined,
    },
  });
};

/** The upstream's announcement of a new member before there were levels. */
export const newSponsor: Reader = (item, context) =>
  chatItem(item, context, {
    type: "membership",
    parts: sentence(dig(item, "eventText"), dig(item, "detailText")),
  });

/** The giver's name is in the header, the time and the giver's channel are outside of it. */
export const gift: Reader = (item, context) => {
  const header = dig(item, "header", "liveChatSponsorshipsHeaderRenderer");
  const giver: JsonObject = {
    ...item,
    authorName: dig(header, "authorName"),
    authorPhoto: dig(header, "authorPhoto"),
    authorBadges: dig(header, "authorBadges"),
  };
  const count = countIn(dig(header, "primaryText"));
  return chatItem(giver, context, {
    type: "gift",
    parts: partsOf(dig(header, "primaryText")),
    details: { gift: count === undefined ? undefined : { count } },
  });
};

export const giftReceived: Reader = (item, context) =>
  chatItem(item, context, {
    type: "gift_received",
    parts: partsOf(item.message),
    details: { giver: giverIn(item.message) },
  });

/*
 * The upstream may divide a sentence into runs anywhere, or nowhere. So the sentence as a whole is read, in
 * the languages that are known. In another one, runs of their own say what the sentence is about.
 */

const WELCOMES = [/^(?:Welcome to|Upgraded membership to) (.+?)!?$/i, /^(.+?)\s*へようこそ[!！]?$/];

/** The level's name may have several runs itself, such as of an emoji. */
function levelIn(text: unknown): string | undefined {
  const level = firstGroup(WELCOMES, wordsOf(text)) ?? wordsOf({ runs: runsOf(text).slice(1, -1) });
  return level.trim() || undefined;
}

/** The header's only number. */
function monthsIn(header: string): number | undefined {
  const [, months] = /^\D*(\d{1,4})\D*$/.exec(header) ?? [];
  return /\byears?\b/i.test(header) ? undefined : asPositiveInteger(months);
}

const GIFTS = [/^(?:gifted|sent) (\d[\d,.]*|an?)(?=\s|$)/i, /^(\d[\d,.]*)\s*件の/];

/** The channel's name may also contain a number. A gift without any number is one membership. */
function countIn(text: unknown): number | undefined {
  const words = wordsOf(text);
  const count =
    firstGroup(GIFTS, words) ??
    runsOf(text)
      .map((run) => wordsOf({ runs: [run] }).trim())
      .find(isNumber);
  if (count !== undefined) return asPositiveInteger(count.replaceAll(/\D/g, "") || "1");
  return words === "" || /\d/.test(words) ? undefined : 1;
}

function isNumber(text: string): boolean {
  return /^\d{1,3}(?:[.,]?\d{3})?$/.test(text);
}

const GIVERS = [/ membership by (.+)$/i, /^(.+?)\s*さんから/];

function giverIn(text: unknown): string | undefined {
  const bold = runsOf(text).filter((run) => dig(run, "bold") === true);
  return (firstGroup(GIVERS, wordsOf(text)) ?? wordsOf({ runs: bold })).trim() || undefined;
}

/** The first group of the first sentence that the text is. */
function firstGroup(sentences: readonly RegExp[], text: string): string | undefined {
  for (const sentence of sentences) {
    const [, found] = sentence.exec(text) ?? [];
    if (found !== undefined) return found;
  }
  return undefined;
}
