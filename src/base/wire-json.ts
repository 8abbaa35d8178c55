/**
 * JSON for clients: always on one line, for every definition of a line. `JSON.stringify` escapes only control
 * characters below U+0020, but many libraries also split text at U+0085, U+2028 and U+2029 (Python's
 * `splitlines`).
 */

/** Testing is cheaper than replacing, and hardly any text contains one. */
const LINE_BREAKERS = /[\u007f-\u009f\u2028\u2029]/;
const ALL_LINE_BREAKERS = new RegExp(LINE_BREAKERS, "g");

/** The value as JSON without a raw control character or line separator. Throws as `JSON.stringify` does. */
export function wireJson(value: unknown): string {
  return onOneLine(JSON.stringify(value));
}

/**
 * The same JSON with its control characters and line separators escaped. They occur only within its strings.
 */
export function onOneLine(json: string): string {
  if (!LINE_BREAKERS.test(json)) return json;
  return json.replace(ALL_LINE_BREAKERS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
