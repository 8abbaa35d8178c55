/**
 * Fresh pages that follow each other before an answer comes, whether it forms one list with the last, and the
 * gaps that a page in Top chat leaves.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answeredNow, startedNow } from "../../../src/base/clock.ts";
import type { Message } from "../../../src/protocol/message.ts";
import {
  areOneList,
  cutBehindTopChat,
  type FreshPage,
  type Read,
  withPage,
} from "../../../src/reading/fresh-pages.ts";
import { type Gap, type ReadBatch, showGaps } from "../../../src/reading/gap.ts";
import type { ActionTime, Item } from "../../../src/upstream/readers/reader.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const GAP: Gap = { sinceMs: 1000, untilMs: 2000, reason: "unreachable" };
const LATER: Gap = { sinceMs: 1000, untilMs: 3000, reason: "unreachable" };
const clock = new FakeClock();

function page(id: string, type: "chat" | "paid", gap?: Gap): FreshPage {
  const items = [{ message: { id, type, details: {} } }] as unknown as FreshPage["items"];
  return { ...answeredNow(startedNow(clock), clock), items, gap, above: undefined };
}

it("a page without a chat message keeps its gap only if the page that it joins has none", () => {
  const gapsOf = (later?: Gap) =>
    withPage([page("a", "paid", GAP)], page("b", "chat", later), () => {}).map(({ gap }) => gap);
  assert.deepEqual(gapsOf(), [GAP]);
  assert.deepEqual(gapsOf(LATER), [LATER]);
});

it("a page keeps its gap if it shares no message with the page before but in Top chat", () => {
  const inTop = (gap?: Gap): FreshPage => {
    const top = page("a", "chat", gap);
    return { ...top, items: top.items.map((item) => ({ ...item, isInTop: true })) };
  };
  const gapsOf = (before: FreshPage, later: FreshPage) =>
    withPage([before], later, () => {}).map(({ gap }) => gap);
  assert.deepEqual(gapsOf(page("a", "chat"), page("a", "chat", LATER)), [undefined]);
  assert.deepEqual(gapsOf(page("a", "chat"), inTop(LATER)), [undefined, LATER]);
  assert.deepEqual(gapsOf(inTop(), inTop(LATER)), [LATER]);
  assert.deepEqual(gapsOf(inTop(GAP), inTop(LATER)), [GAP]);
});

describe("a page and the answer to its token", () => {
  const WINDOW_MS = 10_000;
  const START = answeredNow(startedNow(clock), clock);
  const LIVELY = 40;
  /** Messages with these numbers. */
  const read = (from: number, to: number, afterMs: number, more: object = {}): Read => {
    const numbers = Array.from({ length: to - from + 1 }, (_, at) => from + at);
    const items = numbers.map((id) => ({ message: { id: String(id), type: "chat" }, ...more }));
    const answeredAt = START.answeredAt + afterMs;
    return { ...START, answeredAt, items: items as unknown as Read["items"] };
  };
  for (const [what, inTop, firstId, count, afterMs, isOneList] of [
    ["in time, without a common message", false, 4, LIVELY, WINDOW_MS, true],
    ["late, without a common message", false, 4, 1, WINDOW_MS + 1, false],
    ["late, with a common message", false, 3, 1, WINDOW_MS + 1, true],
    ["behind Top chat, in time, few messages", true, 4, LIVELY - 1, 0, true],
    ["behind Top chat, in time, a backlog", true, 4, LIVELY, 0, false],
    ["behind Top chat, in time, a backlog with a common message", true, 3, LIVELY, 0, true],
  ] as const)
    it(`${what}: ${isOneList ? "one list" : "two"}`, () => {
      const page = read(1, 3, 0, inTop ? { isInTop: true } : {});
      assert.equal(areOneList(page, read(firstId, firstId + count - 1, afterMs), WINDOW_MS), isOneList);
    });
});

it("a late read is not one list with the last if they share a message of Top chat alone", () => {
  const last = page("a", "chat");
  const late = { ...page("a", "chat"), answeredAt: last.answeredAt + 20_000 };
  const inTop = late.items.map((item) => ({ ...item, isInTop: true as const }));
  const rest = page("b", "chat").items;
  assert.equal(areOneList(last, { ...late, items: [...late.items, ...rest] }, 10_000), true);
  assert.equal(areOneList(last, { ...late, items: [...inTop, ...rest] }, 10_000), false);
});

describe("a page in Top chat, behind which the token of all messages is answered late", () => {
  const [SINCE, PAGE, ANSWER] = [1000, 2000, 3000];
  const items = (numbers: readonly number[], more: object = {}) =>
    numbers.map((id) => ({ message: { id: String(id), type: "chat" }, ...more })) as unknown as Item[];
  const gap = (sinceMs: number, untilMs: number): Gap => ({ sinceMs, untilMs, reason: "unreachable" });
  const pageThenAnswer = (shown: readonly number[], answered: readonly number[]): ReadBatch[] => [
    { items: items(shown, { isInTop: true }), suspectedGap: gap(SINCE, PAGE) },
    { items: items(answered), suspectedGap: gap(PAGE, ANSWER) },
  ];
  /** The ids of what a room that has message 1 stores, and its gaps by their times. */
  const stored = (batches: readonly ReadBatch[]) => {
    const cut = cutBehindTopChat(batches);
    const ofItems = cut.flatMap((batch) => batch.items.map(({ message }) => message as Message));
    const held = new Map(items([1]).map(({ message }) => [message.id, message as Message]));
    const room = { head: 1, held, gap: undefined, above: new Map() };
    const moment: ActionTime = { receivedAt: ANSWER, timeOfDay: String, offsetMs: undefined };
    const { messages } = showGaps(cut, ofItems, room, moment);
    return messages.map((message) => {
      if (message.type !== "gap") return Number(message.id);
      const { since, until } = message.details.gap;
      return [Date.parse(since), Date.parse(until)];
    });
  };

  it("does not hide what it leaves out, although it reaches back to the stored messages", () => {
    assert.deepEqual(stored(pageThenAnswer([1, 5, 9], [12, 13])), [
      ...[1, [SINCE, PAGE], 5, 9, [SINCE, ANSWER], 12, 13],
    ]);
  });

  it("leaves no gap in front of an answer that reaches back to the stored messages", () => {
    assert.deepEqual(stored(pageThenAnswer([1], [1, 2, 3])), [1, 1, 2, 3]);
  });
});
