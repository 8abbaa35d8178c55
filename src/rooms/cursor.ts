/**
 * Where a connection starts in its room: from `Last-Event-ID` where that can be honoured, else so many messages
 * back. A start other than the `Last-Event-ID` tells a client that what it missed is no longer kept, or that its
 * cursor is not of this room.
 */

export const BACKFILL_DEFAULT = 50;
export const BACKFILL_CEILING = 500;

/** The cursors of a room: it began at `base` and keeps those from `floor` (exclusive) to `head` (inclusive). */
export interface CursorRange {
  base: number;
  floor: number;
  head: number;
}

/**
 * How many recent messages a connection is primed with, from the query's text: whatever JavaScript's `Number`
 * reads is a number. Undefined where it is none (empty and blank text included).
 */
export function backfillFrom(text: string | undefined): number | undefined {
  if (text === undefined) return BACKFILL_DEFAULT;
  if (text.trim() === "") return undefined;
  const sent = Number(text);
  if (Number.isNaN(sent)) return undefined;
  // [spec] fractional | truncated toward zero; negative | 0; above the ceiling | 500
  return Math.min(BACKFILL_CEILING, Math.max(0, Math.trunc(sent)));
}

// [spec] A malformed or negative `Last-Event-ID` is treated as absent (backfill applies).
export function lastEventIdFrom(header: string | undefined): number | undefined {
  if (header === undefined || !/^\d{1,16}$/.test(header)) return undefined;
  const cursor = Number(header);
  return Number.isSafeInteger(cursor) ? cursor : undefined;
}

/** The cursor to resume after, or undefined where `lastEventId` is absent or not of this room. */
export function resumeCursor(range: CursorRange, lastEventId: number | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId > range.head) return undefined;
  if (lastEventId >= range.floor) return lastEventId;
  return lastEventId >= range.base || lastEventId === 0 ? range.floor : undefined;
}

/** The cursor that lies `backfill` messages before `end`, as far as they are kept. */
export function backfillCursor(range: CursorRange, end: number, backfill: number): number {
  return Math.max(range.floor, end - backfill);
}
