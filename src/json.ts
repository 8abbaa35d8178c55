/** Safe reading of JSON whose form and size nobody promises: own properties only, a wrong type is `undefined`. */
import { BOUNDS } from "./upstream/bounds.ts";

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
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "string" || !/^-?\d{1,16}(\.\d{1,16})?$/.test(value)) return undefined;
  return Number(value);
}

/** What stands at the end of the path, or `undefined` where any step of it is missing. */
export function dig(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as JsonObject)[step];
  }
  return here;
}

/** The object without its undefined values: what is not known is an absent key, never a key without a value. */
export function omitUndefined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, held]) => held !== undefined)) as Partial<T>;
}

/** The value of JSON text; undefined where it is not JSON, nests deeper or holds more values than the bounds allow. */
export function parseJson(text: string): unknown {
  if (nestsDeeper(text, BOUNDS.nesting, BOUNDS.values)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Whether JSON text nests deeper than that, or holds more values, found without parsing it: parsing can cost a
 * hundred times its size, and walking a deep value the stack.
 */
export function nestsDeeper(text: string, limit: number, maxValues = Number.POSITIVE_INFINITY): boolean {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text.charCodeAt(i);
    if (inString) {
      if (sign === BACKSLASH) i++;
      else if (sign === QUOTE) inString = false;
    } else if (sign === QUOTE) inString = true;
    else if (sign === COMMA) values++;
    else if (sign === OPENING_BRACE || sign === OPENING_BRACKET) {
      depth++;
      values++;
    } else if (sign === CLOSING_BRACE || sign === CLOSING_BRACKET) depth--;
    if (depth > limit || values > maxValues) return true;
  }
  return false;
}
