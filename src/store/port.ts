/**
 * The durable log of every room. The poller may only append, rooms may only follow; so nothing reaches a viewer that is
 * not durable. Every implementation passes the same contract suite. Who may append is in `ownership.ts`.
 */
import type { RoomEnd } from "../protocol/chat.ts";
import type { EncodedMessage, StoredMessage } from "./stored-message.ts";

/** A room as the store holds it. Kept are the cursors from `floor` (exclusive) to `head` (inclusive). */
export interface RoomRecord {
  videoId: string;
  /** Where the room's cursors began: the first message ever had `base + 1`. From the clock, at the room's birth. */
  base: number;
  floor: number;
  head: number;
  /** Where the poller stands, as JSON text that only the poller reads. */
  checkpoint: string;
  /** How long ago the last append was, in milliseconds, by the store's clock. */
  readAgoMs: number;
  /** Null while the room is open. */
  end: RoomEnd | null;
  /** How long ago it ended, in milliseconds, by the store's clock. */
  endedAgoMs: number | null;
}

/** What a list of rooms shows of one. Times are wall milliseconds. */
export interface RoomSummary extends Pick<RoomRecord, "videoId" | "floor" | "head" | "end" | "readAgoMs"> {
  /** When the oldest and the newest of the messages that are kept were stored; null where there is none. */
  firstAt: number | null;
  lastAt: number | null;
  /** How many of the messages that are kept are of type `gap`. */
  gaps: number;
}

/** Names the owner of a room in each write. One under an epoch that is no longer the room's is refused. */
export interface Claim {
  videoId: string;
  epoch: number;
}

/** Which messages of a room are searched for: those whose ids begin so, or those of an author. */
export type MessageSearch = { idPrefix: string } | { authorId: string };

export interface Store {
  /**
   * Appends in order, under cursors `expectedHead + 1`, `+ 2`, …, what the room does not hold yet (by id), and
   * moves the checkpoint in the same commit. The first one makes a room that does not exist yet, with its base at
   * `expectedHead`, and opens one that has ended. Durable when it resolves; resolves to what was added, which
   * may be nothing. Rejects with `StoreError` "fenced" (nothing stored: epoch or head has moved, or the claim has ended
   * with the room) or "unavailable" (outcome unknown: read the room, then append the same again). Text is kept
   * as it is, but for lone surrogates, which may become U+FFFD. `overwriting`: what the room holds under their ids is
   * these from the same commit on, under the cursors that it has; what it does not hold is left out. Followers that
   * were given the former text are not told.
   */
  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting?: readonly EncodedMessage[],
  ): Promise<StoredMessage[]>;

  /**
   * Closes the room until the next owner's first append. The claim ends with it. Rejects as `append` does; finishing
   * twice is "fenced", so after an unknown outcome the room tells whether it is finished.
   */
  finish(claim: Claim, end: RoomEnd): Promise<void>;

  /** At most `limit` messages after cursor `after`, in order; starts at the floor where `after` lies below it. */
  read(videoId: string, after: number, limit: number): Promise<StoredMessage[]>;

  /** Those of the ids that the room holds, with what it holds under them, in no order. */
  messagesById(videoId: string, ids: readonly string[]): Promise<StoredMessage[]>;

  /** All that is found, in no order. An author is whom the details name as `authorId`. */
  find(videoId: string, by: MessageSearch): Promise<StoredMessage[]>;

  getRoom(videoId: string): Promise<RoomRecord | undefined>;

  /** At most `limit` rooms, those that were read last first. */
  listRooms(limit: number): Promise<RoomSummary[]>;

  /**
   * Everything after cursor `after`, in batches, as it becomes durable: consecutive cursors without a gap; the
   * last value is the room's end, if it ends, even where it is claimed again at once. Waits while there is
   * nothing, and while the store is unavailable. Returns when the signal aborts or the store is closed.
   * Rejects where the next message was pruned: `after` must not lie below the floor. Many may follow one
   * room; they are given the same arrays, which nobody may change.
   */
  follow(videoId: string, after: number, signal: AbortSignal): AsyncIterable<StoredMessage[] | RoomEnd>;

  /** Writes what changes nothing. Rejects with `StoreError` "unavailable" if the store does not take it. */
  probeWrite(): Promise<void>;

  /** Roughly what the store takes up, in bytes. */
  sizeBytes(): Promise<number>;

  /** Waits for what was begun, then lets go of everything; every later call is "unavailable". */
  close(): Promise<void>;
}

export interface Retention {
  /**
   * One bounded step of deleting what was stored longer ago than `keptMs` (by the store's clock), in one commit: rooms
   * that were finished before then, the longest finished first, each from its oldest message on and gone with its last;
   * once there is none left, the oldest messages of all other rooms, in the order of their commits. A message whose time
   * lies ahead of the clock was stored while the clock was wrong: it goes with the next one after it. Floors rise with
   * what is deleted. What takers that died left of rooms that were never read goes too, also where all is kept
   * (`keptMs` infinite). Resolves to the number of entries deleted, `limit` at most: messages, and rooms that held none.
   * Fewer than `limit` means done.
   */
  prune(keptMs: number, limit: number): Promise<number>;
}

/** For a store that was restored from a backup: clients may hold cursors that it has not given out yet. */
export interface Restoration {
  /**
   * Moves each room that was born before now to cursors that nobody can hold, in one commit: base to the clock's
   * milliseconds, or just above the head where that is later; floor, head and messages by as much. Epochs move too.
   * To be called before any room is taken or followed. Resolves to the number of rooms moved.
   */
  moveCursors(): Promise<number>;
}

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly kind: "fenced" | "unavailable";

  constructor(kind: StoreError["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Why a store is refused that a migration has not filled to its end. */
export const HALF_FILLED = "is incomplete: let livechat-relay migrate-store finish, or use another store";

/** Why a migration does not begin. */
export const NOT_EMPTY = (place: string) => `${place} already contains rooms: use an empty store`;

/** Whether a write was refused because the room has another owner, another head, or is finished. */
export function isFenced(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "fenced";
}

/** Whether the store failed for a while, so that the same may be tried again. */
export function isUnavailable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "unavailable";
}
