/**
 * Converts the upstream's text in its three forms (`runs`, `simpleText`, a view model's `content`) to message
 * parts or plain text. Lengths are bounded, and cuts are between characters, never within one.
 */

import { isIPv6 } from "node:net";
import { asArray, asObject, asString, dig, type JsonObject } from "../../base/json.ts";
import type { Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import { imageUrl, linkUrl } from "./url.ts";

/** One part per visible run: up to 500, `maxLength` UTF-16 units of text, five times as many of URLs. */
export function partsOf(text: unknown, maxLength: number = BOUNDS.messageLength): Part[] {
  const parts: Part[] = [];
  let lengthLeft = maxLength;
  let urlLengthLeft = maxLength * BOUNDS.urlLengthPerText;
  for (const run of runsOf(text)) {
    const part = partOf(run);
    if (!part) continue;
    urlLengthLeft -= part.kind === "text" ? 0 : (part.url?.length ?? 0);
    if (parts.length === BOUNDS.parts || lengthLeft === 0 || urlLengthLeft < 0) break;
    if (part.text.length > lengthLeft) {
      const text = cut(part.text, lengthLeft);
      // An emoji's shortcut that is cut in half is useless.
      if (part.kind !== "emoji" && text !== "") parts.push({ ...part, text });
      break;
    }
    parts.push(part);
    lengthLeft -= part.text.length;
  }
  return parts;
}

/** A sentence of the upstream and, after a space, its sub-text, as the parts of one text. */
export function sentence(text: unknown, subText: unknown): Part[] {
  const [runs, subRuns] = [runsOf(text), runsOf(subText)];
  const space = runs.length > 0 && subRuns.length > 0 ? [{ text: " " }] : [];
  return partsOf({ runs: [...runs, ...space, ...subRuns] });
}

/** A message's text: its parts' texts joined. */
export function plainText(parts: readonly Part[]): string {
  let text = "";
  for (const part of parts) text += part.text;
  return text;
}

/** The plain text, shortened; "" if there is none. */
export function wordsOf(text: unknown, maxLength: number = BOUNDS.wordsLength): string {
  // The usual form needs no parts.
  const object = asObject(text);
  const whole = asString(object?.simpleText);
  return cut(whole !== undefined && !object?.runs ? whole : plainText(partsOf(text)), maxLength);
}

/** A bare string, shortened; "" if there is none. */
export function shorten(value: unknown, maxLength: number = BOUNDS.wordsLength): string {
  return cut(asString(value) ?? "", maxLength);
}

/** The accessibility label of an image or a badge. */
export function labelOf(labelled: unknown): string {
  return shorten(dig(labelled, "accessibility", "accessibilityData", "label"));
}

/** Maximum `maxLength` UTF-16 units, one fewer if the last would be half a character. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  const splitsCharacter = last >= 0xd800 && last <= 0xdbff;
  // A copy: a slice would keep the whole text in memory.
  return structuredClone(text.slice(0, splitsCharacter ? maxLength - 1 : maxLength));
}

/** Text without tags, on one line, shortened. */
export function stripMarkup(words: string): string {
  const plain = cut(words, 2 * BOUNDS.reasonLength).replaceAll(/<[^>]*>/g, " ");
  return cut(plain.replaceAll(/[\s<>]+/g, " ").trim(), BOUNDS.reasonLength);
}

const IPV4 = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g;
const LIKE_IPV6 = /(?<![\w:])(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?![\w:])/gi;

/** IP addresses become "…". */
export function withoutAddresses(words: string): string {
  return words.replaceAll(IPV4, "…").replaceAll(LIKE_IPV6, (like) => (isIPv6(like) ? "…" : like));
}

/** The upstream's words for callers: it may name the address from which it was called. */
export function sanitised(words: string): string {
  return withoutAddresses(stripMarkup(words));
}

/** The runs of a text in any form; a text that is not divided is one run. */
export function runsOf(text: unknown): readonly unknown[] {
  const object = asObject(text);
  const runs = asArray(object?.runs);
  if (runs) return runs;
  const whole = asString(object?.simpleText) ?? asString(object?.content);
  return whole === undefined ? [] : [{ text: whole }];
}

function partOf(run: unknown): Part | undefined {
  const object = asObject(run);
  const emoji = asObject(object?.emoji);
  if (emoji) return emojiPart(emoji);
  const text = asString(object?.text);
  if (!text) return undefined;
  const endpoint = object?.navigationEndpoint;
  const url = endpoint === undefined ? undefined : linkUrl(endpoint);
  return url === undefined ? { kind: "text", text } : { kind: "link", text, url };
}

/** A standard emoji's id is the character itself, a custom one's `<channel>/<name>`. */
function emojiPart(emoji: JsonObject): Part | undefined {
  const id = asString(dig(emoji, "emojiId")) ?? "";
  const custom = dig(emoji, "isCustomEmoji") === true || /^UC[\w-]+\//.test(id);
  const shortcut = asArray(dig(emoji, "shortcuts"))?.map(asString).find(Boolean) ?? "";
  const label = labelOf(dig(emoji, "image"));
  const text = custom ? shortcut || label : id || label || shortcut;
  const url = imageUrl(dig(emoji, "image"));
  if (url === undefined) return text === "" ? undefined : { kind: "emoji", text, custom };
  return { kind: "emoji", text, url, custom };
}
