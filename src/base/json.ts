/**
 * Safe reading of JSON of unknown form and size: only own properties count, and a wrong type is `undefined`.
 * A text with more than 500,000 values is not parsed.
 */

/**
 * The maximum number of objects, lists and their members in JSON text. Real data has up to 20,000. Larger
 * text is not parsed, because three bytes of text, `{},`, cost 64 bytes of memory.
 */
const MAX_JSON_VALUES = 500_000;

export type JsonObject = Record<string, unknown>;

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

export function asArray(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * A finite number. Numbers in strings count too, because the upstream writes many of its numbers as strings.
 */
export function asNumber(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^-?\d{1,16}(\.\d{1,16})?$/.test(value)) return undefined;
  return Number(value);
}

/** A safe integer above 0, as `asNumber` reads it. */
export function asPositiveInteger(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/** The value at the end of the path, or `undefined` if any step of it is missing. */
export function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here = value;
  for (let i = 0; i < path.length; i++) {
    if (typeof here !== "object" || here === null) return undefined;
    here = ownValue(here as JsonObject, path[i] as string);
  }
  return here;
}

/**
 * An own value. An object parsed from JSON inherits only functions and its prototype, so checking for these
 * is enough; it is faster than checking whether the key is an own one.
 */
function ownValue(object: JsonObject, key: string): unknown {
  if (key === "__proto__" && !Object.hasOwn(object, key)) return undefined;
  const value = object[key];
  return typeof value === "function" ? undefined : value;
}

/** The object without its undefined values: an unknown value is an absent key. */
export function omitUndefined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): Partial<T> {
  return addDefined({}, value);
}

/** The object, or undefined if it has no keys: a part of which nothing is known is absent. */
export function unlessEmpty<T extends object>(object: T): T | undefined {
  return Object.keys(object).length > 0 ? object : undefined;
}

/** A JSON array whose elements each begin with two texts, as a map of them; undefined for another value. */
export function textPairs(value: unknown): ReadonlyMap<string, string> | undefined {
  const pairs = asArray(value)?.map((pair) => [asString(dig(pair, 0)), asString(dig(pair, 1))]);
  return pairs?.every(isPair) ? new Map(pairs) : undefined;
}

function isPair(pair: unknown[]): pair is [string, string] {
  return pair.every((text) => text !== undefined);
}

/** Copies the defined properties of `value` to `object`. */
export function addDefined<T extends object>(
  object: Partial<T>,
  value: { [K in keyof T]: T[K] | undefined } | undefined,
): Partial<T> {
  for (const key in value) if (value[key] !== undefined) object[key] = value[key];
  return object;
}

/** Parses JSON text. Returns undefined if it is not JSON, or has more than `MAX_JSON_VALUES` values. */
export function parseJson(text: string): unknown {
  // Every value takes at least one character, so only a long text can have too many.
  if (text.length > MAX_JSON_VALUES && scan(text).values > MAX_JSON_VALUES) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first `maxLength` characters of the value's JSON; "" if it nests too deep for `JSON.stringify`. */
export function startOfJson(value: unknown, maxLength: number): string {
  try {
    return String(JSON.stringify(value)).slice(0, maxLength);
  } catch {
    return "";
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** How deep the text nests at its deepest point. */
export function nestingOf(text: string): number {
  return scan(text).nesting;
}

/** Counts nesting and values without parsing: parsing can cost over twenty times the memory of the text. */
function scan(text: string): { nesting: number; values: number } {
  let depth = 0;
  let nesting = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const sign = text.charCodeAt(i);
    if (sign === QUOTE) i = stringEnd(text, i);
    else if (sign === COMMA) values++;
    else if (sign === OPENING_BRACE || sign === OPENING_BRACKET) {
      depth++;
      values++;
      if (depth > nesting) nesting = depth;
    } else if (sign === CLOSING_BRACE || sign === CLOSING_BRACKET) depth--;
  }
  return { nesting, values };
}

/**
 * The position of the closing quote of the string that opens at `start`; the text's length if there is none.
 */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
    let backslashes = 1;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
