/**
 * The JSON objects that a page's scripts hold, found by what stands before them and matched by their braces.
 * Reading takes time linear in the page, however hostile it is; what is not a JSON object is skipped.
 */
import { asObject, type JsonObject } from "./json.ts";

/** All candidates of a page together may cost this many readings of it; a real page needs less than one. */
const MAX_READINGS = 8;

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
  let budget = page.length * MAX_READINGS;
  for (const match of page.matchAll(opening)) {
    const start = match.index + match[0].length;
    const first = page.charCodeAt(start);
    const isLiteral = first === QUOTE || first === APOSTROPHE;
    if (!isLiteral && first !== OPENING_BRACE) continue;
    const limit = Math.min(page.length, start + budget);
    const end = isLiteral ? literalEnd(page, start, limit) : objectEnd(page, start, limit);
    budget -= (end ?? limit) - start;
    if (end !== undefined) {
      const object = parsed(isLiteral ? unescaped(page.slice(start + 1, end - 1)) : page.slice(start, end));
      if (object) yield object;
    }
  }
}

const NAMED_ESCAPES: Record<string, string> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "0": "\0",
};

/** The text of a script's string literal, its escapes resolved (`\xNN`, `\uNNNN`, `\n`, `\/` …). */
export function unescaped(literal: string): string {
  return literal.replaceAll(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/g,
    (_, byte?: string, unit?: string, sign = "") =>
      byte || unit
        ? String.fromCharCode(Number.parseInt(byte ?? unit ?? "", 16))
        : (NAMED_ESCAPES[sign] ?? sign),
  );
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

function parsed(text: string): JsonObject | undefined {
  // Most literals hold none, and an exception for each would be dear.
  if (text.charCodeAt(0) !== OPENING_BRACE) return undefined;
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}
