/** Fresh pages that follow each other before an answer comes. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { answeredNow, startedNow } from "../../../src/base/clock.ts";
import { type FreshPage, withPage } from "../../../src/reading/fresh-pages.ts";
import type { Gap } from "../../../src/reading/gap.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const GAP: Gap = { sinceMs: 1000, untilMs: 2000, reason: "unreachable" };
const LATER: Gap = { sinceMs: 1000, untilMs: 3000, reason: "unreachable" };
const clock = new FakeClock();

function page(id: string, type: "chat" | "paid", gap?: Gap): FreshPage {
  const items = [{ message: { id, type, details: {} } }] as unknown as FreshPage["items"];
  return { ...answeredNow(startedNow(clock), clock), items, gap, above: undefined };
}

it("a page without a chat message leaves the gap before it to the page that it becomes a part of", () => {
  const gapsOf = (later?: Gap) =>
    withPage([page("a", "paid", GAP)], page("b", "chat", later), () => {}).map(({ gap }) => gap);
  assert.deepEqual(gapsOf(), [GAP]);
  assert.deepEqual(gapsOf(LATER), [LATER]);
});
