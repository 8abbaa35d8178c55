/**
 * Removes deleted content from the store if `RELAY_DELETED` is `blank`. The messages that a deletion targets
 * keep cursor, id, type and times; their text, amount and author are removed. In place of a damaged message
 * that may be one of them, the store gets the gap as which it is read.
 */
import type { Clock } from "../base/clock.ts";
import { omitUndefined } from "../base/json.ts";
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";
import type { MessageSearch } from "./port.ts";
import { decodeMessage, type EncodedMessage, encodeMessage, type StoredMessage } from "./stored-message.ts";
import { isInPlace } from "./strict-rows.ts";

/** The target of a deletion: one message, or all earlier messages of an author. */
type Target = { messageId: string } | { authorId: string };

/** The input of an append: the new messages, and the new versions of stored messages. */
interface Blanked {
  messages: readonly Message[];
  overwriting: readonly EncodedMessage[];
}

/** The ids that `blankDeleted` queries in the store. */
export function deletionIds(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    targetOf(message) ? [message.id] : idsOf(message).map((id) => `deleted:${id}`),
  );
}

/** The place of all stored messages: before those of the batch. */
const BEFORE_ALL = -1;
/** The maximum number of concurrent searches of the store; an answer can contain thousands of deletions. */
const SEARCHES_AT_ONCE = 100;

/** The targets of many deletions, so that each message is checked only once. */
export class Deletions {
  readonly #messageIds = new Set<string>();
  /** By author: the place of the last deletion of all their messages. */
  readonly #authors = new Map<string, number>();

  /** A place is a number that grows in the order of the messages. */
  add(target: Target, place: number): void {
    if ("messageId" in target) this.#messageIds.add(target.messageId);
    else this.#authors.set(target.authorId, Math.max(place, this.#authors.get(target.authorId) ?? place));
  }

  get isEmpty(): boolean {
    return this.#messageIds.size === 0 && this.#authors.size === 0;
  }

  /**
   * Whether a deletion targets the message, which must not be a deletion itself. The deletion of one message
   * applies wherever it is; the deletion of an author applies to earlier messages only.
   */
  affect(message: Pick<Message, "id" | "details">, place: number): boolean {
    if (idsOf(message).some((id) => this.#messageIds.has(id))) return true;
    const { authorId }: Details = message.details;
    const last = authorId === undefined ? undefined : this.#authors.get(authorId);
    return last !== undefined && last > place;
  }

  /** The searches that find the stored targets; they also find other messages. */
  *searches(): Iterable<MessageSearch> {
    for (const authorId of this.#authors.keys()) yield { authorId };
    for (const messageId of this.#messageIds) {
      yield { idPrefix: messageId };
      yield { idPrefix: `replaced:${messageId}:` };
    }
    if (this.#messageIds.size > 0) yield { idPrefix: "banner:" };
  }
}

/**
 * Blanks the targets of deletions, both in the batch and in the store. A stored deletion that is read again
 * deletes nothing more of its author. `find` searches the store; other work runs between its searches.
 */
export async function blankDeleted(
  messages: readonly Message[],
  held: { has(id: string): boolean },
  find: (by: MessageSearch) => Promise<readonly StoredMessage[]>,
  clock: Clock,
): Promise<Blanked> {
  const deletions = new Deletions();
  for (const [place, message] of messages.entries()) {
    const target = held.has(message.id) ? undefined : targetOf(message);
    if (target) deletions.add(target, place);
  }
  const isDeleted = (message: Message, place: number) =>
    !targetOf(message) &&
    (idsOf(message).some((id) => held.has(`deleted:${id}`)) || deletions.affect(message, place));
  const overwriting = new Map<string, EncodedMessage>();
  const searches = [...deletions.searches()];
  for (let start = 0; start < searches.length; start += SEARCHES_AT_ONCE) {
    if (start > 0) await clock.sleep(0);
    const found = await Promise.all(searches.slice(start, start + SEARCHES_AT_ONCE).map(find));
    for (const stored of found.flat()) {
      const message = decodeMessage(stored);
      // The row may have the deleted text. Nobody can read it any more, so nothing is lost.
      if (isInPlace(stored)) overwriting.set(stored.id, stored);
      else if (!targetOf(message) && deletions.affect(message, BEFORE_ALL)) {
        overwriting.set(stored.id, encodeMessage(blank(message)));
      }
    }
  }
  return {
    messages: messages.map((message, place) => (isDeleted(message, place) ? blank(message) : message)),
    overwriting: [...overwriting.values()],
  };
}

/** Whether the message is a deletion, by its id. */
export function isDeletion({ id }: EncodedMessage): boolean {
  return /^(author_)?deleted:/.test(id);
}

/** The target of a stored message; undefined if it is not a deletion. */
export function storedTarget(message: StoredMessage): Target | undefined {
  return isDeletion(message) ? targetOf(decodeMessage(message)) : undefined;
}

/** The stored message after these deletions, whose places are cursors. */
export function afterDeletions(stored: StoredMessage, deletions: Deletions): StoredMessage {
  const message = decodeMessage(stored);
  const isDeleted = !targetOf(message) && deletions.affect(message, stored.cursor);
  return isDeleted ? { ...stored, ...encodeMessage(blank(message)) } : stored;
}

function targetOf(message: Message): Target | undefined {
  if (message.type === "deleted") return { messageId: message.details.target.messageId };
  if (message.type === "author_deleted") return { authorId: message.details.target.authorId };
  return undefined;
}

/**
 * The message's id, and the id of the message that it replaces, pins or continues: all of them have the same
 * content.
 */
function idsOf({ id, details }: Pick<Message, "id" | "details">): string[] {
  const { target }: Details = details;
  return target?.messageId === undefined ? [id] : [id, target.messageId];
}

/** Keeps times and targets, and empty details if the type requires them. */
function blank({ type, id, timestamp, details }: Message): Message {
  const { publishedAt, offsetMs, target, upstreamKind, sticker, jewels }: Details = details;
  const left = { publishedAt, offsetMs, target, upstreamKind };
  return {
    type,
    id,
    timestamp,
    author: "",
    message: "",
    amount: "",
    color: "",
    parts: [],
    details: omitUndefined<Details>({
      ...left,
      sticker: sticker && { label: "" },
      jewels: jewels && { gift: "" },
    }),
  } as unknown as Message; // the details match the type, but the compiler cannot infer it
}
