import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { asArray, asObject, dig } from "../src/json.ts";
import type { Details } from "../src/protocol/kinds.ts";
import { readChatPage } from "../src/upstream/page/chat-page.ts";
import type { ActionContext } from "../src/upstream/readers/actions.ts";
import { NO_PANELS } from "../src/upstream/readers/panels.ts";
import { frozen } from "./support/frozen.ts";
import { readMessages } from "./support/read-messages.ts";
import { noRecordings, recordedFiles, recordedJson, recordedText } from "./support/recorded.ts";
import { CATALOGUE, PHONES, POLL_LIFE } from "./support/recorded-catalogue.ts";
import { SINGLE_ACTIONS } from "./support/recorded-facts.ts";

const read = (actions: readonly unknown[], more: Partial<ActionContext> = {}) =>
  readMessages(actions, { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timezone: "UTC", ...more });

/** The actions of a recorded answer, page, list or single action, frozen; a bare renderer as if it were added. */
function recordedActions(name: string): readonly unknown[] {
  const body = frozen(recordedJson(name));
  const answer = dig(body, "response") ?? body;
  const chat =
    dig(answer, "continuationContents", "liveChatContinuation") ?? dig(body, "contents", "liveChatRenderer");
  if (chat) return asArray(dig(chat, "actions")) ?? [];
  if (dig(body, "headerSubtext")) {
    return [{ addChatItemAction: { item: { liveChatMembershipItemRenderer: body } } }];
  }
  return asArray(body) ?? [body];
}

/** Every recording that holds actions. */
const FILES = [
  ...recordedFiles("actions"),
  ...recordedFiles("live"),
  ...recordedFiles("mobile"),
  ...recordedFiles("replay"),
  ...recordedFiles("pages").filter((name) => name.endsWith(".json")),
];

function assertSays(actions: readonly unknown[], expected: readonly (object | string)[], of: string): void {
  assert.equal(actions.length, expected.length, of);
  for (const [i, action] of actions.entries()) {
    const { messages, dropped } = read([action]);
    const facts = expected[i];
    if (typeof facts === "string") assert.deepEqual([messages, [...dropped.keys()]], [[], [facts]], of);
    else assert.partialDeepStrictEqual(messages, [facts], `${of} ${i}`);
  }
}

describe("every recorded action of its kind", { skip: noRecordings }, () => {
  it("says what was read from it by eye", () => {
    const names = Object.keys(SINGLE_ACTIONS).map((name) => `actions/${name}.json`);
    assert.deepEqual([...names, "actions/catalogue.json"].sort(), recordedFiles("actions"));
    for (const [name, facts] of Object.entries(SINGLE_ACTIONS)) {
      assertSays(recordedActions(`actions/${name}.json`), facts, name);
    }
  });

  it("of the catalogue too", () => assertSays(recordedActions("actions/catalogue.json"), CATALOGUE, "item"));

  it("of phones too", () => {
    assert.deepEqual(
      Object.keys(PHONES).map((name) => `mobile/${name}.json`),
      recordedFiles("mobile"),
    );
    for (const [name, facts] of Object.entries(PHONES)) {
      assertSays(recordedActions(`mobile/${name}.json`), [facts], name);
    }
  });
});

test("a recorded poll is told when opened, at each change, and once when closed", {
  skip: noRecordings,
}, () => {
  const actions = POLL_LIFE.files.flatMap((name) => recordedActions(`actions/${name}.json`));
  // One answer for each action: what is open is handed on.
  let panels = NO_PANELS;
  const messages = actions.flatMap((action) => {
    const answer = read([action], { panels });
    panels = answer.panels;
    return answer.messages;
  });
  const states = messages.map(
    ({ details }: { details: Details }) => `${details.poll?.state} ${details.poll?.votes}`,
  );
  assert.deepEqual(states, POLL_LIFE.states);
  assert.deepEqual(panels, []);
  const ids = messages.map(({ id }) => id);
  assert.equal(new Set(ids).size, 5);
  for (const id of ids) assert.ok(id.startsWith(`poll:${POLL_LIFE.pollId}:`), id);
});

test("nothing recorded is unknown or broken, and what is silent is known to be", {
  skip: noRecordings,
}, () => {
  const silent = new Set<string>();
  let actions = 0;
  for (const name of FILES) {
    const { messages, dropped } = read(recordedActions(name));
    actions += messages.length;
    for (const [kind, { reason, sample, count }] of dropped) {
      assert.equal(reason, "silent", `${name}: ${kind} ${sample}`);
      silent.add(kind);
      actions += count;
    }
  }
  // Not shown yet; advice on using the page; a chip that opens a panel; the panel of a poll never opened here.
  const expected = [
    "liveChatPlaceholderItemRenderer",
    "showLiveChatTooltipCommand",
    "showCreatorGoalTickerChipCommand",
    "closeLiveChatActionPanelAction",
  ];
  assert.deepEqual(silent, new Set(expected));
  assert.ok(actions > 550, `${actions} actions`);
});

/** Every item in the list or in a ticker, with the id that it or its ticker has: an own count of what was said. */
function* itemIds(node: unknown, around?: unknown): Generator<[renderer: string, id: string]> {
  for (const [key, held] of Object.entries(asObject(node) ?? asArray(node) ?? {})) {
    const isItem = /^liveChat(?!Ticker)\w+Renderer$/.test(key) && !/Badge|Header|Continuation/.test(key);
    if (isItem) yield [key, String(dig(held, "id") ?? around)];
    else yield* itemIds(held, dig(held, "id") ?? around);
  }
}

test("recorded lists give the messages that a few independent lines find", { skip: noRecordings }, () => {
  const found = (names: readonly string[]) => {
    const all = [...itemIds(names.map((name) => recordedActions(name)))];
    const shown = all.filter(([key]) => !/Placeholder/.test(key));
    return new Set(shown.map(([key, id]) => (/ViewerEngagement/.test(key) ? "notice" : id)));
  };
  const given = (names: readonly string[]) =>
    new Set(
      names.flatMap((name) =>
        read(recordedActions(name)).messages.map(({ type, id }) => (type === "notice" ? type : id)),
      ),
    );
  const pages = recordedFiles("replay").filter((name) => name.includes("overlapping"));
  for (const [names, count] of [
    [["live/busy-2020.json"], 68],
    [pages, 145],
    [["replay/page-2019.json"], 48],
    [["replay/superchats.json"], 52],
    [["pages/popout-initial-data-2020.json"], 10],
    [recordedFiles("live").filter((name) => name.includes("get_live_chat")), 13],
  ] as const) {
    assert.deepEqual(given(names), found(names), names[0]);
    assert.equal(given(names).size, count, names[0]);
  }
});

test("the watch page of a live chat of 2026 holds a token and no messages yet", {
  skip: noRecordings,
}, () => {
  const { chat } = readChatPage(recordedText("pages/watch-live-2026.html"), "qT5OTDvJK1Q", "all");
  assert.deepEqual([chat?.chatType, chat?.actions, chat?.continuation.length], ["liveChatRenderer", [], 180]);
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
      "live/get_live_chat.membership-gift.json",
      "recorded-12c9029956f6e74b",
      { type: "gift", author: "viewer-0lpxfg", details: { gift: { count: 10 } } },
    ],
    [
      "live/get_live_chat.subscribe-member.json",
      "recorded-c403e59e1423b572",
      { type: "membership", message: "上級エンジニア へようこそ！" },
    ],
  ];
  for (const [file, id, expected] of facts) {
    const { messages } = read(recordedActions(file));
    const message = messages.find((candidate) => candidate.id === id);
    assert.partialDeepStrictEqual(message, expected, file);
  }
});
