/**
 * Where a connection starts in its room: from `Last-Event-ID` where that can be honoured, else so many messages
 * back. From a start other than the `Last-Event-ID` a client learns that what it missed is no longer kept, or that
 * its cursor is not of this room.
 */
import type { ChatType } from "../protocol/chat.ts";

export const BACKFILL_DEFAULT = 50;
export const BACKFILL_MAX = 500;

/** The cursors of a room: it began at `base` and keeps those from `floor` (exclusive) to `head` (inclusive). */
export interface CursorRange {
  base: number;
  floor: number;
  head: number;
}

/**
 * How many recent messages a connection asks to begin with, from the query's text: whatever JavaScript's `Number`
 * reads is a number. Undefined where it is none (empty and blank text included).
 */
export function parseBackfill(text: string): number | undefined {
  if (text.trim() === "") return undefined;
  const sent = Number(text);
  if (Number.isNaN(sent)) return undefined;
  // [spec] fractional | truncated toward zero; negative | 0; above the ceiling | 500
  return Math.min(BACKFILL_MAX, Math.max(0, Math.trunc(sent)));
}

// [spec] A malformed or negative `Last-Event-ID` is treated as absent (backfill applies).
export function parseCursor(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return undefined;
  const cursor = Number(text);
  return Number.isSafeInteger(cursor) ? cursor : undefined;
}

/** The cursor to resume after, or undefined where `lastEventId` is absent or not of this room. */
export function resumeCursor(range: CursorRange, lastEventId: number | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId > range.head) return undefined;
  if (lastEventId >= range.floor) return lastEventId;
  return lastEventId >= range.base || lastEventId === 0 ? range.floor : undefined;
}

/**
 * The cursor that lies `backfill` messages before `end`, as far as they are kept. A replay has no history: a viewer
 * that names no backfill is sent all of it.
 */
export function backfillCursor(
  { floor }: CursorRange,
  end: number,
  backfill: number | undefined,
  chatType: ChatType,
): number {
  if (backfill === undefined && chatType === "liveChatReplayRenderer") return floor;
  return Math.max(floor, end - (backfill ?? BACKFILL_DEFAULT));
}
