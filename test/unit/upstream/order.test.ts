/** The order of a page's messages and of the answer's that follows it, as one list. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { simulateInProcess } from "../../../simulator/index.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { NO_MEMORY, resolve } from "../../../src/reading/batch/resolve.ts";
import { completeInOrder, historyLength, mergeInOrder } from "../../../src/upstream/order.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import type { Panels } from "../../../src/upstream/readers/panels.ts";
import type { Item } from "../../../src/upstream/readers/reader.ts";
import { timeOfDay } from "../../../src/upstream/readers/timestamp.ts";
import { ExpectedMessages, withoutHash } from "../../chaos/expected-messages.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { NOTHING_HELD } from "../../support/nothing-held.ts";

const UTC = timeOfDay("UTC");

/** The replacements of each message, in the order of the log. */
function replacementsIn(held: ReadonlyMap<string, Message>): Map<string, Message[]> {
  const all = [...held.values()].filter((message) => message.type === "replaced");
  return Map.groupBy(all, ({ details }) => details.target.messageId);
}

/** The notices of each text. */
function noticesIn(held: ReadonlyMap<string, Message>): Map<string, Message[]> {
  const all = [...held.values()].filter(({ type }) => type === "notice");
  return Map.groupBy(all, ({ id }) => id.replace(/:\d+$/, ""));
}

/** What a room holds that has read these lists, one after the other. */
function heldAfter(lists: readonly { items: readonly Item[]; now: number }[]) {
  const held = new Map<string, Message>();
  let memory = NO_MEMORY;
  for (const { items, now } of lists) {
    const parts = { replacements: replacementsIn(held), notices: noticesIn(held) };
    const { messages, ...after } = resolve(items, { ...NOTHING_HELD, messages: held, ...parts }, memory, now);
    memory = after;
    for (const message of messages) if (!held.has(message.id)) held.set(message.id, message);
  }
  return [...held.values()];
}

describe("a page and the answer that follows it", () => {
  it("are sorted by time; messages without one keep their place in their own list", () => {
    const list = fc.array(fc.oneof(fc.nat(20), fc.constant(undefined)), { maxLength: 12 });
    fc.assert(
      fc.property(list, list, (pageTimes, answerTimes) => {
        const items = (times: (number | undefined)[], name: string) =>
          times.map((second, i) => ({
            message: {
              id: `${name}${i}`,
              details: second === undefined ? {} : { publishedAt: new Date(second).toISOString() },
            },
          })) as unknown as Item[];
        const page = items(pageTimes, "p");
        const answer = items(answerTimes, "a");
        const merged = mergeInOrder(page, answer);
        const at = ({ message }: Item) => message.details.publishedAt;
        assert.deepEqual(new Set(merged), new Set([...page, ...answer]));
        if (page.length === 0) return assert.deepEqual(merged, answer);
        const times = merged.map(at).filter((time) => time !== undefined);
        assert.deepEqual(times, times.toSorted());
        for (const own of [page, answer]) {
          for (const [i, item] of own.entries()) {
            const before = own.slice(0, i).findLast((other) => at(other) !== undefined);
            if (at(item) !== undefined || !before) continue;
            assert.ok(merged.indexOf(item) > merged.indexOf(before));
          }
        }
        const newest = pageTimes
          .filter((time) => time !== undefined)
          .toSorted((a, b) => a - b)
          .at(-1);
        const history = new Set(merged.slice(0, historyLength(merged, page)));
        for (const item of merged) {
          const time = at(item);
          if (newest === undefined) assert.ok(history.has(item));
          else if (time !== undefined)
            assert.equal(history.has(item), time <= new Date(newest).toISOString());
        }
      }),
    );
  });

  it("give all messages of a chat with all kinds in their order, if some were read before", () => {
    const spacingMs = 333;
    const cuts = fc.record({
      seed: fc.nat(),
      read: fc.integer({ min: 60, max: 200 }),
      missed: fc.integer({ min: 10, max: 70 }),
      saidSince: fc.integer({ min: 0, max: 15 }),
      repeated: fc.integer({ min: 0, max: 40 }),
      older: fc.integer({ min: 0, max: 30 }),
    });
    const property = fc.property(cuts, ({ seed, read, missed, saidSince, repeated, older }) => {
      const clock = new FakeClock();
      const chat = simulateInProcess({ seed, clock }).chat("order-video", {});
      const times: number[] = [];
      const shown = read + missed;
      for (let i = 0; i < shown + saidSince; i++) {
        chat.say(1);
        times.push(clock.now());
        clock.jump(spacingMs);
      }
      const list = (from: number, to: number, panels?: Panels) => {
        const entries = chat.ledger.slice(from, to);
        const now = times[to - 1] ?? 0;
        const mutations = entries.flatMap((entry) => entry.mutations);
        const actions = entries.map(({ action }) => action);
        return {
          now,
          ...readActions(actions, { receivedAt: now, timeOfDay: UTC, panels, mutations, isEnglish: true }),
        };
      };
      const before = list(0, read);
      const page = list(Math.max(0, Math.min(read, shown - 50) - older), shown, before.panels);
      const answer = list(shown - repeated, shown + saidSince, page.panels);
      const { now } = saidSince > 0 ? answer : page;
      const merged = { items: mergeInOrder(page.items, answer.items), now };
      const expected = new ExpectedMessages();
      for (const entry of chat.ledger) expected.hear(entry);
      assert.deepEqual(heldAfter([before, merged]).map(withoutHash), expected.messages);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it("keep the place of a gift or a poll without a time behind a notice that a page shows as new", () => {
    const item = (id: string, second?: number, isKnownByText?: true) =>
      ({
        message: { id, details: second ? { publishedAt: `2026-01-01T00:00:0${second}.000000Z` } : {} },
        isKnownByText,
      }) as unknown as Item;
    const page = [item("a", 1), item("rules", 9, true), item("gift"), item("c", 3)];
    const answer = [item("b", 2), item("c", 3), item("d", 4), item("rules again", 9, true), item("poll")];
    const late = [item("e", 5)];
    const merged = mergeInOrder(mergeInOrder(page, answer), late);
    const ids = merged.map(({ message: { id } }) => id);
    assert.deepEqual(ids, ["a", "gift", "b", "c", "d", "poll", "e", "rules", "rules again"]);
  });

  it("give a message that is in both once, in the answer's place, even if others have the same time", () => {
    const items = (...ids: string[]) =>
      ids.map((id) => ({
        message: { id, details: { publishedAt: "2026-01-01T00:00:00.000000Z" } },
      })) as unknown as Item[];
    const merged = mergeInOrder(items("0", "2", "4"), items("1", "2", "3", "4"));
    assert.deepEqual(
      merged.map(({ message }) => message.id),
      ["0", "1", "2", "3", "4"],
    );
  });

  it("give a paid message of the answer's ticker in the page's place, before its deletion", () => {
    const item = (id: string, second?: number) =>
      ({
        message: { id, details: { ...(second && { publishedAt: new Date(second * 1000).toISOString() }) } },
      }) as unknown as Item;
    const page = [item("paid", 1), item("deleted:paid"), item("later", 2)];
    const answer: Item[] = [item("later", 2), { ...item("paid", 1), isInTicker: true }];
    const merged = mergeInOrder(page, answer);
    assert.deepEqual(
      merged.map(({ message }) => message.id),
      ["paid", "deleted:paid", "later"],
    );
  });

  it("give a notice in the page's place, though the answer repeats it", () => {
    const item = (id: string, second: number) =>
      ({
        message: { id, details: { publishedAt: new Date(second * 1000).toISOString() } },
      }) as unknown as Item;
    const merged = mergeInOrder(
      [item("notice", 1), item("a", 2)],
      [item("b", 3), item("notice", 4), item("c", 5)],
    );
    assert.deepEqual(
      merged.map(({ message }) => message.id),
      ["notice", "a", "b", "c"],
    );
  });

  it("give both a message from the page and its replacement from the answer", () => {
    const original = { message: { id: "a", details: {} } } as unknown as Item;
    const replacement = { ...original, replaces: { as: { id: "replaced:a:hash" } } } as unknown as Item;
    assert.deepEqual(mergeInOrder([original, replacement], [replacement]), [original, replacement]);
  });

  it("give an author's deletion in the answer's place, though the page shows an earlier one, too", () => {
    const item = (id: string, second: number) =>
      ({
        message: { id, type: "chat", details: { publishedAt: new Date(second * 1000).toISOString() } },
      }) as unknown as Item;
    const deletion = { message: { id: "D", type: "author_deleted", details: {} } } as unknown as Item;
    const page = [item("a", 1), deletion, item("b", 2), deletion, item("d", 4)];
    const idsOf = (items: readonly Item[]) => items.map(({ message }) => message.id);
    const answer = [item("b", 2), item("c", 3), deletion, item("d", 4)];
    assert.deepEqual(idsOf(mergeInOrder(page, answer)), ["a", "D", "b", "c", "D", "d"]);
    const behind = [item("d", 4), item("e", 5), deletion];
    assert.deepEqual(idsOf(mergeInOrder(page, behind)), ["a", "D", "b", "D", "d", "e", "D"]);
    const atOneTime = [item("c", 2), deletion, item("b", 2)]; // may be the page's first one
    assert.deepEqual(idsOf(mergeInOrder(page.slice(0, 3), atOneTime)), ["a", "c", "D", "b"]);
  });

  it("keep a deletion after the answer for the next one, though the page lacks the deleted message", () => {
    const said = (id: string, publishedAt?: string) =>
      ({ message: { id, details: { publishedAt } } }) as Item;
    const first = said("first", "2026-01-01T00:00:01.000000Z");
    const deleted = said("deleted", "2026-01-01T00:00:02.000000Z");
    const later = said("later", "2026-01-01T00:00:03.000000Z");
    const page = [said("earlier deletion"), first, said("deletion"), later];
    assert.deepEqual(
      completeInOrder([first, deleted], page, "").items.map(({ message }) => message.id),
      ["earlier deletion", "first", "deleted"],
    );
  });
});
