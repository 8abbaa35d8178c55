/** Safe reading of JSON whose form and size nobody promises: own properties only, a wrong type is `undefined`. */

/**
 * The maximum number of objects, lists and their members in JSON text. Real data has up to 20,000; more is not parsed,
 * for three bytes can cost a hundred.
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

/** A finite number; the upstream writes many of its numbers as strings, which count too. */
export function asNumber(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^-?\d{1,16}(\.\d{1,16})?$/.test(value)) return undefined;
  return Number(value);
}

/** What stands at the end of the path in a value of JSON, or `undefined` where any step of it is missing. */
export function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here = value;
  for (let i = 0; i < path.length; i++) {
    if (typeof here !== "object" || here === null) return undefined;
    here = ownValue(here as JsonObject, path[i] as string);
  }
  return here;
}

/** All that an object of JSON inherits is functions, but for its prototype: quicker to see than whether a key is its own. */
function ownValue(object: JsonObject, key: string): unknown {
  if (key === "__proto__" && !Object.hasOwn(object, key)) return undefined;
  const value = object[key];
  return typeof value === "function" ? undefined : value;
}

/** The object without its undefined values: what is not known is an absent key, never a key without a value. */
export function omitUndefined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): Partial<T> {
  return addDefined({}, value);
}

/** Gives the object what is defined of the value. */
export function addDefined<T extends object>(
  object: Partial<T>,
  value: { [K in keyof T]: T[K] | undefined } | undefined,
): Partial<T> {
  for (const key in value) if (value[key] !== undefined) object[key] = value[key];
  return object;
}

/** The value of JSON text; undefined where it is not JSON or holds more than `MAX_JSON_VALUES`. */
export function parseJson(text: string): unknown {
  // No value is shorter than a character: only a long text can hold too many.
  if (text.length > MAX_JSON_VALUES && scan(text).values > MAX_JSON_VALUES) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The first `maxLength` characters of a value's JSON; "" where it nests too deep to be written. */
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

/** How deep JSON text nests. */
export function nestingOf(text: string): number {
  return scan(text).nesting;
}

/** Nesting and number of values of JSON text, found without parsing it, which can cost a hundred times its size. */
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

/** Where the string ends whose quote stands there; the text's end where it does not. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    if (text.charCodeAt(end - 1) !== BACKSLASH) return end;
    let backslashes = 1;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}
