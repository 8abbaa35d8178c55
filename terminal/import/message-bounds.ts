/** The bounds of an imported message. They are those of messages that are read from the upstream. */
import { asArray, asObject, asString } from "../../src/base/json.ts";
import type { Message } from "../../src/protocol/message.ts";
import { BOUNDS } from "../../src/upstream/bounds.ts";
import { usableId } from "../../src/upstream/readers/event.ts";
import { BrokenItem } from "../../src/upstream/readers/reader.ts";
import { webUrl } from "../../src/upstream/readers/url.ts";

/** Text and parts, the URLs of the parts, and as much again for the details. */
const MAX_JSON_LENGTH = 2 * BOUNDS.messageLength * (2 + BOUNDS.urlLengthPerText);
const WORDS = ["timestamp", "author", "amount"] as const;
const COLOR = /^(?:#[\da-f]{6})?$/;
/** The names of fields that clients use as addresses. */
const URLS: ReadonlySet<string> = new Set(["url", "authorPhoto"]);

/** Whether the message could have been read from the upstream. */
export function isWithinBounds(message: Message): boolean {
  return (
    hasUsableId(message) &&
    WORDS.every((name) => message[name].length <= BOUNDS.wordsLength) &&
    COLOR.test(message.color) &&
    message.message.length <= BOUNDS.messageLength &&
    message.parts.length <= BOUNDS.parts &&
    JSON.stringify(message).length <= MAX_JSON_LENGTH &&
    hasOnlyWebUrls(message)
  );
}

function hasUsableId({ id }: Message): boolean {
  try {
    return usableId(id) === id;
  } catch (error) {
    if (error instanceof BrokenItem) return false;
    throw error;
  }
}

/** `value` is not nested deeply: it has been written as JSON. */
function hasOnlyWebUrls(value: unknown): boolean {
  const items = asArray(value);
  if (items) return items.every(hasOnlyWebUrls);
  return Object.entries(asObject(value) ?? {}).every(([name, field]) =>
    URLS.has(name) && asString(field) !== undefined ? webUrl(field) === field : hasOnlyWebUrls(field),
  );
}
