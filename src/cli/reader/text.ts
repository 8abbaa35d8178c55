/** Text from chats made harmless: nothing that somebody wrote in a chat can drive a terminal. */

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g;
/** Control characters (C0, DEL, C1), and what reorders the text around it. */
const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
/** Those that `JSON.stringify` leaves as they are, and line breaks of their own kind. */
const LEFT_IN_JSON = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** For people: one line, a line break as a space, control characters and bidirectional overrides left out. */
export function cleanText(text: string): string {
  return text.replace(LINE_BREAK, " ").replace(CONTROL, "");
}

/** One line of JSON that holds all of it: control characters and bidirectional overrides as `\u` escapes. */
export function jsonLine(value: unknown): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(value).replace(LEFT_IN_JSON, escaped)}\n`;
}
