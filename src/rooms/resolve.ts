/**
 * What the items of an answer are to one room. An answer may be read again at any time (after a re-bootstrap, a
 * restart, an append of unknown outcome), and must then come out as it did before: so it is judged by what the room
 * holds, with its content, just before the append.
 */
import type { Message } from "../protocol/message.ts";
import { replacedId } from "../upstream/readers/change.ts";
import type { Item } from "../upstream/readers/reader.ts";

/** A message as a room holds it. */
export type HeldMessage = Omit<Message, "details">;

/** The ids of which `resolve` must know what the room holds under them. */
export function idsToLookUp(items: readonly Item[]): string[] {
  return [...new Set(items.flatMap(({ replaces }) => replaces?.id ?? []))];
}

/**
 * The messages of the items, one for one, in their order: what replaces a message that the room holds, or that stands
 * earlier among the items, is `replaced`; any other replacement is a new item.
 */
export function resolve(items: readonly Item[], held: ReadonlyMap<string, HeldMessage>): Message[] {
  const known = new Map(held);
  return items.map(({ message, replaces }) => {
    const before = replaces && known.get(replaces.id);
    // Where the room holds this very content under that id, the item has only been read again.
    const isReplaced = before && replacedId(before.id, before) !== replaces.as.id;
    const taken = isReplaced ? replaces.as : message;
    if (!known.has(taken.id)) known.set(taken.id, taken);
    return taken;
  });
}
