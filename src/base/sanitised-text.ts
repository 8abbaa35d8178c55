/** Sanitises text from chats, so that no author can control a terminal. */

const SPACING = /\r\n|[\t\n\v\f\r\u0085\u2028\u2029]/g;
/** Control characters (C0, DEL, C1), and those that reorder the text around them. */
const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
/** The characters of CONTROL that `JSON.stringify` does not escape, and Unicode's line separators. */
const LEFT_IN_JSON = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** For people: one line, line breaks and tabs as spaces, no control characters or bidirectional overrides. */
export function cleanText(text: string): string {
  return text.replace(SPACING, " ").replace(CONTROL, "");
}

/** One line of JSON without losses: control characters and bidirectional overrides become `\u` escapes. */
export function jsonLine(value: unknown): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(value).replace(LEFT_IN_JSON, escaped)}\n`;
}
