/**
 * JSON as clients are sent it: on one line, whatever they take for the end of a line. `JSON.stringify` escapes the control
 * characters below U+0020 alone, and many libraries split text at U+0085, U+2028 and U+2029, too (Python's `splitlines`).
 */

/** Cheaper to ask for than to replace: hardly any text has one. */
const LINE_BREAKERS = /[\u007f-\u009f\u2028\u2029]/;
const ALL_LINE_BREAKERS = new RegExp(LINE_BREAKERS, "g");

/** The value as JSON without a raw control character or line separator. Throws as `JSON.stringify` does. */
export function wireJson(value: unknown): string {
  return onOneLine(JSON.stringify(value));
}

/** The same JSON, its control characters and line separators escaped: outside of its strings it has none. */
export function onOneLine(json: string): string {
  if (!LINE_BREAKERS.test(json)) return json;
  return json.replace(ALL_LINE_BREAKERS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
