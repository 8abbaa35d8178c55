/**
 * The JSON objects that a page's scripts hold, found by what stands before them and matched by their braces.
 * Reading takes time linear in the page, however hostile it is; what is not a JSON object is skipped.
 */

import { asObject, type JsonObject, parseJson } from "../../json.ts";
import { BOUNDS } from "../bounds.ts";

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * The objects right behind each match of `opening` (a global expression), in the page's order: as they are
 * (`{"a":1}`), or as JSON in a string literal (`'\x7b\x22a…'`), which is how the mobile site writes them.
 */
export function* scriptObjects(page: string, opening: RegExp): Generator<JsonObject> {
  let budget = page.length * BOUNDS.readings;
  for (const match of page.matchAll(opening).take(BOUNDS.candidates)) {
    const start = match.index + match[0].length;
    const first = page.charCodeAt(start);
    const isLiteral = first === QUOTE || first === APOSTROPHE;
    if (!isLiteral && first !== OPENING_BRACE) continue;
    const limit = Math.min(page.length, start + budget);
    const end = isLiteral ? literalEnd(page, start, limit) : objectEnd(page, start, limit);
    budget -= (end ?? limit) - start;
    if (end !== undefined) {
      const text = isLiteral ? unescaped(page.slice(start + 1, end - 1)) : page.slice(start, end);
      const object = asObject(parseJson(text));
      if (object) yield object;
    }
  }
}

const NAMED_ESCAPES = new Map(
  Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", 0: "\0" }),
);
/** How many digits follow. */
const CODED_ESCAPES = new Map(Object.entries({ x: 2, u: 4 }));

/**
 * The text of a script's string literal, its escapes resolved (`\xNN`, `\uNNNN`, `\n`, `\/` …), in memory of its
 * own: it may be kept for long, and the script it was cut from must not be.
 */
export function unescaped(literal: string): string {
  // Unit by unit: a page can hold millions of escapes, and in pieces of text each would cost a hundred bytes.
  const units = new Uint16Array(literal.length);
  let length = 0;
  for (let at = 0; at < literal.length; at++) {
    let unit = literal.charCodeAt(at);
    if (unit === BACKSLASH) {
      const sign = literal.charAt(++at);
      const digits = digitsAt(literal, at + 1, CODED_ESCAPES.get(sign) ?? 0);
      unit = digits === "" ? (NAMED_ESCAPES.get(sign) ?? sign).charCodeAt(0) : Number.parseInt(digits, 16);
      at += digits.length;
    }
    units[length++] = unit;
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString("utf16le");
}

/** So many hexadecimal digits; "" where there are fewer. */
function digitsAt(literal: string, start: number, count: number): string {
  const digits = literal.slice(start, start + count);
  return digits.length === count && /^[\da-fA-F]+$/.test(digits) ? digits : "";
}

/** Where the object that starts at `start` has ended; undefined where that is not before `limit`. */
function objectEnd(page: string, start: number, limit: number): number | undefined {
  let depth = 0;
  for (let i = start; i < limit; i++) {
    const sign = page.charCodeAt(i);
    if (sign === QUOTE) {
      const end = literalEnd(page, i, limit);
      if (end === undefined) return undefined;
      i = end - 1;
    } else if (sign === OPENING_BRACE) depth++;
    else if (sign === CLOSING_BRACE && --depth === 0) return i + 1;
  }
  return undefined;
}

/** Where the string literal that starts at `start` has ended; undefined where that is not before `limit`. */
function literalEnd(page: string, start: number, limit: number): number | undefined {
  const quote = page.charCodeAt(start);
  for (let i = start + 1; i < limit; i++) {
    const sign = page.charCodeAt(i);
    if (sign === BACKSLASH) i++;
    else if (sign === quote) return i + 1;
  }
  return undefined;
}
