/**
 * What a deletion does to what is stored where `RELAY_DELETED` is `blank`: the messages that it is about keep cursor,
 * id, type and times, and nothing of what somebody said, paid or is.
 */
import type { Clock } from "../clock.ts";
import { omitUndefined } from "../json.ts";
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";
import type { MessageSearch } from "./port.ts";
import { decodeMessage, type EncodedMessage, encodeMessage, type StoredMessage } from "./stored-message.ts";

/** What a deletion is about: one message, or all that an author has said before it. */
type Target = { messageId: string } | { authorId: string };

/** What an append writes: of what was read, and in place of what the room holds. */
interface Blanked {
  messages: readonly Message[];
  overwriting: readonly EncodedMessage[];
}

/** The ids of which `blankDeleted` must know whether the room holds them. */
export function deletionIds(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    targetOf(message) ? [message.id] : namesOf(message).map((id) => `deleted:${id}`),
  );
}

/** The place of what the room holds already. */
const BEFORE_ALL = -1;
/** How many searches of the store are under way at once: an answer can hold thousands of deletions. */
const SEARCHES_AT_ONCE = 100;

/** What many deletions are about, asked of each message once. */
export class Deletions {
  readonly #messageIds = new Set<string>();
  /** By author the place of the last deletion of all that they have said. */
  readonly #authors = new Map<string, number>();

  /** Places are numbers that grow in the order of the messages. */
  add(target: Target, place: number): void {
    if ("messageId" in target) this.#messageIds.add(target.messageId);
    else this.#authors.set(target.authorId, Math.max(place, this.#authors.get(target.authorId) ?? place));
  }

  get isEmpty(): boolean {
    return this.#messageIds.size === 0 && this.#authors.size === 0;
  }

  /** Whether they are about a message, which is no deletion. One message is deleted for good, wherever its deletion stands. */
  areAbout(message: Pick<Message, "id" | "details">, place: number): boolean {
    if (namesOf(message).some((id) => this.#messageIds.has(id))) return true;
    const { authorId }: Details = message.details;
    const last = authorId === undefined ? undefined : this.#authors.get(authorId);
    return last !== undefined && last > place;
  }

  /** Where the room holds what they are about, beside other messages. */
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
 * The messages without what deletions are about, among themselves and in the room. A deletion that the room holds is
 * only read again: what an author has said since stays. `find` searches the room; others run between its searches.
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
    (namesOf(message).some((id) => held.has(`deleted:${id}`)) || deletions.areAbout(message, place));
  const overwriting = new Map<string, EncodedMessage>();
  const searches = [...deletions.searches()];
  for (let start = 0; start < searches.length; start += SEARCHES_AT_ONCE) {
    if (start > 0) await clock.sleep(0);
    const found = await Promise.all(searches.slice(start, start + SEARCHES_AT_ONCE).map(find));
    for (const stored of found.flat()) {
      const message = decodeMessage(stored);
      if (!targetOf(message) && deletions.areAbout(message, BEFORE_ALL)) {
        overwriting.set(stored.id, encodeMessage(blank(message)));
      }
    }
  }
  return {
    messages: messages.map((message, place) => (isDeleted(message, place) ? blank(message) : message)),
    overwriting: [...overwriting.values()],
  };
}

/** What a stored message deletes; undefined where it is no deletion. */
export function storedTarget(message: StoredMessage): Target | undefined {
  return /^(author_)?deleted:/.test(message.id) ? targetOf(decodeMessage(message)) : undefined;
}

/** The stored message as it is after the deletions, whose places are cursors. */
export function afterDeletions(stored: StoredMessage, deletions: Deletions): StoredMessage {
  const message = decodeMessage(stored);
  const isDeleted = !targetOf(message) && deletions.areAbout(message, stored.cursor);
  return isDeleted ? { ...encodeMessage(blank(message)), cursor: stored.cursor } : stored;
}

/** Whether nothing is left of the message: what comes to replace it is not to be shown either. */
export function isBlank({ author, message, amount, parts }: Omit<Message, "details">): boolean {
  return author === "" && message === "" && amount === "" && parts.length === 0;
}

function targetOf(message: Message): Target | undefined {
  if (message.type === "deleted") return { messageId: message.details.target.messageId };
  if (message.type === "author_deleted") return { authorId: message.details.target.authorId };
  return undefined;
}

/** The message's id, and that of the one which it replaces, pins or goes on with: deleted is what says the same. */
function namesOf({ id, details }: Pick<Message, "id" | "details">): string[] {
  const { target }: Details = details;
  return target?.messageId === undefined ? [id] : [id, target.messageId];
}

/** Of the details stay times and targets, and empty ones where the type needs them. */
function blank({ type, id, timestamp, details }: Message): Message {
  const { publishedAt, offsetMs, target, upstreamKind, sticker, jewels }: Details = details;
  const left = { publishedAt, offsetMs, target, upstreamKind };
  return {
    ...{ type, id, timestamp, author: "", message: "", amount: "", color: "", parts: [] },
    details: omitUndefined<Details>({
      ...left,
      sticker: sticker && { label: "" },
      jewels: jewels && { gift: "" },
    }),
  } as unknown as Message; // the details are of its type, which the compiler cannot follow
}
