/**
 * A store as it looks without being opened as a service does: its place, schema and size, and who uses it.
 */
export interface StoreSummary {
  /** The file, or the URL of the database without user and password; `memory:`. */
  place: string;
  /** The schema that it has; undefined if the start makes the store. */
  schema: number | undefined;
  /** The schema that this program knows. */
  known: number;
  rooms: number;
  bytes: number;
  /** Free bytes on its disk; undefined if that is not known. */
  freeBytes: number | undefined;
  /** Whether a service uses it now. */
  isInUse: boolean;
  /** Whether another user owns the file than its folder, as after a restore by root. */
  isForeign: boolean;
}
