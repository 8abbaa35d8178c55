/**
 * The durable log of every room. The poller can only append and rooms can only follow, so every message that
 * reaches a viewer is durable. Every store passes the same contract suite. `ownership.ts` decides who may
 * append.
 */
import type { FactName, RoomEnd } from "../protocol/chat.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import type { AuthorSearch, Span } from "./author-blocks.ts";
import type { TimeKind } from "./message-times.ts";
import type { EncodedMessage, StoredMessage } from "./stored-message.ts";
import type { Totals } from "./totals.ts";

/** A stored room. It keeps the messages with cursors from `floor` (exclusive) to `head` (inclusive). */
export interface RoomRecord {
  key: ChatKey;
  /**
   * The cursor before the room's first message ever, which had `base + 1`. From the clock when the room was
   * created.
   */
  base: number;
  floor: number;
  head: number;
  /** The poller's state, as JSON text (`checkpoint.ts`). The store reads only its `absence` (`facts.ts`). */
  checkpoint: string;
  /** The time since the last append, in milliseconds, by the store's clock. */
  readAgoMs: number;
  /** Null while the room is open. */
  end: RoomEnd | null;
  /** The time since the room ended, in milliseconds, by the store's clock. */
  endedAgoMs: number | null;
  /** What the video is, as `stored-video.ts` has it; null before a page has said it. */
  video: string | null;
}

/** A featured message, and when it was chosen, in wall milliseconds. */
export interface Featured {
  message: EncodedMessage;
  at: number;
}

interface Facts {
  /** The featured message; undefined if there is none. */
  featured: Featured | undefined;
  /** Why the room waits for its chat: a sentence without a full stop; undefined while it does not. */
  standing: string | undefined;
}

/** A fact, by its name. */
export type Fact = { [Name in FactName]: { name: Name; value: Facts[Name] } }[FactName];

/** The maximum number of messages in one read of the store: its answer must not block the event loop. */
export const READ_MESSAGES = 500;

/**
 * Maximum stored messages that one question examines if no index finds them: a page of history, a backfill
 * whose filter needs more than the type. The activity of a room counts this many.
 */
export const EXAMINED_MESSAGES = 20_000;

/** One room in a list of rooms. Times are wall milliseconds. */
export interface RoomSummary
  extends Pick<RoomRecord, "key" | "floor" | "head" | "end" | "readAgoMs" | "video"> {
  /** The times at which the oldest and the newest kept message were stored; null if there is none. */
  firstAt: number | null;
  lastAt: number | null;
  /** The number of kept messages of type `gap`. */
  gaps: number;
  /** Whether the retention leaves the room out. */
  isKept: boolean;
}

/** One room with its totals. */
export interface RoomAccount extends RoomSummary {
  totals: Totals;
  /** The number of kept messages that are not in the totals yet: always the newest. */
  uncounted: number;
}

/** The owner of a room, as each write names it. The store refuses a write with an outdated epoch. */
export interface Claim {
  key: ChatKey;
  epoch: number;
}

/** The message that was chosen last to be featured in a chat, and when, in wall milliseconds. */
export interface FeaturedChoice {
  messageId: string;
  at: number;
}

/** A part of a room's log: the messages of some types after cursor `after` up to `to`. */
export interface TypedPart {
  /** All but `chat`, which no index finds. */
  types: readonly string[];
  after: number;
  to: number;
  limit: number;
  /** Whether the last ones count if there are more than `limit`; otherwise the first ones do. */
  isNewest: boolean;
}

/** A search for messages of a room: by the prefix of their ids, or by their author. */
export type MessageSearch = { idPrefix: string } | { authorId: string };

/**
 * Stored rows are read strictly: a damaged message is a `gap` under its cursor and its id, a room with a
 * damaged end has failed, and nothing else is affected.
 */
export interface Store {
  /**
   * Appends the messages that the room does not have yet (by id), in order, with the cursors `expectedHead +
   * 1`, `+ 2`, …, and sets the checkpoint in the same commit. The first append creates a room that does not
   * exist yet, with its base at `expectedHead`, and reopens one that has ended. Resolves once it is durable,
   * to the added messages, which may be none. Rejects with `StoreError` "fenced" (nothing stored: epoch or
   * head has changed, or the claim ended with the room) or "unavailable" (outcome unknown: read the room,
   * then append the same again). Text is kept as it is, except that lone surrogates may become U+FFFD.
   *
   * `overwriting`: new versions of stored messages, written in the same commit under the cursors that these
   * have. Ids that the room does not have are skipped. Followers that already got the old version are not
   * notified.
   */
  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting?: readonly EncodedMessage[],
  ): Promise<StoredMessage[]>;

  /**
   * Closes the room until the next owner's first append. The claim ends with it. A release only frees the
   * room while another instance has viewers of it. Rejects as `append` does. Finishing twice is "fenced", so
   * after an unknown outcome, read the room to see whether it is finished.
   */
  finish(claim: Claim, end: RoomEnd): Promise<void>;

  /** At most `limit` messages after cursor `after`, in order. Starts at the floor if `after` is below it. */
  read(key: ChatKey, after: number, limit: number): Promise<StoredMessage[]>;

  /**
   * At most `limit` messages of some types, in order. An index finds them, so the call costs what it returns,
   * however far apart they are. A damaged message whose type is lost is found as a `gap`.
   */
  readTypes(key: ChatKey, part: TypedPart): Promise<StoredMessage[]>;

  /**
   * The next place at which a search must read for the messages of an author, and for gaps: there are none in
   * the part of the search before it (after it, with `isNewest`). At most a block of messages, or all that
   * no index has yet; an empty place if the store has looked at enough. Continue the search behind it. Only a
   * message that was damaged since it was indexed may be missing.
   */
  placeOfAuthor(key: ChatKey, search: AuthorSearch): Promise<Span>;

  /**
   * The last cursor before the first message that was stored at or after a time, in wall milliseconds: the
   * floor if that is the oldest message, the head if there is none. Undefined if the room does not exist. A
   * binary search, so it assumes that later messages were stored later. If the store's clock was set back,
   * several places may fit a time: the result is one of them. `kind`: "said" and "offset" find, in the same
   * way, the first message that was said at or after a time, or at or after a place in the video.
   */
  cursorAt(key: ChatKey, time: number, kind?: TimeKind): Promise<number | undefined>;

  /** The stored messages with these ids, in any order. */
  messagesById(key: ChatKey, ids: readonly string[]): Promise<StoredMessage[]>;

  /**
   * All matching messages, in any order. The author is `authorId` in the details. Damaged messages that may
   * be of the author are found, too; in PostgreSQL only if their details still contain the id.
   */
  find(key: ChatKey, by: MessageSearch): Promise<StoredMessage[]>;

  getRoom(key: ChatKey): Promise<RoomRecord | undefined>;

  /** The names of the room's channel, as `setChannels` has written them; none if they are not known. */
  getChannels(key: ChatKey): Promise<string[]>;

  /** Remembers the names of the room's channel, which have no spaces. Without effect if there is no room. */
  setChannels(key: ChatKey, names: readonly string[]): Promise<void>;

  /**
   * Whether a room's video belongs to this channel, as `setChannels` or `setVideo` has said. `channel`: as
   * `parseChannel` returns it.
   */
  hasChannel(channel: string): Promise<boolean>;

  /** Sets `RoomRecord.video`. Without effect if there is no room. */
  setVideo(key: ChatKey, video: string): Promise<void>;

  /**
   * From now on, the retention leaves this room out; a limit of the store's size does not. Without effect if
   * there is no room.
   */
  keep(key: ChatKey): Promise<void>;

  /**
   * What `setFeatured` has chosen last in the chat, whatever has become of the message; undefined if that is
   * nothing.
   */
  getFeatured(key: ChatKey): Promise<FeaturedChoice | undefined>;

  /**
   * Chooses the message of the chat that is featured from now on; null chooses none. Without effect on a
   * chat that has no room.
   */
  setFeatured(key: ChatKey, messageId: string | null): Promise<void>;

  /**
   * Yields the fact of the chat, then each change. Rejects with `StoreError` "unavailable" if the first read
   * fails, and waits for the store later. Returns when the signal aborts.
   */
  fact(key: ChatKey, name: FactName, signal: AbortSignal): AsyncIterable<Fact>;

  /** Reports to all instances that a fact of the chat may have changed, by a write that is durable. */
  factChanged(key: ChatKey, name: FactName): void;

  /** At most `limit` rooms, those read most recently first. */
  listRooms(limit: number): Promise<RoomSummary[]>;

  /** The room, with the totals that were counted until now; see `Tallying`. Undefined if it is not stored. */
  getAccount(key: ChatKey): Promise<RoomAccount | undefined>;

  /**
   * Yields all messages after cursor `after`, in batches, as they become durable: consecutive cursors without
   * a gap. If the room ends, the last value is its end, even if it has another owner at once. Waits while
   * there is nothing new, and while the store is unavailable. Returns when the signal aborts or the store is
   * closed. Rejects if the next message was pruned, so `after` must not be below the floor, and may reject if
   * nobody has ever taken the room, or if its messages are gone or replaced. All followers of a room get the
   * same arrays, which must not be changed.
   */
  follow(key: ChatKey, after: number, signal: AbortSignal): AsyncIterable<StoredMessage[] | RoomEnd>;

  /**
   * Writes without changing anything. Rejects with `StoreError` "unavailable" if the store does not accept
   * it, or if less than `spareBytes` are free on a disk that is the store's own to fill.
   */
  probeWrite(spareBytes: number): Promise<void>;

  /** The approximate size of the store, in bytes. */
  sizeBytes(): Promise<number>;

  /**
   * Waits for a limited time for operations that have begun, then releases everything. Every later call is
   * "unavailable".
   */
  close(): Promise<void>;
}

export interface Retention {
  /**
   * The store's clock (wall milliseconds), and when the oldest data was stored that `prune` may delete;
   * Infinity without such data.
   */
  age(): Promise<{ now: number; oldestAt: number }>;

  /**
   * Deletes data that was stored longer ago than `keptMs`, in one bounded step and one commit. First come
   * rooms that were finished before that time, the earliest first, and open rooms that nobody has owned or
   * read since. Each loses its oldest messages first, and is deleted with its last. Then come the oldest
   * messages of all other rooms, in the order of their commits. Rooms that are kept (`Store.keep`) are left
   * out. A message with a time in the future was stored while the clock was wrong: it is deleted together
   * with the next one after it. Floors rise accordingly. Rooms that were taken but never read, by an instance
   * that died, are deleted too, even if everything is kept (`keptMs` infinite).
   *
   * Resolves to the number of deleted entries: messages, and rooms without messages; at most `limit`. Fewer
   * than `limit` means that nothing is left to delete, or that another instance deletes now. `now`: the
   * store's time, from `age`, once somebody has checked it; by default that of the call.
   */
  prune(keptMs: number, limit: number, now?: number): Promise<number>;
}

/** For a limit of the store's size: which rooms go first. */
export interface SizeLimited {
  /**
   * The bytes that the store's contents take, without the space that deleted messages have left, which is
   * used again. An estimate in PostgreSQL.
   */
  usedBytes(): Promise<number>;

  /**
   * Deletes the oldest messages of one room, in one bounded step and one commit, as `prune` does: of the room
   * that finished first, or else of the open room that was created first. Rooms that a recording names, by
   * their video or by their channel, come after all others: `recorded` has the names that the store's list
   * of recordings does not have. Messages of the last `keptMs`, and a room that finished since, stay
   * (by the store's clock); a room that finished later than `keptMs` from now does not, as the clock is wrong
   * or was. An open room loses no more than its messages.
   *
   * Resolves to the number of deleted entries, as `prune` does; 0 if nothing may be deleted now.
   */
  pruneRooms(recorded: readonly string[], keptMs: number, limit: number): Promise<number>;
}

/**
 * Counts stored messages into the totals of their rooms, in the order of their cursors, each once: the totals
 * and the cursor up to which they count are one commit. Appends do not wait for it: counted in their commits,
 * 50 rooms' appends take 1.5 to 2 times as long in SQLite and in PostgreSQL. Pruning counts what it is
 * about to delete, and the totals are deleted with their room.
 */
export interface Tallying {
  /** Counts the next messages of a room, at most `limit`. Resolves to the number that is left. */
  tally(key: ChatKey, limit: number): Promise<number>;

  /**
   * One bounded step through the rooms after key `after`, in byte order: looks at no more than `limit`
   * rooms, and counts about as many messages. Resolves to the key after which to continue; undefined at
   * the end.
   */
  tallyRooms(after: ChatKey, limit: number): Promise<ChatKey | undefined>;
}

/**
 * For a store restored from a backup. Clients may hold cursors that the restored store has not assigned yet.
 */
export interface Restoration {
  /**
   * Moves each room that was not created just now to cursors that no client can hold, each in one commit. The
   * base becomes the clock's milliseconds, or the cursor after the head if that is higher; if the clock is
   * before the room's beginning or its last message, a cursor far after the head. Floor, head and messages
   * move by the same amount. Epochs change too. Call it before any room is taken or followed.
   * Resolves to the number of moved rooms. Rejects with the reason of `stopped` if that aborts before a store
   * that moves rooms one after another is done: call it again at the next start.
   */
  moveCursors(stopped?: AbortSignal): Promise<number>;
}

/**
 * How far `Restoration.moveCursors` moves a room beyond its head if the clock is before the room's beginning
 * or its last message. Then the clock does not measure how many cursors clients hold. This is more than the
 * messages of any chat between a backup and its restore.
 */
export const UNHELD = 10_000_000_000;

/** The kinds of stores, by the URLs that name them. `open.ts` opens each. */
const FORMS = {
  memory: /^memory:$/,
  /** `:memory:` would be SQLite's own name for a store in memory, not a file. */
  file: /^sqlite:(?!:memory:$)(.+)$/s,
  /** Several instances can share it. */
  shared: /^postgres(?:ql)?:\/\//,
} as const;

type StoreKind = keyof typeof FORMS;

/** The kind of the store that a URL names; undefined for any other text. */
export function storeKind(url: string): StoreKind | undefined {
  const kinds = Object.keys(FORMS) as StoreKind[];
  return kinds.find((kind) => FORMS[kind].test(url));
}

/** The path in `sqlite:<path>`; undefined for any other URL. */
export function filePath(url: string): string | undefined {
  return FORMS.file.exec(url)?.[1];
}
