/**
 * The id of a connection that carries several chats: the cursors of all of them. `client/stream-table.ts`
 * writes it again, because the SDK must stay small.
 */

/** The cursor of each chat, in base 36; `_` for a chat without one. */
export function vectorOf(cursors: readonly (number | undefined)[]): string {
  return cursors.map((cursor) => cursor?.toString(36) ?? "_").join(".");
}

/** Undefined for a text of another form or length. */
export function parseVector(text: string | undefined, length: number): (number | undefined)[] | undefined {
  const cursors = text?.split(".").map((part) => (part === "_" ? undefined : Number.parseInt(part, 36)));
  const isValid = cursors?.every((cursor = 0) => Number.isSafeInteger(cursor) && cursor >= 0);
  return isValid && cursors?.length === length && vectorOf(cursors) === text ? cursors : undefined;
}
