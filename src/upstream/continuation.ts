/** The tokens with which a chat is read on: opaque, but of a form that every later request can carry. */

/** Real ones have up to 1000 characters. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** Whether the text can be sent on as a token: printable ASCII of a bounded length. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}
