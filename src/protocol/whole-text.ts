/**
 * The upstream shows a long link shortened, `https://example.org/a/long/pa...`, and has the whole one as its
 * target. People who keep or search a text want the whole one.
 */
import type { EightFields, Part } from "./message.ts";

type Words = Pick<EightFields, "message"> & Partial<Pick<EightFields, "parts">>;

const ELLIPSIS = /(?:…|\.\.\.)$/;
/** What a link as shown may leave out of its target. */
const SCHEME = /^(?:https?:\/\/)?(?:www\.)?/i;

/**
 * The text of a message, with the whole URL in place of each shortened link. Another version of the service
 * may send a message without parts, or with odd ones.
 */
export function wholeText({ message, parts }: Words): string {
  if (!Array.isArray(parts) || !parts.some(isShortened)) return message;
  return parts.map((part) => (isShortened(part) ? part.url : (part?.text ?? ""))).join("");
}

function isShortened(part: Part | null): part is Extract<Part, { kind: "link" }> {
  if (part?.kind !== "link" || !ELLIPSIS.test(part.text)) return false;
  const beginning = part.text.replace(ELLIPSIS, "").replace(SCHEME, "");
  return part.url.replace(SCHEME, "").startsWith(beginning);
}
