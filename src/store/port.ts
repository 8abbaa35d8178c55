/**
 * The durable log of every room, and who owns it. The poller may only append, rooms may only follow; so
 * nothing reaches a viewer that is not durable. Every implementation passes the same contract suite.
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
  /** Where the poller stands, as JSON text that only the poller reads; null before the first append. */
  checkpoint: string | null;
  /** Wall time of the last append, milliseconds since 1970; null before the first. */
  checkpointAt: number | null;
  /** Null while the room is open. */
  end: RoomEnd | null;
  endedAt: number | null;
}

/** What a list of rooms shows of one. Times are wall milliseconds. */
export interface RoomSummary extends Pick<RoomRecord, "videoId" | "floor" | "head" | "end"> {
  /** When the room was last read; null where it never was. */
  readAt: number | null;
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

/** How long a claim is good for. */
export interface Lease {
  /**
   * To be asked when an upstream call goes out. Throws `StoreError`: "fenced" once the room is no longer the caller's,
   * "unavailable" while it cannot be proved that it still is.
   */
  assertHeld(): void;
}

/** A room as its new owner finds it. */
export interface ClaimedRoom extends RoomRecord, Claim {
  /** How the room was over before the claim opened it again; null where it was open, or is new. */
  readonly lastEnd: RoomEnd | null;
  readonly lease: Lease;
}

/**
 * Whoever made a claim and appended nothing under it for so long has died. Anyone can ask for any video, so a room that
 * never held anything is not kept for as long as messages are.
 */
export const UNUSED_CLAIM_MS = 3_600_000;

export interface Store {
  /**
   * Makes the caller the room's owner under a new epoch, or resolves to undefined where another instance owns it. An
   * unknown room is born with base, floor and head at the wall clock's milliseconds; a finished one is open again and
   * goes on with its cursors and its checkpoint. Nothing of that is final before the first append: `abandon` takes it
   * back, and if the process dies instead, neither a newborn room nor a finished one counts as unfinished.
   */
  claim(videoId: string): Promise<ClaimedRoom | undefined>;

  /**
   * Gives a claim up. If nothing was appended under it, the room is what it was before: gone if it never held
   * anything, else with the end that it had, which its followers are given. Rejects as `append` does.
   */
  abandon(claim: Claim): Promise<void>;

  /**
   * Appends in order, under cursors `expectedHead + 1`, `+ 2`, …, what the room does not hold yet (by id), and
   * moves the checkpoint in the same commit. Durable when it resolves; resolves to what was added, which
   * may be nothing. Rejects with `StoreError` "fenced" (nothing stored: epoch or head has moved, or the room
   * is finished) or "unavailable" (outcome unknown: read the room, then append the same again). Text is kept
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
   * Closes the room for good or until the next claim. Rejects as `append` does; finishing twice is "fenced", so
   * after an unknown outcome the room tells whether it is finished.
   */
  finish(claim: Claim, end: RoomEnd): Promise<void>;

  /** At most `limit` messages after cursor `after`, in order; starts at the floor where `after` lies below it. */
  read(videoId: string, after: number, limit: number): Promise<StoredMessage[]>;

  /** Those of the ids that the room holds, with what it holds under them, in no order. */
  messagesById(videoId: string, ids: readonly string[]): Promise<StoredMessage[]>;

  /** All that is found, in no order. An author is whom the details name as `authorId`. */
  find(videoId: string, by: MessageSearch): Promise<StoredMessage[]>;

  getRoom(videoId: string): Promise<RoomRecord | undefined>;

  /** Open rooms whose checkpoint is not older than `since` (wall milliseconds): what a restart takes up. */
  unfinishedRooms(since: number): Promise<RoomRecord[]>;

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
   * One bounded step of deleting what was stored before `before` (wall milliseconds), in one commit: rooms that
   * were finished before then, the longest finished first, each from its oldest message on and gone with its last;
   * once there is none left, the oldest messages of all other rooms, in the order of their commits. A message whose time
   * lies ahead of the clock was stored while the clock was wrong: it goes with the next one after it. Floors rise with what is deleted. Rooms that never
   * held anything and were claimed `UNUSED_CLAIM_MS` ago go too. Resolves to the number of entries deleted, `limit` at
   * most: messages, and rooms that held none. Fewer than `limit` means done.
   */
  prune(before: number, limit: number): Promise<number>;
}

/** For a store that was restored from a backup: clients may hold cursors that it has not given out yet. */
export interface Restoration {
  /**
   * Moves each room that was born before now to cursors that nobody can hold, in one commit: base to the wall clock's
   * milliseconds, or just above the head where that is later; floor, head and messages by as much. Epochs move too.
   * To be called before any room is claimed or followed. Resolves to the number of rooms moved.
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
export const HALF_FILLED =
  "is half filled: run livechat-relay migrate-store to its end, or name another store";

/** Why a migration does not begin. */
export const NOT_EMPTY = (place: string) => `${place} holds rooms already: name an empty store`;

/** Whether a write was refused because the room has another owner, another head, or is finished. */
export function isFenced(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "fenced";
}

/** Whether the store failed for a while, so that the same may be tried again. */
export function isUnavailable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "unavailable";
}
