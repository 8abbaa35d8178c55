/** The form in which texts are searched: what counts as the same text, and what does not. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { fold } from "../../../src/protocol/fold.ts";
import { anyText } from "../../support/any-text.ts";
import { workOf } from "../../support/work.ts";

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
      assert.equal(fold(one), fold(other));
    });
  }

  for (const [one, other] of OTHER) {
    it(`${one} and ${other} are not the same`, () => assert.notEqual(fold(one), fold(other)));
  }

  it("all characters that differ in their case alone are the same", () => {
    let count = 0;
    for (const [one, other] of pairs()) {
      assert.equal(fold(one), fold(other), `${one} ${other}`);
      count += 1;
    }
    assert.ok(count > 2000);
  });

  it("a letter with thousands of marks takes a bounded time", () => {
    const letters = "é".repeat(20_000);
    const atOnce = workOf(() => {
      for (let n = 0; n < 200; n++) fold(letters);
    });
    const marks = workOf(() => fold("\u0307\u0323".repeat(10_000)));
    assert.ok(marks < atOnce, `${marks} µs against ${atOnce} µs`);
  });

  it("any text in this form stays as it is", () => {
    fc.assert(
      fc.property(anyText, (text) => fold(fold(text)) === fold(text)),
      { seed: 1, numRuns: 2000 },
    );
  });
});
