/**
 * Turns an answer's items into messages of one room. An answer may be read again at any time (after a
 * re-bootstrap, a restart, an append of unknown outcome), and must then give the same messages. So the result
 * depends on the room's messages and their contents just before the append.
 */
import { dropOldest } from "../../base/maps.ts";
import type { Message } from "../../protocol/message.ts";
import { isBlank } from "../../store/stored-message.ts";
import { type GiftMemory, giftIds, joinGifts, NO_GIFTS } from "../../upstream/readers/join-gifts.ts";
import type { Item } from "../../upstream/readers/reader.ts";
import { isChatInPlace } from "../gap.ts";
import { type HeldNotices, type NoticeIds, NoticesRead } from "./notices.ts";
import { type HeldMessage, type HeldReplacements, Replacements } from "./replacements.ts";
import { repliedIds, type Threads, ThreadsRead } from "./threads.ts";

/**
 * The authors whose messages were all deleted, the oldest deletion first; each with the id of the author's
 * first message that the room received since, or null.
 */
type AuthorDeletions = ReadonlyMap<string, string | null>;

/** The reading state that a room must remember. Stored with the position, so that it survives a restart. */
export interface ReadMemory {
  deletions: AuthorDeletions;
  gifts: GiftMemory;
  threads: Threads;
  notices: NoticeIds;
}

export const NO_MEMORY: ReadMemory = {
  deletions: new Map(),
  gifts: NO_GIFTS,
  threads: new Map(),
  notices: new Map(),
};

/** The room's stored messages that the items refer to. */
interface HeldOfItems {
  messages: ReadonlyMap<string, HeldMessage>;
  /** The cursors of messages, by id. */
  cursors: ReadonlyMap<string, number>;
  replacements: HeldReplacements;
  notices: HeldNotices;
}

/** The messages, and the memory after they are stored. */
export interface Resolved extends ReadMemory {
  messages: readonly Message[];
}

/**
 * Beyond this number the oldest authors are forgotten; if one of them is deleted again, the deletion counts
 * as repeated.
 */
const MAX_AUTHORS = 500;

/** The ids that `resolve` must query in the room. */
export function idsToQuery(items: readonly Item[], { deletions, gifts, threads }: ReadMemory): string[] {
  const isAboutDeletions = items.some(
    ({ message }) => message.type === "author_deleted" || deletions.has(authorOf(message) ?? ""),
  );
  const ids = items.flatMap(({ message, replaces }) => {
    const since = message.type === "author_deleted" && deletions.get(message.details.target.authorId);
    return [
      ...(replaces ? [replaces.id, replaces.as.id] : []),
      ...(isAboutDeletions ? [message.id] : []),
      ...(since ? [since] : []),
    ];
  });
  return [...new Set([...ids, ...giftIds(items, gifts), ...repliedIds(items, threads)])];
}

/**
 * The messages of the items, one for one, in their order. A replacement of a message in the room, or of an
 * earlier item, is `replaced`; any other replacement is a new item. A deletion of an author's messages is the
 * same message each time it is read, and a new one if the author has written since. Both forms of a gift are
 * one message. `now`: milliseconds since 1970.
 */
export function resolve(
  read: readonly Item[],
  { messages: held, cursors, ...heldOf }: HeldOfItems,
  memory: ReadMemory,
  now: number,
): Resolved {
  const { items, memory: gifts } = joinGifts(read, held, memory.gifts, now);
  const replacements = new Replacements(items, heldOf.replacements);
  const known = new Map(held);
  const authors = new Map(memory.deletions);
  const threads = new ThreadsRead(memory.threads);
  const notices = new NoticesRead(memory.notices, heldOf.notices);
  /**
   * Whether the stored deletion is only being read again: a later item is the author's first message since
   * then, or one stored before that message, which may no longer be shown.
   */
  const isReadAgain = (author: string, i: number) => {
    const since = authors.get(author);
    if (!since || !held.has(since)) return false;
    const sinceAt = cursors.get(since) ?? 0;
    const isEarlier = (item: Item) =>
      isChatInPlace(item) && (cursors.get(item.message.id) ?? Number.POSITIVE_INFINITY) < sinceAt;
    return (
      i <
      items.findLastIndex(
        (item) => item.message.id === since || item.replaces?.as.id === since || isEarlier(item),
      )
    );
  };
  const messageAt = (i: number, { message, replaces }: Item): Message => {
    const before = replaces && known.get(replaces.id);
    if (!before) return message;
    const event = isBlank(before) ? undefined : replacements.eventAt(i, replaces, before); // blank for good
    return event ?? { ...message, id: replaces.id };
  };
  const messages = items.map((item, i) => {
    const message = threads.read(notices.read(messageAt(i, item), item), item, known);
    const author = authorOf(message);
    if (author !== undefined && authors.get(author) === null && !known.has(message.id)) {
      authors.set(author, message.id);
    }
    if (!known.has(message.id)) known.set(message.id, message);
    if (message.type !== "author_deleted" || isReadAgain(message.details.target.authorId, i)) return message;
    return deletionOf(message, authors);
  });
  dropOldest(authors, MAX_AUTHORS);
  return { messages, deletions: authors, gifts, threads: threads.memory, notices: notices.memory };
}

function authorOf({ details }: Message): string | undefined {
  return "authorId" in details ? details.authorId : undefined;
}

/**
 * Records the deletion in `authors`. It is a message of its own if the author has written since the last one.
 */
function deletionOf(
  message: Message & { type: "author_deleted" },
  authors: Map<string, string | null>,
): Message {
  const { authorId } = message.details.target;
  const since = authors.get(authorId);
  authors.delete(authorId); // the newest is last
  authors.set(authorId, null);
  return since ? { ...message, id: `${message.id}:${since}` } : message;
}
