/** Which words are taken for slips of which others. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { isOneSlip } from "../../../src/base/suggest.ts";

const PAIRS: [word: string, other: string, isSlip: boolean][] = [
  ["backfil", "backfill", true],
  ["detailss", "details", true],
  ["typos", "types", true],
  ["Types", "types", true],
  ["tyeps", "types", true],
  ["tpyes", "types", true],
  ["etyps", "types", false],
  ["abc", "abcbc", false],
  ["limit", "from", false],
];

for (const [word, other, isSlip] of PAIRS)
  it(`"${word}" is ${isSlip ? "" : "not "}one slip from "${other}"`, () =>
    assert.equal(isOneSlip(word, other), isSlip));
