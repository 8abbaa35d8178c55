/**
 * Text as PostgreSQL stores it: UTF-8 without lone surrogates and without NUL. A NUL is escaped, so every
 * well-formed text is read back unchanged. If it has no control characters, as JSON, it is stored as it is.
 */

const ESCAPED = { "\0": "\u00010", "\u0001": "\u00011" } as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const TO_ESCAPE = /[\0\u0001]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const ESCAPES = /\u0001[01]/g;

export function toColumn(text: string): string {
  return text.toWellFormed().replace(TO_ESCAPE, (found) => ESCAPED[found as keyof typeof ESCAPED]);
}

/** The rows' values under each of the keys, as arrays for `unnest`. */
export function columns<Row extends object>(rows: readonly Row[], keys: readonly (keyof Row)[]): unknown[][] {
  const stored = (value: unknown) => (typeof value === "string" ? toColumn(value) : value);
  return keys.map((key) => rows.map((row) => stored(row[key])));
}

export function fromColumn(text: string): string {
  return text.replace(ESCAPES, (found) => (found === ESCAPED["\0"] ? "\0" : "\u0001"));
}
