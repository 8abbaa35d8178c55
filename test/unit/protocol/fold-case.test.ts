/** The form in which texts are searched: what counts as the same text, and what does not. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { foldCase } from "../../../src/protocol/fold-case.ts";
import { anyText } from "../../support/any-text.ts";

const SAME: [one: string, other: string][] = [
  ["École", "E\u0301COLE"],
  ["がぎ", "か\u3099き\u3099"],
  ["abc", "ＡＢＣ"],
  ["ガギ", "ｶﾞｷﾞ"],
  ["istanbul", "İstanbul"],
  ["İSTANBUL", "i\u0307stanbul"],
  ["í", "İ\u0301"],
  ["ΣΟΦΌΣ", "σοφός"],
  ["ǰ", "J\u030c"],
  ["office", "oﬃce"],
  ["WEISSE ẞ", "weisse ß"],
  ["한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"],
];
const OTHER: [one: string, other: string][] = [
  ["é", "e"],
  ["ß", "ss"],
  ["ı", "i"],
  ["が", "か"],
];

/** The characters that a regular expression without regard to case takes for the same one. */
function* pairs(): Generator<[one: string, other: string]> {
  for (let code = 0; code < 0x110000; code++) {
    const one = String.fromCodePoint(code);
    for (const other of new Set([one.toLowerCase(), one.toUpperCase()])) {
      if (other === one || [...other].length > 1) continue;
      if (new RegExp(`^\\u{${code.toString(16)}}$`, "iu").test(other)) yield [one, other];
    }
  }
}

describe("the form in which texts are searched", () => {
  for (const [one, other] of SAME) {
    it(`${JSON.stringify(one)} and ${JSON.stringify(other)} are the same`, () => {
      assert.equal(foldCase(one), foldCase(other));
    });
  }

  for (const [one, other] of OTHER) {
    it(`${one} and ${other} are not the same`, () => assert.notEqual(foldCase(one), foldCase(other)));
  }

  it("all characters that differ in their case alone are the same", () => {
    let count = 0;
    for (const [one, other] of pairs()) {
      assert.equal(foldCase(one), foldCase(other), `${one} ${other}`);
      count += 1;
    }
    assert.ok(count > 2000);
  });

  // The time to sort marks grows with the square of their number.
  it("of thousands of marks on a letter, the first 30 count", () => {
    const marks = "\u0307\u0323";
    assert.equal(foldCase(`q${marks.repeat(10_000)}é`), foldCase(`q${marks.repeat(15)}é`));
  });

  it("any text in this form stays as it is", () => {
    fc.assert(
      fc.property(anyText, (text) => foldCase(foldCase(text)) === foldCase(text)),
      { seed: 1, numRuns: 2000 },
    );
  });
});
