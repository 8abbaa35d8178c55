/**
 * Offsets of a room's log as a durable stream (Durable Streams protocol, section 8): texts that sort as the
 * positions that they name. The offset of a position is the cursor of the message before it.
 */
import { RelayError } from "../protocol/errors.ts";

const DIGITS = 16;

/** A position that a reader asks for: the floor, the end, or the place behind a cursor. */
export type LogPosition = "begin" | "now" | number;

/** `cursor` with zeros in front. */
export function offsetOf(cursor: number): string {
  return String(cursor).padStart(DIGITS, "0");
}

/** Undefined for a text of another form. An absent offset is the beginning. */
export function parseLogOffset(text: string | undefined): LogPosition | undefined {
  if (text === undefined || text === "-1") return "begin";
  if (text === "now") return "now";
  return /^\d{16}$/.test(text) ? Number(text) : undefined;
}

/**
 * The cursor of a position in a log that keeps the messages from `floor` (exclusive) to `end` (inclusive).
 * Throws `RelayError` OFFSET_GONE if the log has lost the messages after the position, or never had it.
 */
export function positionIn(position: LogPosition, floor: number, end: number): number {
  if (position === "begin" || position === floor) return floor; // beyond the end if nothing is left
  if (position === "now") return end;
  if (position >= floor && position <= end) return position;
  const where = position < floor ? "the messages after it are gone" : "it comes from another store";
  const orElse = "or it is one of the video's other chat";
  throw new RelayError(
    "OFFSET_GONE",
    `offset: is not in this log: ${where}, ${orElse}. The log begins at ${offsetOf(floor)}.`,
  );
}

/**
 * The cursor of a position, if its room's tail is known to hold everything after it; else undefined. `end`:
 * the meaning of `now`.
 */
export function positionInTail(
  position: LogPosition,
  tail: { head: number; holds(cursor: number): boolean },
  end = tail.head,
): number | undefined {
  if (position === "now") return end;
  return position !== "begin" && tail.holds(position) ? position : undefined;
}

/**
 * The tag of the items between two cursors. It changes when the log is closed behind them. `head`: if stored
 * messages can change, the newest cursor of the room, because a deletion is a message of its own.
 */
export function tagOf(
  videoId: string,
  start: number,
  next: number,
  isClosed: boolean,
  head?: number,
): string {
  const state = head === undefined ? "" : `-${head}`;
  return `"${videoId}-${start}-${next}${state}${isClosed ? ":c" : ""}"`;
}
