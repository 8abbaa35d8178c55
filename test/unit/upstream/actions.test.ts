/**
 * Actions of the upstream whose fields are missing or elsewhere, and actions that give no message. All fields
 * of each kind are in `messages-doc.test.ts`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asArray } from "../../../src/base/json.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { adding, COMMON, MEMBER, PAID, replaying, STICKER, TEXT } from "../../support/chat-items.ts";
import { frozen } from "../../support/frozen.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";

const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timeOfDay: UTC };
const read = (...actions: unknown[]) => readMessages(actions, CONTEXT);
/** The message of the one action. */
const one = (action: unknown): Message => {
  const { messages, dropped } = read(action);
  assert.deepEqual(dropped, []);
  const [message, ...others] = messages;
  assert.ok(message && others.length === 0);
  return message;
};
const counted = (...actions: unknown[]) =>
  read(...actions).dropped.map(({ kind, reason, count }) => [kind, reason, count]);

const base = { id: "made-up-id", timestamp: "3:04 AM", author: "@somebody", amount: "", color: "" };

test("a new member becomes a membership with the upstream's words and the level", () => {
  const message = one(adding(MEMBER));
  assert.ok(message.type === "membership");
  assert.deepEqual([message.message, message.details.level], ["Welcome to Gold!", "Gold"]);
  assert.equal(message.parts.length, 3);
  const simple = {
    liveChatMembershipItemRenderer: { ...COMMON, headerSubtext: { simpleText: "New member" } },
  };
  assert.equal(one(adding(simple)).message, "New member");
  assert.ok(!("level" in one(adding(simple)).details));
});

test("a replay's actions have the offset of their group, which may hold several", () => {
  const later = {
    liveChatTextMessageRenderer: { ...COMMON, id: "second", timestampText: { simpleText: "-0:12" } },
  };
  const { messages, dropped } = read(
    replaying("3661000", adding(TEXT), adding(later), { unheardOfAction: {} }),
    adding(TEXT),
  );
  assert.deepEqual(
    messages.map(({ id, timestamp, details }) => [id, timestamp, details.offsetMs]),
    [
      ["made-up-id", "1:01:01", 3661000],
      ["second", "-0:12", 3661000],
      ["made-up-id", "3:04 AM", undefined],
    ],
  );
  assert.deepEqual(
    dropped.map(({ kind }) => kind),
    ["unheardOfAction"],
  );
  assert.equal(read(replaying("-5000", adding(TEXT))).messages[0]?.details.offsetMs, -5000);
  assert.equal(read(replaying(undefined, adding(TEXT))).messages[0]?.timestamp, "3:04 AM");
});

test("a message without a time has the time of its receipt", () => {
  for (const timestampUsec of [undefined, null, "0", 0, "soon"]) {
    const message = one(adding({ liveChatTextMessageRenderer: { ...COMMON, timestampUsec } }));
    assert.equal(message.timestamp, "3:04 PM");
    assert.ok(!("publishedAt" in message.details));
  }
});

test("a renderer with only an id becomes a message with only an id", () => {
  const bare = { ...base, timestamp: "3:04 PM", author: "", message: "", parts: [] };
  for (const [kind, type, details] of [
    ["liveChatTextMessageRenderer", "chat", {}],
    ["liveChatPaidMessageRenderer", "superchat", {}],
    ["liveChatPaidStickerRenderer", "supersticker", { sticker: { label: "" } }],
    ["liveChatMembershipItemRenderer", "membership", {}],
  ] as const) {
    const message = one(adding({ [kind]: { id: "made-up-id" } }));
    assert.deepEqual(message, { ...bare, type, details: { ...details, upstreamKind: kind } });
  }
});

test("a field is found by its name, whatever its position and its siblings", () => {
  const siblings = { clickTrackingParams: "c", loggingDirectives: { a: 1 } };
  const command = { besideCommand: { a: 1 } };
  assert.equal(one({ ...siblings, ...adding({ ...siblings, ...TEXT }) }).type, "chat");
  assert.equal(one({ ...adding({ ...TEXT, ...siblings }), ...siblings }).type, "chat");
  assert.equal(one({ ...command, ...adding({ ...command, ...TEXT }) }).type, "chat");
  assert.deepEqual(
    counted({ ...siblings, unheardOfAction: {} }, adding({ ...siblings, unheardOfRenderer: {} })),
    [
      ["unheardOfAction", "unknown", 1],
      ["unheardOfRenderer", "unknown", 1],
    ],
  );
});

test("actions that give no message are counted by kind and reason", () => {
  const noId = (id: unknown) => adding({ liveChatTextMessageRenderer: { ...COMMON, id } });
  const placeholder = adding({ liveChatPlaceholderItemRenderer: { id: "x" } });
  const cases: [reason: string, kind: string, actions: unknown[]][] = [
    [
      "broken",
      "liveChatTextMessageRenderer",
      [undefined, null, 7, {}, "", "a\u0000b", "\ud800", "x".repeat(501)].map(noId),
    ],
    [
      "broken",
      "liveChatTextMessageRenderer",
      [null, 7, "x", []].map((body) => adding({ liveChatTextMessageRenderer: body })),
    ],
    [
      "broken",
      "addChatItemAction",
      [{ addChatItemAction: null }, { addChatItemAction: {} }, adding({}), adding({ trackingParams: "t" })],
    ],
    ["broken", "(no action)", [undefined, null, 7, "x", [], {}, { clickTrackingParams: "c" }]],
    ["broken", "replayChatItemAction", [{ replayChatItemAction: null }]],
    [
      "unknown",
      "replayChatItemAction",
      [{ replayChatItemAction: {} }, replaying("0", replaying("0", adding(TEXT)))],
    ],
    ["silent", "liveChatPlaceholderItemRenderer", [placeholder, placeholder]],
    ["silent", "showLiveChatTooltipCommand", [{ showLiveChatTooltipCommand: { tooltip: {} } }]],
  ];
  for (const [reason, kind, actions] of cases) {
    assert.deepEqual(counted(...actions), [[kind, reason, actions.length]]);
    const [before, after] = [adding(TEXT), adding(PAID)];
    assert.deepEqual(read(before, ...actions, after).messages, read(before, after).messages);
  }
});

test("a sample is the first action as short JSON, and kinds are few and short", () => {
  const { dropped } = read({ longAction: { text: "x".repeat(5000) } }, { longAction: {} });
  const [{ sample } = { sample: "" }] = dropped;
  assert.match(sample, /^\{"longAction":\{"text":"x+$/);
  assert.equal(sample.length, 1000);

  const many = Array.from({ length: 120 }, (_, i) => i);
  const long = many.map((i) => ({ [`${"k".repeat(200)}Action`]: {}, [`kind${i}`]: {} }));
  assert.deepEqual(counted(...long), [["k".repeat(100), "unknown", 120]]);
  const kinds = counted(...many.map((i) => ({ [`kind${i}Action`]: {} })));
  assert.equal(kinds.length, 50);
  assert.deepEqual(kinds.at(-1), ["other", "unknown", 71]);
});

test("an action that is nested too deep to be written as JSON is still counted", () => {
  const deep: unknown = JSON.parse(`{"deepAction":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`);
  assert.deepEqual(counted(deep, adding(TEXT)), [["deepAction", "unknown", 1]]);
});

test("endlessly nested actions count as broken, and the next action is read", () => {
  const endless: unknown = JSON.parse(
    `${'{"addChatItemAction":{"item":'.repeat(100_000)}{}${"}}".repeat(100_000)}`,
  );
  const { messages, dropped, bugs } = read(endless, adding(TEXT));
  assert.equal(messages.length, 1);
  const reasons = dropped.map(({ kind, reason }) => [kind, reason]);
  assert.deepEqual([reasons, bugs], [[["addChatItemAction", "broken"]], []]);
});

test("names such as __proto__ are ordinary names", () => {
  const hostile: unknown[] = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"].flatMap(
    (name) => [
      JSON.parse(`{"${name}":{"id":"x"}}`),
      JSON.parse(`{"addChatItemAction":{"item":{"${name}":{"id":"x"}}}}`),
      JSON.parse(`{"addChatItemAction":{"${name}":{"item":{}}}}`),
    ],
  );
  const { messages, dropped } = read(...hostile);
  assert.equal(messages.length, 0);
  assert.deepEqual(dropped[0], {
    kind: "__proto__",
    reason: "unknown",
    count: 2,
    sample: '{"__proto__":{"id":"x"}}',
  });
  const inherited = JSON.parse(
    '{"addChatItemAction":{"item":{"liveChatTextMessageRenderer":{"__proto__":{"id":"x"}}}}}',
  );
  assert.deepEqual(counted(inherited), [["liveChatTextMessageRenderer", "broken", 1]]);
});

test("frozen actions can be read", () => {
  const actions = frozen(
    structuredClone([adding(TEXT), adding(PAID), adding(STICKER), replaying("1", adding(MEMBER))]),
  );
  assert.equal(readMessages(asArray(actions) ?? [], CONTEXT).messages.length, 4);
});
