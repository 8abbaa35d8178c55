/**
 * Reads changes to earlier messages: one deleted, all of an author deleted, one replaced. An action without a
 * usable id of its target is broken.
 */

import { dig } from "../../base/json.ts";
import type { Message } from "../../protocol/message.ts";
import { event, shortHash, usableId } from "./event.ts";
import type { Reader } from "./reader.ts";
import { partsOf } from "./text.ts";

export const deleted: Reader = (action, context) => {
  const messageId = usableId(dig(action, "targetItemId"));
  return event(`deleted:${messageId}`, context, {
    type: "deleted",
    parts: partsOf(dig(action, "deletedStateMessage")),
    details: { target: { messageId } },
  });
};

export const authorDeleted: Reader = (action, context) => {
  const authorId = usableId(dig(action, "externalChannelId"));
  return event(`author_deleted:${authorId}`, context, {
    type: "author_deleted",
    parts: partsOf(dig(action, "deletedStateMessage")),
    details: { target: { authorId } },
  });
};

/**
 * Reads the replacement as an item, together with the event for a room that has the original. A placeholder
 * replaces a message that is not visible yet, and gives no message.
 */
export const replaced: Reader = (action, context) => {
  const targetId = usableId(dig(action, "targetItemId"));
  const outcome = context.read(dig(action, "replacementItem"), { id: targetId });
  const { item } = outcome;
  if (typeof item === "string") return outcome;
  const { message } = item;
  const as: Message = {
    ...message,
    type: "replaced",
    id: replacedId(targetId, message),
    details: { ...message.details, target: { messageId: targetId } },
  };
  return { ...outcome, item: { ...item, replaces: { id: targetId, as } } };
};

/** The id of the event that replaces a message's content. The same content gives the same id. */
export function replacedId(targetId: string, content: Omit<Message, "details">): string {
  const { author, amount, color, parts } = content;
  return `replaced:${targetId}:${shortHash(author, amount, color, parts)}`;
}
