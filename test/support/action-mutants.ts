/** Actions with one field missing or changed, at any depth; and what none of them may do. */
import assert from "node:assert/strict";
import { asArray, asObject, dig } from "../../src/base/json.ts";
import type { Message } from "../../src/protocol/message.ts";
import { adding, MESSAGE } from "./chat-items.ts";
import { readMessages, UTC } from "./read-messages.ts";

export const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timeOfDay: UTC };
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
export function* mutants(value: unknown): Generator<unknown> {
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

export const witness = adding({ liveChatTextMessageRenderer: { id: "witness", message: MESSAGE } });

/** Reads an action's mutants in one go, a witness between each two; gives how many there were. */
export function assertHarmless(action: unknown, of: string): number {
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

export function assertWellFormed(message: Message, of: string): void {
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
