/**
 * Members of the channel: who joins, changes level, reaches a number of months, gives memberships or receives one.
 * The text is the upstream's, but the member's own at a milestone.
 */
import { asArray, asObject, asString, dig, type JsonObject } from "../../json.ts";
import { chatItem } from "./chat-item.ts";
import type { Reader } from "./reader.ts";
import { partsOf, sentence, wordsOf } from "./text.ts";

/** One renderer for two events: with a primary header it is a milestone. */
export const membership: Reader = (item, context) =>
  asObject(dig(item, "headerPrimaryText")) ? milestone(item, context) : joining(item, context);

const joining: Reader = (item, context) => {
  const said = dig(item, "headerSubtext");
  // "Welcome to ", the level, "!": what varies stands between what does not.
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

/** How the upstream announced a new member before there were levels. */
export const newSponsor: Reader = (item, context) =>
  chatItem(item, context, {
    type: "membership",
    parts: sentence(dig(item, "eventText"), dig(item, "detailText")),
  });

/** The giver's name stands in the header, the time and the giver's channel outside of it. */
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

/** The first run that is a number and nothing else: the channel's name may hold one too. */
function countIn(text: unknown): number | undefined {
  const runs = asArray(dig(text, "runs")) ?? [];
  const numbers = runs.map((run) => asString(dig(run, "text"))?.trim() ?? "");
  const digits = numbers.find((number) => /^\d{1,3}(?:[.,]?\d{3})?$/.test(number));
  return digits === undefined ? undefined : Number(digits.replace(/\D/, ""));
}

export const giftReceived: Reader = (item, context) =>
  chatItem(item, context, { type: "gift_received", parts: partsOf(dig(item, "message")) });
