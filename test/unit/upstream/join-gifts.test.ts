/**
 * A gift in jewels that is shown in the list and in a widget: one message, under the id of whichever came
 * first.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { MessageOf } from "../../../src/protocol/message.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { joinGifts, NO_GIFTS } from "../../../src/upstream/readers/join-gifts.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { gift, giftWidget } from "../../support/jewels.ts";
import { CONTEXT, roomLog } from "../../support/room-log.ts";

const SENTENCE = "sent Gold coin for 10 Jewels";
const listed = (id = "C", own: object = {}) => gift(id, SENTENCE, own);
const LIST = `jewels C ${SENTENCE}`;
const WIDGET = "jewels W Sent a gift";
const text = (id: string, atSeconds: number) => ({
  addChatItemAction: {
    item: {
      liveChatTextMessageRenderer: {
        id,
        message: { simpleText: "hi" },
        timestampUsec: `${1_767_225_600 + atSeconds}000000`,
      },
    },
  },
});
const anonymous = ({ giftAttributionItemViewModel: model }: { giftAttributionItemViewModel: object }) => ({
  giftAttributionItemViewModel: { ...model, authorName: undefined },
});
const bareText = ({ giftAttributionItemViewModel: model }: { giftAttributionItemViewModel: object }) => ({
  giftAttributionItemViewModel: { ...model, detailText: "Sent a gift" },
});
const replayed = (seconds: number, action: JsonObject) => ({
  replayChatItemAction: { videoOffsetTimeMsec: `${seconds * 1000}`, actions: [action] },
});
const jewels = (lines: string[]) => lines.filter((line) => line.startsWith("jewels"));

/** Answers one after another, a second apart, and what a room then holds of gifts. */
const CASES: [what: string, answers: JsonObject[][], held: string[]][] = [
  ["the widget first", [[giftWidget("W", 1), listed()]], [WIDGET]],
  ["a widget whose text is a bare string", [[giftWidget("W", 1, bareText)]], [WIDGET]],
  ["the list first", [[listed(), giftWidget("W", 1)]], [LIST]],
  ["in two answers", [[giftWidget("W", 1)], [text("a", 1)], [listed()]], [WIDGET]],
  [
    "read again, each form alone and both",
    [[giftWidget("W", 1), listed()], [listed()], [listed(), giftWidget("W", 1)]],
    [WIDGET],
  ],
  [
    "the second form read again in the other order",
    [[listed()], [giftWidget("W", 1), listed()], [giftWidget("W", 1)]],
    [LIST],
  ],
  [
    "given twice",
    [[giftWidget("W", 1), listed(), giftWidget("W", 1), giftWidget("X", 1), listed("D")]],
    [WIDGET, "jewels X Sent a gift"],
  ],
  ["two in one form", [[listed(), listed("D")]], [LIST, `jewels D ${SENTENCE}`]],
  ["raised", [[listed(), giftWidget("W", 1)], [giftWidget("W", 2)]], [LIST, "jewels W:2 Sent a gift"]],
  ["only a raise in the widget", [[listed(), giftWidget("W", 2)]], [LIST, "jewels W:2 Sent a gift"]],
  ["another's", [[listed("C", { authorName: { content: "@other" } }), giftWidget("W", 1)]], [LIST, WIDGET]],
  ["nobody's", [[listed("C", { authorName: undefined }), giftWidget("W", 1, anonymous)]], [LIST, WIDGET]],
  [
    "again in the list",
    [[giftWidget("W", 1), listed(), giftWidget("W", 1), listed("D")]],
    [WIDGET, `jewels D ${SENTENCE}`],
  ],
  [
    "ten seconds of a replay between them",
    [[replayed(0, listed())], [replayed(10, giftWidget("W", 1))]],
    [LIST],
  ],
  ["more than that of a replay", [[replayed(0, listed()), replayed(11, giftWidget("W", 1))]], [LIST, WIDGET]],
  ["another gift", [[gift("C", "sent Hiding"), giftWidget("W", 1)]], ["jewels C sent Hiding", WIDGET]],
  [
    "in another language, by its picture",
    [
      [
        gift("C", "金貨 を送信しました", {
          giftImage: { sources: [{ url: "//i/pdg/gift/assets/gold_coin_v1.png" }] },
        }),
        giftWidget("W", 1),
      ],
    ],
    ["jewels C 金貨 を送信しました"],
  ],
  [
    "ten seconds of chat between them",
    [[text("a", 0), listed(), text("b", 5), text("c", 15), giftWidget("W", 1)]],
    [LIST],
  ],
  [
    "more than that",
    [[text("a", 0), listed(), text("b", 5), text("c", 16), giftWidget("W", 1)]],
    [LIST, WIDGET],
  ],
  [
    "more than that, read backwards",
    [
      [text("c", 16), giftWidget("W", 1)],
      [text("a", 0), listed(), text("b", 5)],
    ],
    [WIDGET, LIST],
  ],
];

describe("a gift that has two forms", () => {
  for (const [what, answers, held] of CASES) {
    it(`is judged the same in every reading: ${what}`, async () => {
      for (const restarts of [false, true]) {
        const store = memoryStore(systemClock);
        let take = await roomLog(store);
        const sent: string[] = [];
        // All of it comes again, as from a page.
        for (const answer of [...answers, ...answers, answers.flat()]) {
          if (restarts) take = await roomLog(store);
          sent.push(...(await take(...answer)));
        }
        assert.deepEqual(jewels(sent), held, restarts ? "restarted" : "in one life");
      }
    });
  }

  it("waits ten seconds for its other form, or for the first answer after that", async () => {
    const clock = new FakeClock();
    for (const { secondsOfPolls, held } of [
      { secondsOfPolls: [9], held: [WIDGET] },
      { secondsOfPolls: [60], held: [WIDGET] },
      { secondsOfPolls: [5, 6, 1], held: [WIDGET, LIST] },
    ]) {
      const take = await roomLog(memoryStore(clock), clock);
      const sent = await take(giftWidget("W", 1));
      for (const [i, seconds] of secondsOfPolls.entries()) {
        await clock.advance(seconds * 1000);
        sent.push(...(await take(...(i === secondsOfPolls.length - 1 ? [listed()] : []))));
      }
      assert.deepEqual(sent, held, `${secondsOfPolls}`);
    }
  });

  it("is not joined with a much older gift that a page shows again", async () => {
    const clock = new FakeClock();
    const take = await roomLog(memoryStore(clock), clock);
    const sent = await take(listed());
    await clock.advance(11_000);
    await take();
    assert.deepEqual([...sent, ...(await take(listed(), giftWidget("W", 1)))], [LIST, WIDGET]);
  });

  it("has the price of the list form and the giver of the widget form, whichever came first", () => {
    const beside = {
      elementRenderer: { compatibilityOptions: { liveChatAuthorExternalChannelId: "UCgiver" } },
    };
    const widget = giftWidget("W", 1, (model) => ({ ...beside, ...model }));
    for (const actions of [
      [listed(), widget],
      [widget, listed()],
    ]) {
      const { items } = joinGifts(readActions(actions, CONTEXT).items, new Set(), NO_GIFTS, 0);
      const [details] = items.map(({ message }) => message.details as MessageOf<"jewels">["details"]);
      assert.deepEqual([details?.authorId, details?.jewels.count, details?.jewels.combo], ["UCgiver", 10, 1]);
    }
  });

  it("keeps its first form if the second is raised or deleted", () => {
    const read = (...actions: JsonObject[]) => readActions(actions, CONTEXT).items;
    const both = joinGifts(read(listed(), giftWidget("W", 1)), new Set(), NO_GIFTS, 0);
    const about = read(giftWidget("W", 2), { removeChatItemAction: { targetItemId: "W" } });
    const { items } = joinGifts(about, new Set(), both.memory, 0);
    assert.deepEqual(
      items.map(({ message: { id, details } }) => [id, "target" in details && details.target]),
      [
        ["W:2", { messageId: "C" }],
        ["deleted:C", { messageId: "C" }],
      ],
    );
  });

  it("is remembered with 200 others, the newest", () => {
    let memory = NO_GIFTS;
    for (let i = 0; i < 201; i++) {
      const both = readActions(
        [listed(`C${i}`), giftWidget(`W${i}`, 1), listed(`D${i}`, { authorName: { content: `@${i}` } })],
        CONTEXT,
      );
      ({ memory } = joinGifts(both.items, new Set(), memory, 0));
    }
    const { open, firstForms } = memory;
    assert.deepEqual(
      [open.length, firstForms.size, firstForms.has("W0"), firstForms.get("W200")],
      [200, 200, false, "C200"],
    );
  });

  it("ends no gap by its second form, and, like any gift, does not prove that nothing is missing", async () => {
    const pending = {
      sinceMs: CONTEXT.receivedAt,
      untilMs: CONTEXT.receivedAt,
      reason: "down",
    } as const;
    const GAP = /^gap gap:\d+ Messages may be missing here/;
    const missed = async (...before: JsonObject[]) => {
      const store = memoryStore(systemClock);
      await (await roomLog(store))(...before);
      return roomLog(store, systemClock, pending);
    };
    const unread = await missed(giftWidget("W", 1));
    assert.deepEqual(await unread(listed()), []);
    const [gap = "", ...others] = await unread(listed("D"), text("a", 1));
    assert.match(gap, GAP);
    assert.deepEqual(others, [`jewels D ${SENTENCE}`, "chat a hi"]);
    const read = await missed(giftWidget("W", 1), listed());
    const [again = "", ...rest] = await read(listed(), text("a", 1));
    assert.match(again, GAP);
    assert.deepEqual(rest, ["chat a hi"]);
  });
});
