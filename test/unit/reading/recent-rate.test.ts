/** How many messages a short unread time is expected to hold, by what the opening of the chat has shown. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { openingTimes, RecentRate } from "../../../src/reading/recent-rate.ts";
import type { Item } from "../../../src/upstream/readers/reader.ts";

const SENT_AT = Date.parse("2026-01-02T15:04:05Z");
/** When the answer of the opening came, on the monotonic clock. */
const OPENED_AT = 100_000;
const TIMES = { startedAt: 0, startedUptime: 0, answeredAt: OPENED_AT, answeredUptime: 0, wallAt: 0 };

/** A chat message that was said this many milliseconds before the answer. */
const said = (agoMs: number) =>
  ({ message: { type: "chat", details: { publishedAt: new Date(SENT_AT - agoMs).toISOString() } } }) as Item;

/** The messages that are expected in five seconds, `ms` after an opening that showed messages this old. */
function expectedAfter(ms: number, agesMs: readonly number[]): number {
  const saidAt = openingTimes({ items: agesMs.map(said), sentAt: SENT_AT }, TIMES);
  const rate = new RecentRate(OPENED_AT, saidAt);
  rate.observe(0, OPENED_AT + ms / 2);
  return rate.expectedIn(5000, OPENED_AT + ms, []);
}

const lively = Array.from({ length: 101 }, (_, i) => i * 100);

it("the messages that the opening showed count by their times, from the first one on", () => {
  assert.equal(expectedAfter(0, lively), 50);
  assert.equal(expectedAfter(10_000, lively), 25);
});

it("they count in any order", () => {
  assert.equal(expectedAfter(10_000, lively.toReversed()), expectedAfter(10_000, lively));
});

it("they count until a minute after they were said", () => {
  assert.ok(expectedAfter(49_000, lively) > 8);
  assert.ok(expectedAfter(55_000, lively) < 5);
  assert.equal(expectedAfter(60_000, lively), 0);
});

it("old messages of a quiet chat, and fewer than five, let expect none", () => {
  assert.equal(expectedAfter(5000, [3_600_000, 240_000, 180_000, 120_000, 61_000]), 0);
  assert.equal(expectedAfter(5000, [2000, 2000, 2000, 1000]), 0);
  assert.ok(expectedAfter(5000, [2000, 2000, 2000, 1000, 1000]) > 0);
});

it("a message from ahead of the upstream's clock counts as said with the answer", () => {
  assert.equal(expectedAfter(5000, [5000, 4, 3, 2, -1000]), expectedAfter(5000, [5000, 4, 3, 2, 0]));
});
