import assert from "node:assert/strict";
import { test } from "node:test";
import { readActions } from "../src/upstream/actions.ts";
import { asArray, dig } from "../src/upstream/json.ts";
import { frozen } from "./support/frozen.ts";
import { noRecordings, recordedJson } from "./support/recorded.ts";

const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timezone: "UTC" };

/** The actions of a recorded answer, list or single action, frozen. */
function recordedActions(name: string): readonly unknown[] {
  const body = frozen(recordedJson(name));
  const answer = dig(body, "response") ?? body;
  return (
    asArray(body) ?? asArray(dig(answer, "continuationContents", "liveChatContinuation", "actions")) ?? [body]
  );
}

test("recorded answers give as many messages of each type as they hold", { skip: noRecordings }, () => {
  const expected: Record<string, [types: Record<string, number>, dropped: Record<string, number>]> = {
    "live/busy-2020.json": [
      { chat: 65, superchat: 1 },
      { liveChatPlaceholderItemRenderer: 3, addLiveChatTickerItemAction: 3 },
    ],
    "live/get_live_chat.normal.json": [{ chat: 1 }, {}],
    "live/get_live_chat.super-sticker.json": [{ supersticker: 1 }, {}],
    "live/get_live_chat.subscribe-member.json": [{ membership: 1 }, {}],
    "live/get_live_chat.membership-gift.json": [
      {},
      { liveChatSponsorshipsGiftPurchaseAnnouncementRenderer: 1 },
    ],
    "replay/page-2019.json": [{ chat: 47, superchat: 1 }, { liveChatPlaceholderItemRenderer: 1 }],
    "replay/superchats.json": [{ chat: 46, superchat: 4 }, { addLiveChatTickerItemAction: 2 }],
    "mobile/element-chat.json": [{}, { elementRenderer: 1 }],
    "actions/remove-chat-item.json": [{}, { removeChatItemAction: 1 }],
  };
  for (const [name, [types, kinds]] of Object.entries(expected)) {
    const { messages, dropped } = readActions(recordedActions(name), CONTEXT);
    const byType = Object.fromEntries(
      Map.groupBy(messages, ({ type }) => type)
        .entries()
        .map(([type, some]) => [type, some.length]),
    );
    assert.deepEqual(byType, types, name);
    assert.deepEqual(Object.fromEntries([...dropped].map(([kind, { count }]) => [kind, count])), kinds, name);
  }
});

test("recorded messages say what was recorded", { skip: noRecordings }, () => {
  const facts: [file: string, id: string, facts: object][] = [
    [
      "live/get_live_chat.custom-emoji.json",
      "recorded-21f52dfc66426bd0",
      {
        message: ":customEmoji:",
        parts: [{ kind: "emoji", text: ":customEmoji:", url: "https://custom.emoji.url", custom: true }],
      },
    ],
    ["live/get_live_chat.global-emoji2.json", "recorded-4e2fb5ebca9a658f", { message: "👏🏿" }],
    [
      "live/get_live_chat.super-chat-no-msg.json",
      "recorded-8ff542bd023f2854",
      {
        type: "superchat",
        message: "",
        parts: [],
        amount: "¥320",
        color: "#00e5ff",
        details: { tier: 2, amount: { value: 320, currency: "JPY" } },
      },
    ],
    [
      "live/get_live_chat.super-chat.json",
      "recorded-d5e882da30eb760c",
      { amount: "￥1,000", color: "#ffca28", details: { tier: 4, amount: { value: 1000, currency: "JPY" } } },
    ],
    [
      "live/unregistered-currency.json",
      "recorded-4e95da2004d3224a",
      { details: { tier: 7, amount: { value: 10800, currency: null } } },
    ],
    [
      "live/supersticker-2019.json",
      "ChwKGkNQX2Qzb2pUcU9VQ0ZRdnVXQW9kaTNJS3NB",
      { color: "#00b8d4", amount: "￥200", details: { tier: 2 } },
    ],
    ["actions/paid-sticker-with-member-badge.json", "", { details: { tier: 4 } }],
    [
      "actions/paid-sticker-with-lower-bumper.json",
      "",
      { message: "Beaming face with smiling eyes", amount: "NT$14.00", details: { tier: 1 } },
    ],
    [
      "live/get_live_chat.from-owner.json",
      "recorded-428f5a6483fcc1a7",
      { details: { badges: [{ kind: "owner", label: "所有者" }] } },
    ],
    [
      "live/get_live_chat.from-verified.json",
      "recorded-bc62ca5a34ddc178",
      { details: { badges: [{ kind: "verified", label: "確認済み" }] } },
    ],
    [
      "live/new-member.json",
      "recorded-10ab66fba096dbee",
      { type: "membership", timestamp: "3:34 AM", details: { publishedAt: "2019-10-10T03:34:56.000000Z" } },
    ],
    [
      "actions/new-membership-welcome.json",
      "",
      { message: "Welcome to 開拓者組合!", details: { level: "開拓者組合" } },
    ],
    [
      "replay/page-2019.json",
      "CjoKGkNMYXBzZTdudHVVQ0Zjc0IxZ0FkTnFnQjVREhxDSnlBNHV2bnR1VUNGV0dnd2dvZDd3NE5aZy0w",
      { timestamp: "1:41", details: { offsetMs: 101308, publishedAt: "2019-10-25T06:45:10.682806Z" } },
    ],
    [
      "replay/overlapping-0.json",
      "recorded-9f7870fd6d263d88",
      { timestamp: "0:00", details: { offsetMs: 0 } },
    ],
    [
      "actions/catalogue.json",
      "ChwKGkNQallvTmJJaE9rQ0ZZek5nZ29kdVZ3S2Z3",
      { timestamp: "-3:51", message: "New member" },
    ],
  ];
  for (const [file, id, expected] of facts) {
    const { messages } = readActions(recordedActions(file), CONTEXT);
    const message = id === "" ? messages[0] : messages.find((candidate) => candidate.id === id);
    assert.partialDeepStrictEqual(message, expected, file);
  }
});
