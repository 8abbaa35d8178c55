/** The list from whose middle values are taken. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { LinkedList } from "../../../src/base/linked-list.ts";

it("a list gives its first and its last value, and any value leaves it once, wherever it is", () => {
  const list = new LinkedList<string>();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((value) => list.push(value));
  const seen = () => [list.first?.value, list.last?.value, list.size];
  assert.deepEqual(seen(), ["a", "d", 4]);
  for (const [leaves, left] of [
    [b, ["a", "d", 3]],
    [b, ["a", "d", 3]],
    [a, ["c", "d", 2]],
    [d, ["c", "c", 1]],
    [c, [undefined, undefined, 0]],
  ] as const) {
    leaves?.[Symbol.dispose]();
    assert.deepEqual(seen(), left);
  }
  list.push("e");
  assert.deepEqual(seen(), ["e", "e", 1]);
});
