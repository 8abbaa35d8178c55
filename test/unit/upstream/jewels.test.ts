/**
 * Gifts in jewels as the readers make messages of them, and what an answer brings with a message: rank,
 * likes, replies.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Message } from "../../../src/protocol/message.ts";
import { adding, MUTATIONS, PAID, STICKER, TEXT } from "../../support/chat-items.ts";
import { gift, giftWidget } from "../../support/jewels.ts";
import { readMessages } from "../../support/read-messages.ts";
import { CONTEXT } from "../../support/room-log.ts";

function read(action: object, mutations: readonly object[] = []): Message {
  const { messages } = readMessages([action], { ...CONTEXT, mutations });
  assert.equal(messages.length, 1, JSON.stringify(action));
  return messages[0] ?? assert.fail();
}
const picture = (file: string) => ({
  giftImage: { sources: [{ url: `//www.gstatic.com/youtube/img/pdg/gift/${file}`, width: 480 }] },
});

const NAMED: [what: string, action: object, jewels: object][] = [
  ["its sentence", gift("g", "sent Gold coin for 10 Jewels"), { gift: "Gold coin", count: 10 }],
  ["a price of one", gift("g", "sent Heart for 1 Jewel"), { gift: "Heart", count: 1 }],
  ["a price in thousands", gift("g", "sent Castle for 1,500 Jewels"), { gift: "Castle", count: 1500 }],
  ["a sentence without a price", gift("g", "sent Hiding"), { gift: "Hiding" }],
  ["a gift that is for something", gift("g", "sent Cake for you"), { gift: "Cake for you" }],
  ["a Japanese sentence", gift("g", "かき氷 を送信しました"), { gift: "かき氷" }],
  [
    "another language's picture",
    gift("g", "hat geschenkt", picture("assets/gold_coin_v2_320x320.png=w480-h480")),
    { gift: "gold coin" },
  ],
  ["a picture outside of the assets", gift("g", "Sent a gift", picture("france.png")), { gift: "france" }],
  [
    "a label",
    gift("g", "Sent a gift", { giftImageA11yLabel: "@x sent a gift, Image of a star" }),
    { gift: "star" },
  ],
  ["nothing", gift("g", "Sent a gift"), { gift: "" }],
  ["a widget's picture", giftWidget("g", 1), { gift: "gold coin", combo: 1 }],
  ["a widget of no count", giftWidget("g", undefined), { gift: "gold coin" }],
  ["a widget of no sensible count", giftWidget("g", -2), { gift: "gold coin" }],
];

describe("a gift in jewels", () => {
  for (const [what, action, jewels] of NAMED) {
    it(`is named by ${what}`, () => {
      const { type, id, details } = read(action);
      assert.deepEqual([type, id, "jewels" in details && details.jewels], ["jewels", "g", jewels]);
      assert.equal("target" in details, false);
    });
  }

  it("is a separate message at each raise of its combo", () => {
    const raises = [1, 2, 7].map((combo) => read(giftWidget("g", combo)));
    assert.deepEqual(
      raises.map(({ id, details }) => [id, "target" in details ? details.target : undefined]),
      [
        ["g", undefined],
        ["g:2", { messageId: "g" }],
        ["g:7", { messageId: "g" }],
      ],
    );
  });

  it("takes its giver's channel from beside it or from within, in any order", () => {
    const options = { compatibilityOptions: { liveChatAuthorExternalChannelId: "UCgiver" } };
    for (const wrap of [
      (model: object) => ({ ...model, elementRenderer: options }),
      (model: object) => ({ elementRenderer: options, ...model }),
      (model: object) => ({ giftOverlayItemViewModel: {}, elementRenderer: options, ...model }),
      ({ giftAttributionItemViewModel }: { giftAttributionItemViewModel: object }) => ({
        giftAttributionItemViewModel: { ...giftAttributionItemViewModel, elementRenderer: options },
      }),
    ]) {
      const { details } = read(giftWidget("g", 1, wrap));
      assert.equal("authorId" in details && details.authorId, "UCgiver");
    }
    const listed = { giftMessageViewModel: { id: "g", text: { content: "sent Hiding" } } };
    const { details } = read(adding({ elementRenderer: options, ...listed }));
    assert.equal("authorId" in details && details.authorId, "UCgiver");
  });
});

describe("an answer's extras of a message", () => {
  const button = (title: string) => ({ buttonViewModel: { iconName: "CROWN", title } });
  const liked = {
    pdgLikeButton: { pdgLikeViewModel: { likeCountEntityKey: "likes-1" } },
    replyButton: { pdgReplyButtonViewModel: { replyCountEntityKey: "replies-1" } },
  };
  const within = (item: object, own: object) =>
    adding(Object.fromEntries(Object.entries(item).map(([key, body]) => [key, { ...body, ...own }])));
  const extras = ({ details }: Message) =>
    ["rank", "likes", "replies"].map((key) => (details as Record<string, unknown>)[key]);

  it("include its author's rank", () => {
    const ranked = (title: string) => within(TEXT, { beforeContentButtons: [button(title)] });
    const titles = ["#1", "#3", "#4", "#12", "1", "#0"];
    assert.deepEqual(
      titles.map((title) => extras(read(ranked(title)))[0]),
      [1, 3, undefined, undefined, undefined, undefined],
    );
    assert.equal(extras(read(within(PAID, { leaderboardBadge: button("#2") })))[0], 2);
  });

  it("include its likes and replies, from beside the actions or from an action, also in a replay", () => {
    const command = { entityUpdateCommand: { entityBatchUpdate: { mutations: MUTATIONS } } };
    const replayed = { replayChatItemAction: { videoOffsetTimeMsec: "5", actions: [command] } };
    for (const item of [PAID, STICKER]) {
      const message = within(item, liked);
      assert.deepEqual(extras(read(message)), [undefined, undefined, undefined]);
      assert.deepEqual(extras(read(message, MUTATIONS)), [undefined, 12, 3]);
      for (const action of [command, replayed]) {
        const { messages } = readMessages([message, action], CONTEXT);
        assert.deepEqual(messages.map(extras), [[undefined, 12, 3]]);
      }
    }
  });

  it("do not include deleted values, values of another message, or values that are not counts", () => {
    const update = (entityKey: string, number: unknown) => ({
      entityKey,
      payload: { likeCountEntity: { likeCountIfIndifferentNumber: number } },
    });
    const others = [
      update("likes-2", "5"),
      update("likes-1", "-1"),
      update("likes-1", "many"),
      { entityKey: "likes-1", type: "ENTITY_MUTATION_TYPE_DELETE" },
    ];
    assert.deepEqual(extras(read(within(PAID, liked), others)), [undefined, undefined, undefined]);
  });
});
