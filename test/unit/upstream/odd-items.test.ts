/** Forms of known kinds that leave something out or say it in another way. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Details } from "../../../src/protocol/kinds.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { sentence } from "../../../src/upstream/readers/text.ts";
import { adding, COMMON, PAID, replaying, TEXT } from "../../support/chat-items.ts";
import { bannered, GIFT_HEADER, SENT, ticking } from "../../support/every-kind.ts";
import { PHONE_NOTICE, PHONE_PAID, PHONE_STICKER, PHONE_TEXT } from "../../support/phone-items.ts";
import { poll } from "../../support/poll-items.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";

const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timeOfDay: UTC };
const runs = (...texts: string[]) => ({ runs: texts.map((text) => ({ text })) });

function one(action: object): Message & { details: Details } {
  const { messages, dropped } = readMessages([action], CONTEXT);
  assert.deepEqual(dropped, []);
  const [message] = messages;
  assert.ok(message);
  return message;
}

it("a gift without a header is a gift without a giver", () => {
  const gift = one(adding({ liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: { id: "x" } }));
  assert.deepEqual([gift.type, gift.author, gift.message, gift.details.gift], ["gift", "", "", undefined]);
});

it("an item for phones says what others of its kind say, in texts of both forms", () => {
  const shown = [PHONE_TEXT, PHONE_PAID, PHONE_STICKER, PHONE_NOTICE].map((item) => {
    const { type, author, message, amount } = one(adding(item));
    return [type, author, message, amount];
  });
  assert.deepEqual(shown, [
    ["chat", "@somebody", "hi", ""],
    ["superchat", "@somebody", "hi", "$5.00"],
    ["supersticker", "@somebody", "A cat waves", "$5.00"],
    ["notice", "", "Be kind.", ""],
  ]);
});

it("a ticker's copy has the id and author of its item, or else of the ticker", () => {
  const key = "liveChatSponsorshipsGiftPurchaseAnnouncementRenderer";
  const bare = one(ticking("liveChatTickerSponsorItemRenderer", { [key]: { header: GIFT_HEADER } }));
  assert.deepEqual([bare.id, bare.details.authorId], ["made-up-id", "UCmade-up"]);
  const own = { ...COMMON, id: "own", authorExternalChannelId: "UCown", header: GIFT_HEADER };
  const full = one(ticking("liveChatTickerSponsorItemRenderer", { [key]: own }));
  assert.deepEqual([full.id, full.details.authorId], ["own", "UCown"]);
});

it("a banner of no known type is described by its contents", () => {
  const kinds = [undefined, "LIVE_CHAT_BANNER_TYPE_HOLOGRAM", "other", 7].map(
    (bannerType) => one(bannered(TEXT, { bannerType })).details.banner?.kind,
  );
  assert.deepEqual(kinds, ["pinned_message", "hologram", "pinned_message", "pinned_message"]);
});

it("a pinned paid message keeps its amount and colour, and has the time of the pinning", () => {
  const pinned = one(bannered(PAID));
  assert.deepEqual([pinned.amount, pinned.color, pinned.timestamp], ["NT$1,500.00", "#e62117", "3:04 PM"]);
  assert.deepEqual([pinned.details.tier, pinned.details.publishedAt], [7, undefined]);
  assert.equal(one(replaying("61000", bannered(PAID))).timestamp, "1:01");
});

it("a raid is outgoing or incoming by the target of its button", () => {
  const raid = (inlineActionButton: object) =>
    one(bannered({ liveChatBannerRedirectRenderer: { bannerMessage: runs("x"), inlineActionButton } }))
      .details.raid;
  const leading = (command: object) => raid({ buttonRenderer: { command } });
  assert.deepEqual(leading({ watchEndpoint: { videoId: "not an id" } })?.direction, "out");
  assert.equal(leading({ watchEndpoint: { videoId: "not an id" } })?.videoId, undefined);
  assert.deepEqual(leading({ urlEndpoint: { url: "javascript:alert(1)" } }), { direction: "in" });
  assert.equal(raid({}), undefined);
});

it("a product outside of a banner is identified by its contents", () => {
  const product = (title: unknown) => adding({ liveChatProductItemRenderer: { title } });
  assert.match(one(product("Mug")).id, /^product:[\w-]{12}$/);
  assert.equal(one(product("Mug")).id, one(product({ simpleText: "Mug" })).id);
  assert.notEqual(one(product("Mug")).id, one(product("Poster")).id);
});

it("a donation's amount is found in a run of its own or not", () => {
  const amount = (...texts: string[]) => {
    const item = { liveChatDonationAnnouncementRenderer: { id: "x", text: runs(...texts) } };
    return one(adding(item)).amount;
  };
  assert.equal(amount("Somebody 42 donated ", "€1,250.00"), "€1,250.00");
  assert.equal(amount("Somebody donated $5"), "$5");
  assert.equal(amount("Somebody donated blood"), "");
  assert.equal(amount("100", " gave"), "");
});

it("a poll's percentages are numbers in any form, and its choices and question are bounded", () => {
  const read = (change: object) =>
    one({ updateLiveChatPollAction: { pollToUpdate: { pollRenderer: { ...poll("1 vote"), ...change } } } })
      .details.poll;
  const choice = (simpleText: string) => ({ text: runs("a"), votePercentage: { simpleText } });
  const percents = read({ choices: ["47%", "47 %", "%47", "0.5%", "none", ""].map(choice) })?.choices;
  assert.deepEqual(
    percents?.map(({ percent }) => percent),
    [47, 47, 47, 0.5, undefined, undefined],
  );
  assert.equal(read({ choices: Array.from({ length: 99 }, () => choice("1%")) })?.choices.length, 20);
  const header = { pollHeaderRenderer: { pollQuestion: runs("?".repeat(9999)) } };
  assert.equal(read({ header })?.question.length, 500);
});

it("a replay's events have its offset, even those without a time", () => {
  for (const [action] of Object.values(SENT)) {
    const message = one(replaying("3661000", action));
    assert.deepEqual([message.timestamp, message.details.offsetMs], ["1:01:01", 3661000], message.type);
  }
});

it("a sub-text follows the text after a space", () => {
  const words = (text: unknown, subText: unknown) => sentence(text, subText).map((part) => part.text);
  assert.deepEqual(words(runs("on"), { simpleText: "for all" }), ["on", " ", "for all"]);
  assert.deepEqual(words(runs("on"), undefined), ["on"]);
  assert.deepEqual(words({}, runs("for all")), ["for all"]);
  const long = sentence(runs("x".repeat(9999)), runs("y".repeat(9999)));
  assert.equal(long.map((part) => part.text).join("").length, 10_000);
});

it("a notice is identified by its text, and a poll's result by the upstream's id", () => {
  const id = (itemId: string, words: string, iconType: string) =>
    one(
      adding({
        liveChatViewerEngagementMessageRenderer: { id: itemId, icon: { iconType }, message: runs(words) },
      }),
    ).id;
  assert.match(id("loaded-1", "Be kind.", "YOUTUBE_ROUND"), /^notice:[\w-]{12}$/);
  assert.equal(id("loaded-1", "Be kind.", "YOUTUBE_ROUND"), id("loaded-2", "Be kind.", "YOUTUBE_ROUND"));
  assert.notEqual(id("loaded-1", "Be kind.", "YOUTUBE_ROUND"), id("loaded-1", "Be brief.", "YOUTUBE_ROUND"));
  assert.equal(id("loaded-1", "Yes (100%)", "POLL"), "loaded-1");
});
