/** Fresh pages that follow each other before an answer comes, and whether it forms one list with the last. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answeredNow, startedNow } from "../../../src/base/clock.ts";
import { areOneList, type FreshPage, type Read, withPage } from "../../../src/reading/fresh-pages.ts";
import type { Gap } from "../../../src/reading/gap.ts";
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
