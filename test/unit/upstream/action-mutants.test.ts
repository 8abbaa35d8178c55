/**
 * Every captured or synthetic action with one field missing or changed, at any depth and one at a time: none
 * throws or touches another message, and each either gives a well-formed message within its bounds or is
 * counted.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asArray, asObject, dig } from "../../../src/base/json.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { capturedFiles, capturedJson, noCaptures } from "../../support/captures.ts";
import { adding, MESSAGE, replaying } from "../../support/chat-items.ts";
import { SENT, SILENT } from "../../support/every-kind.ts";
import { POLL_OPENED } from "../../support/poll-items.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";

const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timeOfDay: UTC };
const HUGE = "x".repeat(20_000);
const REPLACEMENTS: readonly unknown[] = [
  null,
  0,
  -1e308,
  "",
  "x",
  HUGE,
  true,
  [],
  {},
  [null],
  Array.from({ length: 600 }, () => ({ text: "x", emoji: null })),
  { runs: {} },
  { simpleText: HUGE },
  JSON.parse('{"__proto__":{"id":"x"},"constructor":1}'),
];

/** Every copy of a value in which one thing at any depth is gone or is something else. */
function* mutants(value: unknown): Generator<unknown> {
  const list = asArray(value);
  for (const [key, held] of Object.entries(list ?? asObject(value) ?? {})) {
    const changed = (now: unknown): unknown =>
      list ? list.with(Number(key), now) : { ...asObject(value), [key]: now };
    yield list
      ? list.toSpliced(Number(key), 1)
      : Object.fromEntries(Object.entries(asObject(value) ?? {}).filter(([name]) => name !== key));
    for (const replacement of REPLACEMENTS) yield changed(replacement);
    for (const inner of mutants(held)) yield changed(inner);
  }
}

const witness = adding({ liveChatTextMessageRenderer: { id: "witness", message: MESSAGE } });

/** Reads an action's mutants in one go, a witness between each two; gives how many there were. */
function assertHarmless(action: unknown, of: string): number {
  const all = [...mutants(action)];
  const { messages, dropped, bugs } = readMessages(
    [witness, ...all.flatMap((mutant) => [mutant, witness])],
    CONTEXT,
  );
  assert.deepEqual(bugs, [], of);
  const [expected] = readMessages([witness], CONTEXT).messages;
  const witnesses = messages.filter(({ id }) => id === "witness");
  assert.equal(witnesses.length, all.length + 1, of);
  for (const one of witnesses) assert.deepEqual(one, expected, of);
  const own = messages.filter(({ id }) => id !== "witness");
  for (const message of own) assertWellFormed(message, of);
  const held = all.map((mutant) => asArray(dig(mutant, "replayChatItemAction", "actions"))?.length ?? 1);
  const counted = dropped.values().reduce((sum, { count }) => sum + count, 0);
  assert.equal(
    own.length + counted,
    held.reduce((sum, count) => sum + count, 0),
    of,
  );
  return all.length;
}

function assertWellFormed(message: Message, of: string): void {
  for (const field of ["type", "id", "timestamp", "author", "message", "amount", "color"] as const) {
    assert.equal(typeof message[field], "string", of);
  }
  assert.ok(message.id !== "" && message.id.length <= 700, of);
  assert.match(message.color, /^(#[\da-f]{6})?$/, of);
  assert.ok(message.timestamp !== "" && message.timestamp.length <= 50, of);
  assert.ok(message.author.length <= 500 && message.amount.length <= 100, of);
  assert.ok(message.message.length <= 10_000 && message.parts.length <= 500, of);
  assert.equal(message.message, message.parts.map((part) => part.text).join(""), of);
  const json = JSON.stringify(message);
  assert.ok(json.length < 300_000, `${of}: ${json.length} characters`);
  assert.deepEqual(JSON.parse(json), message, `${of}: nothing that JSON cannot hold`);
}

/** The keys and kinds of values, without the values: actions of one form have the same mutants. */
function formOf(value: unknown): unknown {
  const list = asArray(value);
  if (list) return list.map(formOf);
  const object = asObject(value);
  if (!object) return typeof value;
  return Object.fromEntries(Object.entries(object).map(([key, held]) => [key, formOf(held)]));
}

/** The actions of a capture, whatever it is. */
function actionsIn(node: unknown): readonly unknown[] {
  const found = Object.entries(asObject(node) ?? {}).flatMap(([key, held]) => {
    if (/(?:Action|Command)$/.test(key)) return [node];
    return key === "actions" ? (asArray(held) ?? []) : actionsIn(held);
  });
  return asArray(node) ?? found;
}

describe("a missing, empty, mistyped or huge field neither throws nor touches another message", () => {
  it("in synthetic actions of every kind, live and in a replay", () => {
    const actions = [...Object.values(SENT).flat(), ...SILENT, replaying("5000", ...SILENT, ...SENT.poll)];
    const tried = actions.map((action, i) => assertHarmless(action, `action ${i}`));
    assert.ok(tried.reduce((sum, count) => sum + count) > 20_000, `${tried}`);
  });

  it("while a poll is open", () => {
    const closing = { closeLiveChatActionPanelAction: { targetPanelId: "panel-1" } };
    for (const mutant of mutants(POLL_OPENED)) {
      const { messages } = readMessages([POLL_OPENED, mutant, closing, witness], CONTEXT);
      for (const message of messages) assertWellFormed(message, JSON.stringify(mutant).slice(0, 1000));
      assert.equal(messages.at(-1)?.id, "witness");
    }
  });

  it("in captured actions of every form", { skip: noCaptures }, () => {
    const folders = ["actions", "live", "mobile", "replay"].flatMap(capturedFiles);
    const pages = capturedFiles("pages").filter((name) => name.endsWith(".json"));
    const forms = new Map<string, unknown>();
    for (const name of [...folders, ...pages]) {
      for (const action of actionsIn(capturedJson(name))) {
        forms.set(JSON.stringify(formOf(action)), action);
      }
    }
    const tried = forms
      .values()
      .map((action) => assertHarmless(action, JSON.stringify(action).slice(0, 300)));
    const total = tried.reduce((sum, count) => sum + count);
    assert.ok(forms.size > 80 && total > 50_000, `${forms.size} forms, ${total} mutants`);
  });
});
