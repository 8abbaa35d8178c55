/**
 * The thread of replies to a paid message. The message and each reply name it in fields of their own, as
 * base64 of binary fields: the number of its field and its length precede the id.
 */
import { asArray, asString, dig, type JsonObject } from "../../base/json.ts";
import { base64Text } from "./base64.ts";
import type { Item } from "./reader.ts";
import { shorten } from "./text.ts";

const [IN_ENTITY_KEY, IN_BUTTON] = ["\x12#", "\n#"] as const;
const ID_LENGTH = 35;
const ID = /^[!-~]{35}$/;

/** The thread of a paid message, by the entity keys of its buttons. */
export function threadBelow(keys: readonly unknown[]): Item["thread"] {
  for (const key of keys) {
    const id = idIn(key, IN_ENTITY_KEY);
    if (id !== undefined) return { id, isReply: false };
  }
  return undefined;
}

/** To whom a message replies, as its button shows it, and in which thread; undefined if it does not reply. */
export function replyIn(item: JsonObject): { author: string; thread: Item["thread"] } | undefined {
  for (const holder of asArray(item.beforeContentButtons) ?? []) {
    const button = dig(holder, "buttonViewModel");
    const panel = dig(button, "onTap", "innertubeCommand", "showEngagementPanelEndpoint");
    if (dig(panel, "identifier", "tag") !== "PAreply_thread") continue;
    const author = shorten(dig(button, "title")).trim();
    const id = idIn(dig(panel, "globalConfiguration", "params"), IN_BUTTON);
    if (author !== "") return { author, thread: id === undefined ? undefined : { id, isReply: true } };
  }
  return undefined;
}

function idIn(encoded: unknown, before: string): string | undefined {
  const [, ...fields] = base64Text(asString(encoded) ?? "").split(before);
  return fields.map((field) => field.slice(0, ID_LENGTH)).find((id) => ID.test(id));
}
