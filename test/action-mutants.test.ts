import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../src/protocol/message.ts";
import { readActions } from "../src/upstream/actions.ts";
import { asArray, dig, type JsonObject } from "../src/upstream/json.ts";
import { adding, MEMBER, MESSAGE, MILESTONE, PAID, replaying, STICKER, TEXT } from "./support/chat-items.ts";

const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timezone: "UTC" };

/** Every copy of a value in which one thing at any depth is gone or is something else. */
function* mutants(value: unknown): Generator<unknown> {
  for (const [key, held] of Object.entries(value ?? {})) {
    const without = (replacement: unknown): unknown => {
      const copy = structuredClone(value) as JsonObject;
      if (replacement === undefined) delete copy[key];
      else copy[key] = replacement;
      return copy;
    };
    for (const replacement of [undefined, null, 0, -1, "", "x", true, [], {}, [null], { runs: {} }])
      yield without(replacement);
    if (typeof held === "object") for (const inner of mutants(held)) yield without(inner);
  }
}

test("no missing, empty or mistyped field of any kind throws or touches another message", () => {
  const witness = adding({ liveChatTextMessageRenderer: { id: "witness", message: MESSAGE } });
  const expected = readActions([witness], CONTEXT).messages;
  let tried = 0;
  for (const whole of [TEXT, PAID, STICKER, MEMBER, MILESTONE].flatMap((item) => [
    adding(item),
    replaying("5", adding(item)),
  ])) {
    for (const mutant of mutants(whole)) {
      const { messages, dropped } = readActions([witness, mutant, witness], CONTEXT);
      const own = messages.slice(1, -1);
      assert.deepEqual([messages[0], messages.at(-1)], [...expected, ...expected]);
      for (const message of own) assertWellFormed(message, JSON.stringify(mutant));
      const inner = asArray(dig(mutant, "replayChatItemAction", "actions"));
      assert.equal(own.length + total(dropped), inner ? inner.length : 1, JSON.stringify(mutant));
      tried++;
    }
  }
  assert.ok(tried > 4000, `${tried} mutants`);
});

function total(dropped: ReturnType<typeof readActions>["dropped"]): number {
  return [...dropped.values()].reduce((sum, { count }) => sum + count, 0);
}

function assertWellFormed(message: Message, of: string): void {
  for (const field of ["type", "id", "timestamp", "author", "message", "amount", "color"] as const) {
    assert.equal(typeof message[field], "string", of);
  }
  assert.notEqual(message.id, "", of);
  assert.match(message.color, /^(#[\da-f]{6})?$/, of);
  assert.match(message.timestamp, /^(\d{1,2}:\d\d [AP]M|-?(\d+:)?\d+:\d\d|x)$/, of);
  assert.equal(message.message, message.parts.map((part) => part.text).join(""), of);
  assert.ok(!JSON.stringify(message).includes("undefined"), of);
  assert.ok(
    Object.values(message.details).every((value) => value !== undefined),
    of,
  );
}
