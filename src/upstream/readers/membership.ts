/**
 * Members of the channel: joining, a new level, a milestone, a gift of memberships, a membership received.
 * The text is the upstream's, except at a milestone, where it is the member's own.
 */
import { asArray, asObject, asString, dig, type JsonObject } from "../../base/json.ts";
import { chatItem } from "./chat-item.ts";
import type { Reader } from "./reader.ts";
import { partsOf, sentence, wordsOf } from "./text.ts";

/** One renderer for two events: with a primary header it is a milestone. */
export const membership: Reader = (item, context) =>
  asObject(dig(item, "headerPrimaryText")) ? milestone(item, context) : joining(item, context);

const joining: Reader = (item, context) => {
  const said = dig(item, "headerSubtext");
  // Three runs: "Welcome to ", the level, "!".
  const runs = asArray(dig(said, "runs")) ?? [];
  const level = runs.length === 3 ? wordsOf({ runs: [runs[1]] }) : "";
  return chatItem(item, context, {
    type: "membership",
    parts: partsOf(said),
    details: { level: level || undefined },
  });
};

const milestone: Reader = (item, context) =>
  chatItem(item, context, {
    type: "milestone",
    parts: partsOf(dig(item, "message")),
    details: {
      header: wordsOf(dig(item, "headerPrimaryText")) || undefined,
      level: wordsOf(dig(item, "headerSubtext")) || undefined,
    },
  });

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

/** The first run that consists of a number: the channel's name may also contain one. */
function countIn(text: unknown): number | undefined {
  const runs = asArray(dig(text, "runs")) ?? [];
  const numbers = runs.map((run) => asString(dig(run, "text"))?.trim() ?? "");
  const digits = numbers.find((number) => /^\d{1,3}(?:[.,]?\d{3})?$/.test(number));
  return digits === undefined ? undefined : Number(digits.replace(/\D/, ""));
}

export const giftReceived: Reader = (item, context) =>
  chatItem(item, context, { type: "gift_received", parts: partsOf(dig(item, "message")) });
