/**
 * Distinguishes a notice that is really sent again (slow mode on, off, on) from one that is only repeated.
 * The upstream's id of a notice is new whenever a page shows it, so a page's notice is known by its text;
 * that of a poll is new if its id is. The room counts the notices of one text: the stored ones are the count,
 * and commit with the memory of their ids.
 */
import type { Details } from "../../protocol/kinds.ts";
import type { Message } from "../../protocol/message.ts";
import type { Item } from "../../upstream/readers/reader.ts";

/** The id of the message for each id of the upstream, or `ON_PAGE`; the newest is last. */
export type NoticeIds = ReadonlyMap<string, string>;

/** By the id of the first notice of a text: all of that text that the room holds. */
export type HeldNotices = ReadonlyMap<string, readonly Message[]>;

/** For the id of a page: an answer to a poll may bring the same notice under another id. */
const ON_PAGE = "";
/** A live answer that is read again has about this many messages at most. */
const MAX_IDS = 200;

/** The texts whose notices must be queried, as the id of the first notice of each. */
export function noticesToQuery(items: readonly Item[], memory: NoticeIds): string[] {
  const texts = items.flatMap(({ message, noticeId = "", isKnownByText }) =>
    noticeId === "" || isKnownByText || memory.has(noticeId) ? [] : [message.id],
  );
  return [...new Set(texts)];
}

/** The notices of a room, while an answer is read. */
export class NoticesRead {
  readonly #ids: Map<string, string>;
  readonly #all: Map<string, Message[]>;

  constructor(memory: NoticeIds, held: HeldNotices) {
    this.#ids = new Map(memory);
    this.#all = new Map([...held].map(([text, notices]) => [text, [...notices]]));
  }

  /** The item's message; a notice gets the id that it has in the room. */
  read(message: Message, item: Item): Message {
    const { noticeId } = item;
    if (noticeId === undefined) return message;
    const same = this.#all.getOrInsertComputed(message.id, () => []);
    const remembered = this.#ids.get(noticeId);
    const isKnownByText = item.isKnownByText || remembered === ON_PAGE;
    const again = remembered || same.find((notice) => this.#isSaidWith(notice, message))?.id;
    const notice = { ...message, id: again ?? (isKnownByText ? message.id : nextId(message.id, same)) };
    this.#ids.delete(noticeId); // the newest is last
    this.#ids.set(noticeId, isKnownByText && !remembered ? ON_PAGE : notice.id);
    same.push(notice);
    return notice;
  }

  get memory(): NoticeIds {
    return new Map([...this.#ids].slice(-MAX_IDS));
  }

  /**
   * Whether the message is this notice of the room, by its time: if only a page showed the notice, or if the
   * id under which an answer to a poll brought it is forgotten. Otherwise two ids are two notices.
   */
  #isSaidWith(notice: Message, message: Message): boolean {
    return areSaidAtOnce(notice, message) && !this.#ids.values().some((id) => id === notice.id);
  }
}

/** Whether both were said at the same time: the upstream's, or that of the video after its beginning. */
function areSaidAtOnce(one: Message, other: Message): boolean {
  const [a, b]: Details[] = [one.details, other.details];
  if (a?.publishedAt !== undefined && a.publishedAt === b?.publishedAt) return true;
  return (a?.offsetMs ?? 0) > 0 && a?.offsetMs === b?.offsetMs;
}

/** `first`, `first:2`, `first:3` and so on. */
function nextId(first: string, held: readonly Message[]): string {
  const count = held.reduce((most, { id }) => Math.max(most, Number(id.slice(first.length + 1)) || 1), 0);
  return count === 0 ? first : `${first}:${count + 1}`;
}
