/**
 * The rules of where a connection starts in its room, which `starts.ts` applies to the log: after
 * `Last-Event-ID` if possible, else some messages back. If `init.cursor` differs from its `Last-Event-ID`,
 * the client knows that the messages it missed were deleted, or that its cursor is from another room. A
 * `Last-Event-ID` of 0 asks for everything, so `init.cursor` always differs from it.
 */
import { type ChatType, isReplayChat } from "../protocol/chat.ts";
import type { LogPosition } from "./log-position.ts";
import type { MessageFilter } from "./message-filter.ts";

export const BACKFILL_DEFAULT = 50;
export const BACKFILL_MAX = 500;

/**
 * The cursors of a room: it began at `base` and keeps those from `floor` (exclusive) to `head` (inclusive).
 */
export interface CursorRange {
  base: number;
  floor: number;
  head: number;
}

/**
 * For a viewer without a cursor to resume from: messages up to this cursor are history, of which it gets only
 * its backfill; later ones are sent in full. `none`: nothing is history, so all messages are sent.
 */
export type HistoryEnd = number | "none";

/** Where a connection asks to begin. */
export interface Beginning {
  /** The cursor to resume after. */
  lastEventId: number | undefined;
  /** Undefined if the client named none. */
  backfill: number | undefined;
  /**
   * Without a cursor to resume after, the stream begins with the first message stored at this time or later,
   * in wall milliseconds.
   */
  from?: number | undefined;
  /** By default everything. */
  filter?: MessageFilter;
  /**
   * Set if it reads the chat as a log: from exactly this position, and only up to the first end of the chat.
   * Then `backfill` and `from` mean nothing.
   */
  log?: LogPosition;
}

// [spec] A malformed or negative `Last-Event-ID` is treated as absent (backfill applies).
export function parseCursor(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return undefined;
  const cursor = Number(text);
  return Number.isSafeInteger(cursor) ? cursor : undefined;
}

/**
 * Whether a client with this cursor can go on in a log: the log has given the cursor out, even if it has
 * deleted the messages after it since. 0 asks for everything, and so belongs to each log.
 */
export function belongsTo({ base, head }: Pick<CursorRange, "base" | "head">, cursor?: number): boolean {
  return cursor === 0 || (cursor !== undefined && cursor >= base && cursor <= head);
}

/**
 * Whether a position is beyond all chats that were read. A read that began before the client came may lack
 * the messages before it, because another instance or edge may have given the cursor out since.
 */
export function isAhead(position: LogPosition | undefined, read: readonly { head: number }[]): boolean {
  return typeof position === "number" && read.every(({ head }) => position > head);
}

/**
 * The cursor to resume after; undefined if `lastEventId` is absent or not of this room.
 * Test: "skip nothing silently after a failover that may have lost data".
 */
export function resumeCursor(range: CursorRange, lastEventId: number | undefined): number | undefined {
  if (lastEventId === undefined || !belongsTo(range, lastEventId)) return undefined;
  return Math.max(lastEventId, range.floor);
}

/** The number of messages to begin with. In a replay, a viewer that names no `backfill` gets all messages. */
export function backfillCount(backfill: number | undefined, chatType: ChatType): number {
  return backfill ?? (isReplayChat(chatType) ? Number.POSITIVE_INFINITY : BACKFILL_DEFAULT);
}
