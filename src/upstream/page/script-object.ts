/**
 * The JSON objects that a page's scripts assign to names, matched by their braces. Strings in the scripts and
 * text outside them are skipped, because users write them: a description can contain an assignment. Reading
 * takes time linear in the page's length, even for hostile pages. Anything but a JSON object is skipped.
 */

import { asObject, type JsonObject, parseJson } from "../../base/json.ts";
import { BOUNDS } from "../bounds.ts";

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A script's end, an assignment (`var NAME =`, `NAME=`, `window["NAME"] =`), or a string's quote. */
const TOKENS =
  /<\/script|(?:\[\s*["'])?\b(ytInitialData|ytInitialPlayerResponse)(?:["']\s*\])?\s*=\s*|["'`]/g;

export interface Assigned {
  name: "ytInitialData" | "ytInitialPlayerResponse";
  object: JsonObject;
}

/**
 * The assigned objects, in the page's order: plain (`{"a":1}`), or as JSON in a string literal
 * (`'\x7b\x22a…'`), which the mobile site uses. A page without a script element is read as one script.
 */
export function* assignedObjects(page: string): Generator<Assigned> {
  let budget = page.length * BOUNDS.readings;
  let candidates = 0;
  /** Before this index, quotes do not begin strings: the script is broken, or the quote was in a comment. */
  let noStringsBefore = 0;
  let lineEnd = 0;
  const tokens = new RegExp(TOKENS);
  tokens.lastIndex = page.includes("<script") ? scriptAfter(page, 0) : 0;
  for (let token = tokens.exec(page); token; token = tokens.exec(page)) {
    const name = token[1] as Assigned["name"] | undefined;
    if (name === undefined) {
      if (token[0].length > 1) tokens.lastIndex = scriptAfter(page, tokens.lastIndex);
      else if (token.index >= noStringsBefore) {
        if (lineEnd <= token.index) lineEnd = endOfLine(page, token.index);
        const limit = token[0] === "`" ? page.length : lineEnd;
        const end = literalEnd(page, token.index, limit);
        if (end === undefined) noStringsBefore = limit;
        else tokens.lastIndex = end;
      }
      continue;
    }
    if (++candidates > BOUNDS.candidates) return;
    const start = tokens.lastIndex;
    const first = page.charCodeAt(start);
    const isLiteral = first === QUOTE || first === APOSTROPHE;
    if (!isLiteral && first !== OPENING_BRACE) continue;
    const limit = Math.min(page.length, start + budget);
    const end = isLiteral ? literalEnd(page, start, limit) : objectEnd(page, start, limit);
    budget -= (end ?? limit) - start;
    const object = end === undefined ? undefined : jsonObject(page.slice(start, end), isLiteral);
    if (end !== undefined && object) {
      tokens.lastIndex = end;
      yield { name, object };
    } else {
      const next = page.indexOf("ytInitial", start);
      noStringsBefore = next === -1 ? page.length : next;
    }
  }
}

function jsonObject(text: string, isLiteral: boolean): JsonObject | undefined {
  return asObject(parseJson(isLiteral ? unescaped(text.slice(1, -1)) : text));
}

/** Where the next script begins, or the page's end. */
function scriptAfter(page: string, at: number): number {
  const tag = page.indexOf("<script", at);
  const end = tag === -1 ? -1 : page.indexOf(">", tag);
  return end === -1 ? page.length : end + 1;
}

function endOfLine(page: string, at: number): number {
  const end = page.indexOf("\n", at);
  return end === -1 ? page.length : end;
}

const NAMED_ESCAPES = new Map(
  Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", 0: "\0" }),
);
/** Number of digits that follow. */
const CODED_ESCAPES = new Map(Object.entries({ x: 2, u: 4 }));

/**
 * The text of a script's string literal with its escapes resolved (`\xNN`, `\uNNNN`, `\n`, `\/` …). The
 * result has its own memory: it may be kept for long, and must not keep the script alive.
 */
export function unescaped(literal: string): string {
  // Unit by unit: a page can hold millions of escapes, and a string for each would cost a hundred bytes.
  const units = new Uint16Array(literal.length);
  let length = 0;
  for (let at = 0; at < literal.length; at++) {
    let unit = literal.charCodeAt(at);
    if (unit === BACKSLASH) {
      const sign = literal.charAt(++at);
      const digits = CODED_ESCAPES.get(sign) ?? 0;
      const coded = digits === 0 ? -1 : hexadecimal(literal, at + 1, digits);
      unit = coded === -1 ? (NAMED_ESCAPES.get(sign) ?? sign).charCodeAt(0) : coded;
      if (coded !== -1) at += digits;
    }
    units[length++] = unit;
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString("utf16le");
}

/** The number that `count` hexadecimal digits at `start` write; -1 if there are fewer digits. */
function hexadecimal(literal: string, start: number, count: number): number {
  let number = 0;
  for (let at = start; at < start + count; at++) {
    const sign = literal.charCodeAt(at);
    const letter = sign | 0x20; // in lower case
    if (sign >= 0x30 && sign <= 0x39) number = 16 * number + sign - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) number = 16 * number + letter - 0x57;
    else return -1; // also at the end, where the code is not a number
  }
  return number;
}

/** The index after the object that starts at `start`; undefined if it does not end before `limit`. */
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

/** The index after the string literal that starts at `start`; undefined if it does not end before `limit`. */
function literalEnd(page: string, start: number, limit: number): number | undefined {
  const quote = page.charCodeAt(start);
  for (let i = start + 1; i < limit; i++) {
    const sign = page.charCodeAt(i);
    if (sign === BACKSLASH) i++;
    else if (sign === quote) return i + 1;
  }
  return undefined;
}
