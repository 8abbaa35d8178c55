/** The search in the index of authors, on rooms that are longer than any that a test can store. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  BLOCK,
  blockKey,
  blockOf,
  blocksFor,
  LOOKED_AT,
  placeFor,
} from "../../../src/store/author-blocks.ts";

const MESSAGES = 3 * LOOKED_AT * BLOCK;
const cursors = fc.integer({ min: 0, max: MESSAGES });

describe("a search in the index of authors", () => {
  it("misses no message, and reads a block for each, and all uncounted messages", () => {
    const one = fc.record({
      base: fc.constantFrom(0, 1_700_000_000_123),
      said: fc.uniqueArray(fc.integer({ min: 1, max: MESSAGES }), { maxLength: 6 }),
      bounds: fc.tuple(cursors, cursors).filter(([one, other]) => one !== other),
      counted: fc.oneof(fc.constant(MESSAGES), cursors),
      isNewest: fc.boolean(),
    });
    const check = fc.property(one, ({ base, said, bounds, counted: last, isNewest }) => {
      const all = said.map((place) => base + place);
      const counted = base + last;
      const blocks = new Set(
        all.filter((cursor) => cursor <= counted).map((cursor) => blockOf(cursor, base)),
      );
      const [low, high] = [base + Math.min(...bounds), base + Math.max(...bounds)];
      const wanted = new Set(all.filter((cursor) => cursor > low && cursor <= high));
      let read = 0;
      for (let [after, to, looks] = [low, high, 0]; after < to; looks++) {
        const { first, last } = blocksFor({ after, to, isNewest }, base);
        assert.ok(last - first < LOOKED_AT);
        const marked = [...blocks].filter((block) => block >= first && block <= last);
        const found = marked.sort((a, b) => a - b).at(isNewest ? -1 : 0);
        const key = found === undefined ? null : blockKey(found);
        const place = placeFor({ after, to, isNewest }, base, counted, key);
        assert.ok(after <= place.after && place.after <= place.to && place.to <= to, JSON.stringify(place));
        read += place.to - place.after;
        for (const cursor of wanted) if (cursor > place.after && cursor <= place.to) wanted.delete(cursor);
        [after, to] = isNewest ? [after, place.after] : [place.to, to];
        assert.ok(looks < 6 + 3 + 2, "it makes headway");
      }
      assert.deepEqual([...wanted], []);
      const uncounted = Math.max(0, high - Math.max(low, counted));
      assert.ok(read <= blocks.size * BLOCK + uncounted, `${read} messages`);
    });
    fc.assert(check, { numRuns: 2000 });
  });
});
