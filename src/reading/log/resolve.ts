/**
 * What the items of an answer are to one room. An answer may be read again at any time (after a re-bootstrap, a
 * restart, an append of unknown outcome), and must then come out as it did before: so it is judged by what the room
 * holds, with its content, just before the append.
 */
import type { Message } from "../../protocol/message.ts";
import { isBlank } from "../../store/blanking.ts";
import { type GiftMemory, giftIds, joinGifts } from "../../upstream/readers/gifts.ts";
import type { Item } from "../../upstream/readers/reader.ts";
import { type HeldMessage, type HeldReplacements, Replacements } from "./replacements.ts";

/**
 * The authors all of whose messages were deleted, the longest known first; with each, the first message of theirs that
 * the room was given since, or null.
 */
type AuthorDeletions = ReadonlyMap<string, string | null>;

/** What a room must remember of what it read. Stored with the position, so that it outlives a restart. */
export interface ReadMemory {
  deletions: AuthorDeletions;
  gifts: GiftMemory;
}

/** The messages, and the memory as it is once they are in the room. */
export interface Resolved extends ReadMemory {
  messages: readonly Message[];
}

/** Beyond these the longest known are forgotten: another deletion of such an author then counts as a repeated one. */
const MAX_AUTHORS = 500;

/** The ids of which `resolve` must know what the room holds under them. */
export function idsToLookUp(items: readonly Item[], { deletions, gifts }: ReadMemory): string[] {
  const isAboutDeletions = items.some(
    ({ message }) => message.type === "author_deleted" || deletions.has(authorOf(message) ?? ""),
  );
  const ids = items.flatMap(({ message, replaces }) => [
    ...(replaces ? [replaces.id, replaces.as.id] : []),
    ...(isAboutDeletions ? [message.id] : []),
  ]);
  return [...new Set([...ids, ...giftIds(items, gifts)])];
}

/**
 * The messages of the items, one for one, in their order. What replaces a message that the room holds, or that stands
 * earlier among the items, is `replaced`; any other replacement is a new item. A deletion of an author's messages is
 * the same message each time it is read, and another one where the author has said something since. Both forms of a gift
 * are one message. `now`: milliseconds since 1970.
 */
export function resolve(
  read: readonly Item[],
  held: ReadonlyMap<string, HeldMessage>,
  heldReplacements: HeldReplacements,
  memory: ReadMemory,
  now: number,
): Resolved {
  const { items, memory: gifts } = joinGifts(read, held, memory.gifts, now);
  const replacements = new Replacements(items, heldReplacements);
  const known = new Map(held);
  const authors = new Map(memory.deletions);
  /** A deletion that stands before what the author has said since is the earlier one, read again. */
  const isReadAgain = (author: string, i: number) => {
    const since = authors.get(author);
    if (!since || !held.has(since)) return false;
    return (
      i < items.findLastIndex(({ message, replaces }) => message.id === since || replaces?.as.id === since)
    );
  };
  const messageAt = (i: number, { message, replaces }: Item): Message => {
    const before = replaces && known.get(replaces.id);
    if (!before) return message;
    const event = isBlank(before) ? undefined : replacements.eventAt(i, replaces, before); // what is blank stays so
    return event ?? { ...message, id: replaces.id };
  };
  const messages = items.map((item, i) => {
    const message = messageAt(i, item);
    const author = authorOf(message);
    if (author !== undefined && authors.get(author) === null && !known.has(message.id)) {
      authors.set(author, message.id);
    }
    if (!known.has(message.id)) known.set(message.id, message);
    if (message.type !== "author_deleted" || isReadAgain(message.details.target.authorId, i)) return message;
    return deletionOf(message, authors);
  });
  for (const author of authors.keys()) {
    if (authors.size <= MAX_AUTHORS) break;
    authors.delete(author);
  }
  return { messages, deletions: authors, gifts };
}

function authorOf({ details }: Message): string | undefined {
  return "authorId" in details ? details.authorId : undefined;
}

/** Notes the deletion in `authors`. Where the author has said something since the last one, it is a message of its own. */
function deletionOf(
  message: Message & { type: "author_deleted" },
  authors: Map<string, string | null>,
): Message {
  const { authorId } = message.details.target;
  const since = authors.get(authorId);
  authors.delete(authorId); // the newest stands last
  authors.set(authorId, null);
  return since ? { ...message, id: `${message.id}:${since}` } : message;
}
