/**
 * Offsets of a room's log as a durable stream (Durable Streams protocol, section 8): texts that sort as the
 * positions that they name. The offset of a position is the cursor of the message before it.
 */
const DIGITS = 16;

/** A position that a reader asks for: the floor, the end, or the place behind a cursor. */
export type LogPosition = "begin" | "now" | number;

/** `cursor` with zeros in front. */
export function offsetOf(cursor: number): string {
  return String(cursor).padStart(DIGITS, "0");
}

/** Undefined for a text that no service has given out. An absent offset is the beginning. */
export function parseOffset(text: string | undefined): LogPosition | undefined {
  if (text === undefined || text === "-1") return "begin";
  if (text === "now") return "now";
  const cursor = /^\d{16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(cursor) ? cursor : undefined;
}
