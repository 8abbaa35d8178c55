/** The amounts, colours and tiers of paid messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readAmount } from "../../../src/upstream/readers/amount.ts";
import { hexColor, tierOf } from "../../../src/upstream/readers/color.ts";

const AMOUNTS: Record<string, [value: number | null, currency: string | null]> = {
  "$10.00": [10, "USD"],
  "US$5.00": [5, "USD"],
  "$1,234.56": [1234.56, "USD"],
  "¥5,630": [5630, "JPY"],
  "￥10,000": [10000, "JPY"],
  "￥90": [90, "JPY"],
  "CN¥1.00": [1, "CNY"],
  "€2": [2, "EUR"],
  "1.234,56 €": [1234.56, "EUR"],
  "1.000 €": [1000, "EUR"],
  "2,50\u00a0€": [2.5, "EUR"],
  "1\u202f234,50\u00a0€": [1234.5, "EUR"],
  "£1,000,000.50": [1000000.5, "GBP"],
  "CZK\u00a020.00": [20, "CZK"],
  "TRY\u202f55.00": [55, "TRY"],
  "CHF 1’234.50": [1234.5, "CHF"],
  "COP 10.000": [10000, "COP"],
  "₫1,000,000": [1000000, "VND"],
  "1.000.000 ₫": [1000000, "VND"],
  "₹1,00,000.00": [100000, "INR"],
  "₹12,34,567": [1234567, "INR"],
  "R$100.00": [100, "BRL"],
  "R$ 1.234,56": [1234.56, "BRL"],
  "NT$150.00": [150, "TWD"],
  "HK$25.00": [25, "HKD"],
  "CA$5.00": [5, "CAD"],
  "A$5.00": [5, "AUD"],
  "AU$5.00": [5, "AUD"],
  "NZ$5.00": [5, "NZD"],
  "MX$50.00": [50, "MXN"],
  "S$2.00": [2, "SGD"],
  "₩10,000": [10000, "KRW"],
  "₱100.00": [100, "PHP"],
  "₪20.00": [20, "ILS"],
  "\u200f20.00\u00a0₪": [20, "ILS"],
  "20,00 zł": [20, "PLN"],
  "KWD 1,000.500": [1000.5, "KWD"],
  "KWD 0.500": [0.5, "KWD"],
  "1.000": [null, null],
  // The upstream's own language groups with commas.
  "[MADE UP]10,800": [10800, null],
  "XYZ 12.50": [12.5, null],
  "20,00 kr": [20, null],
  "12.50": [12.5, null],
  "$1,23,4.5": [null, "USD"],
  "$1.2345": [null, "USD"],
  "$1,234.567": [null, "USD"],
  "$12.345.67": [null, "USD"],
  "$1,000,00": [null, "USD"],
  "-$5.00": [null, null],
  "<$1": [null, null],
  "$5 or $6": [null, null],
  $: [null, null],
  "": [null, null],
  free: [null, null],
  $1000000000000000000: [null, "USD"],
  [`$${"1".repeat(5000)}`]: [null, null],
};

describe("the reader of amounts", () => {
  for (const [text, [value, currency]] of Object.entries(AMOUNTS)) {
    it(`reads ${JSON.stringify(text.slice(0, 30))} as ${value} ${currency}`, () => {
      for (const isEnglish of [true, false])
        assert.deepEqual(readAmount(text, isEnglish), { value, currency });
    });
  }

  it("takes three digits behind a point for decimals where the currency has three, in English", () => {
    for (const currency of ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]) {
      const read = (digits: string, isEnglish: boolean) =>
        readAmount(`${currency}\u00a0${digits}`, isEnglish);
      assert.deepEqual(read("5.500", true), { value: 5.5, currency });
      assert.deepEqual(read("1,500", true), { value: 1500, currency });
      // In another language it is the other way round.
      for (const digits of ["5.500", "1,500"])
        assert.deepEqual(read(digits, false), { value: null, currency });
    }
  });

  it("colours lose their alpha and keep their leading zeros", () => {
    assert.equal(hexColor(0xff1565c0), "#1565c0");
    assert.equal(hexColor("4278237396"), "#00b8d4");
    assert.equal(hexColor(0xff00050f), "#00050f");
    assert.equal(hexColor(0), "#000000");
    for (const odd of [undefined, null, -1, 1.5, 2 ** 32, "red", {}]) assert.equal(hexColor(odd), undefined);
  });

  it("the tiers go from blue to red, by a header's or a body's colour", () => {
    const headers = ["#1565c0", "#00b8d4", "#00bfa5", "#ffb300", "#e65100", "#c2185b", "#d00000"];
    assert.deepEqual(headers.map(tierOf), [1, 2, 3, 4, 5, 6, 7]);
    assert.equal(tierOf("#ffca28"), 4);
    assert.equal(tierOf("#123456"), undefined);
    assert.equal(tierOf(undefined), undefined);
  });
});
