/**
 * Sentences of the upstream, divided into runs in every way: what they say of levels, counts, months, givers,
 * amounts and votes is the same in all of them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Details } from "../../../src/protocol/kinds.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { adding, COMMON } from "../../support/chat-items.ts";
import { poll } from "../../support/poll-items.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";

type Text = { simpleText: string } | { runs: object[] };

function one(action: object) {
  const { messages, dropped } = readMessages([action], { receivedAt: 0, timeOfDay: UTC, isEnglish: true });
  assert.deepEqual(dropped, []);
  const [message = assert.fail("no message")] = messages;
  return { ...message, details: message.details as Details };
}

/** The pieces as they are, as one run, as one text without runs, and with one more run. */
function formsOf(...pieces: string[]): Text[] {
  const runs = pieces.map((text) => ({ text }));
  const whole = pieces.join("");
  const [first = "", ...others] = pieces;
  return [
    { runs },
    { runs: [{ text: whole }] },
    { simpleText: whole },
    { runs: [first.slice(0, 2), first.slice(2), ...others].map((text) => ({ text })) },
    { runs: [{ text: first }, { text: others.join("") }] },
  ];
}

const CROWN = { emoji: { emojiId: "👑", shortcuts: [":crown:"] } };
const member = (own: object) => adding({ liveChatMembershipItemRenderer: { ...COMMON, ...own } });
const gift = (primaryText: object) =>
  adding({
    liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: {
      id: "x",
      header: { liveChatSponsorshipsHeaderRenderer: { primaryText } },
    },
  });
const received = (message: object) =>
  adding({ liveChatSponsorshipsGiftRedemptionAnnouncementRenderer: { ...COMMON, message } });

describe("a membership's level", () => {
  const level = (headerSubtext: object) => one(member({ headerSubtext })).details.level;
  for (const [pieces, expected] of [
    [["Welcome to ", "Gold", "!"], "Gold"],
    [["Upgraded membership to ", "Gold", "!"], "Gold"],
    [["Welcome to ", "Go!!", "!"], "Go!!"],
    [["上級エンジニア", " へようこそ！"], "上級エンジニア"],
    [["New member"], undefined],
  ] as const) {
    it(`is ${expected} in ${pieces.join("")}`, () => {
      for (const text of formsOf(...pieces)) assert.equal(level(text), expected, JSON.stringify(text));
    });
  }

  it("may contain an emoji, in another language, too", () => {
    const runs = (...texts: string[]) => [{ text: texts[0] }, { text: "Gold " }, CROWN, { text: texts[1] }];
    assert.equal(level({ runs: runs("Welcome to ", "!") }), "Gold 👑");
    assert.equal(level({ runs: runs("Willkommen bei ", "!") }), "Gold 👑");
    assert.equal(level({ runs: [{ text: "Welcome to " }, CROWN, { text: "!" }] }), "👑");
    const headerPrimaryText = { simpleText: "Member for 2 months" };
    const headerSubtext = { runs: [{ text: "Gold " }, CROWN] };
    assert.equal(one(member({ headerPrimaryText, headerSubtext })).details.level, "Gold 👑");
  });
});

describe("the months of a milestone", () => {
  const months = (headerPrimaryText: object) => one(member({ headerPrimaryText })).details.months;
  it("are the number in its header", () => {
    for (const text of formsOf("Member for ", "14", " months")) assert.equal(months(text), 14);
    for (const text of formsOf("Member for ", "1", " month")) assert.equal(months(text), 1);
    assert.equal(months({ simpleText: "14 か月間メンバー" }), 14);
  });
  it("are absent where the header says no number of months", () => {
    for (const simpleText of ["Member for 1 year", "Member for 1 year, 2 months", "Member", ""])
      assert.equal(months({ simpleText }), undefined, simpleText);
  });
});

describe("the count of a gift", () => {
  const count = (text: object) => one(gift(text)).details.gift?.count;
  for (const [pieces, expected] of [
    [["Gifted ", "5", " ", "Channel 77", " memberships"], 5],
    [["Sent ", "50", " ", "24/7 News", " gift memberships"], 50],
    [["Sent ", "1,000", " ", "X", " gift memberships"], 1000],
    [["Sent ", "1", " ", "X", " gift membership"], 1],
    [["Gifted ", "a", " ", "X", " membership"], 1],
    [["Gifted a ", "1984", " membership"], 1],
    [["10", " 件の ", "上級", " メンバーシップ ギフトを贈りました"], 10],
  ] as const) {
    it(`is ${expected} in ${pieces.join("")}`, () => {
      for (const text of formsOf(...pieces)) assert.equal(count(text), expected, JSON.stringify(text));
    });
  }
  it("is one where there is no number, and absent where the channel's name has one", () => {
    assert.equal(count({ simpleText: "Eine Mitgliedschaft verschenkt" }), 1);
    assert.equal(count({ simpleText: "Mitgliedschaft von Studio 54 verschenkt" }), undefined);
    assert.equal(count({}), undefined);
  });
});

it("the giver of a membership is named, however the sentence is divided", () => {
  const giver = (text: object) => one(received(text)).details.giver;
  for (const text of formsOf("received a gift membership by ", "@giver"))
    assert.equal(giver(text), "@giver", JSON.stringify(text));
  const bold = { text: "@giver", bold: true, italics: true };
  assert.equal(giver({ runs: [bold, { text: " hat eine Mitgliedschaft verschenkt" }] }), "@giver");
  assert.equal(giver({ runs: [{ text: "received a gift" }] }), undefined);
});

it("a donation's amount is found in one run as in several", () => {
  for (const text of formsOf("Somebody donated ", "CZK\u00a050.00")) {
    const donated = one(
      adding({ liveChatDonationAnnouncementRenderer: { id: "x", text, subtext: { simpleText: "to X" } } }),
    );
    assert.deepEqual(
      [donated.amount, donated.details.amount],
      ["CZK\u00a050.00", { value: 50, currency: "CZK" }],
    );
  }
});

describe("a poll", () => {
  const shown = (change: (renderer: ReturnType<typeof poll>) => object) =>
    one({ updateLiveChatPollAction: { pollToUpdate: { pollRenderer: change(poll("0 votes")) } } }).details
      .poll;

  it("has its votes in one text as in several runs", () => {
    for (const metadataText of formsOf("@a • b", " • ", "just now", " • ", "13,869 votes")) {
      const voted = shown((renderer) => {
        const { pollHeaderRenderer } = renderer.header;
        return { ...renderer, header: { pollHeaderRenderer: { ...pollHeaderRenderer, metadataText } } };
      });
      assert.equal(voted?.votes, 13869, JSON.stringify(metadataText));
    }
  });

  it("does not take less than one percent for one", () => {
    const choices = (percents: string[], own: object = {}) =>
      shown((renderer) => ({
        ...renderer,
        choices: percents.map((text) => ({
          text: { simpleText: "x" },
          votePercentage: { simpleText: text },
          ...own,
        })),
      }))?.choices;
    assert.deepEqual(choices(["<1%", "< 1 %", "1%", "%3"]), [
      { text: "x" },
      { text: "x" },
      { text: "x", percent: 1 },
      { text: "x", percent: 3 },
    ]);
    assert.deepEqual(choices(["<1%"], { voteRatio: 0.004 }), [{ text: "x", ratio: 0.004 }]);
  });
});

describe("a translated message", () => {
  const translated = { message: { simpleText: "Good morning" }, hoverMessage: { simpleText: "おはよう" } };
  const messagePrefixIcon = { iconType: "TRANSLATE" };
  const items = {
    chat: { liveChatTextMessageRenderer: { ...COMMON, ...translated, messagePrefixIcon } },
    superchat: { liveChatPaidMessageRenderer: { ...COMMON, ...translated, messagePrefixIcon } },
    milestone: {
      liveChatMembershipItemRenderer: { ...COMMON, ...translated, messagePrefixIcon, headerPrimaryText: {} },
    },
  };
  for (const [type, item] of Object.entries(items)) {
    it(`is the original words of the ${type}`, () => {
      const message = one(adding(item));
      assert.deepEqual([message.type, message.message], [type, "おはよう"]);
    });
  }
  it("keeps its words where the answer has no others", () => {
    const item = { ...COMMON, message: translated.message, messagePrefixIcon };
    assert.equal(one(adding({ liveChatTextMessageRenderer: item })).message, "Good morning");
    const untranslated = { ...COMMON, ...translated };
    assert.equal(one(adding({ liveChatTextMessageRenderer: untranslated })).message, "Good morning");
  });
});

describe("an amount with three decimals", () => {
  const paid = adding({
    liveChatPaidMessageRenderer: { ...COMMON, purchaseAmountText: { simpleText: "KWD\u00a01.500" } },
  });
  it("is read on a stream, whose calls ask for English", async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat("three-deci1", { page: 0 });
    const viewer = await relay.enter({ videoId: "three-deci1", details: true });
    chat.say([paid]);
    const [sent] = await viewer.untilMessages(1);
    assert.deepEqual((sent?.message.details as Details | undefined)?.amount, { value: 1.5, currency: "KWD" });
  });
  it("is not guessed in a capture, because its language is unknown", () => {
    const [message] = readMessages([paid], { receivedAt: 0, timeOfDay: UTC }).messages;
    assert.deepEqual((message?.details as Details | undefined)?.amount, { value: null, currency: "KWD" });
  });
});
