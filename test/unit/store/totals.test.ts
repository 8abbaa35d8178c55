/** The totals of a room's log: counted in pieces of any size, they are what counting all at once gives. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MESSAGE_TYPES } from "../../../src/protocol/kinds.ts";
import { encodeMessage } from "../../../src/store/stored-message.ts";
import { addBatch, NO_TOTALS, readBatch, type TallyItem, type Totals } from "../../../src/store/totals.ts";
import { judged, type Logged, randomLog } from "../../support/totals-judge.ts";

/** Counts the log in pieces of these sizes, by turns. */
function counted(log: readonly Logged[], sizes: readonly number[]): Totals {
  const held = new Map<string, TallyItem>();
  let totals = NO_TOTALS;
  for (let [from, turn] = [0, 0]; from < log.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    const piece = log.slice(from, from + size);
    const batch = readBatch(
      piece.map(({ message, at }, i) => ({ ...encodeMessage(message), cursor: from + i + 1, at })),
      0,
    );
    const needed = [...held.values()].filter(
      ({ key, author, first }) =>
        batch.keys.includes(key) ||
        (author !== null && batch.authors.includes(author)) ||
        (first !== null && batch.firsts.includes(first)),
    );
    const after = addBatch(totals, batch, needed);
    for (const item of after.items) held.set(item.key, item);
    totals = after.totals;
    from += size;
  }
  return totals;
}

describe("the totals of a room's log", () => {
  it("are the same in pieces of any size as all at once", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(randomLog, sizes, (messages, pieces) => {
        const log = messages.map((message, at) => ({ message, at }));
        assert.deepEqual(counted(log, pieces), judged(log));
      }),
      { numRuns: 1000 },
    );
  });

  it("count a damaged message, whatever its fields are", () => {
    const id = fc.oneof(fc.constant("x"), fc.jsonValue());
    const body = fc.record({ type: fc.constantFrom(...MESSAGE_TYPES), id, parts: fc.jsonValue() });
    const details = { amount: fc.jsonValue(), authorId: fc.jsonValue(), target: fc.jsonValue() };
    const damaged = fc.tuple(body, fc.record({ ...details, gift: fc.jsonValue() }));
    const count = (texts: readonly string[]) => {
      const [text = "", more = ""] = texts;
      const { totals } = addBatch(
        NO_TOTALS,
        readBatch([{ cursor: 1, at: 7, body: text, details: more }], 0),
        [],
      );
      assert.equal(totals.lastAt, 7);
      return totals;
    };
    fc.assert(fc.property(damaged, (texts) => void count(texts.map((value) => JSON.stringify(value)))));
    const { types, unreadable } = count(['{"type":"superchat","id":"x","parts":null}', "{}"]);
    assert.deepEqual([types, unreadable], [{ superchat: 1 }, 0]);
  });
});
