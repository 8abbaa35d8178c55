/** The id of a connection that carries several chats: the cursors of all of them. */

/** The cursor of each chat, in base 36; `_` for a chat without one. */
export function vectorOf(cursors: readonly (number | undefined)[]): string {
  return cursors.map((cursor) => cursor?.toString(36) ?? "_").join(".");
}

/** Undefined for a text of another form or length. */
export function parseVector(text: string | undefined, length: number): (number | undefined)[] | undefined {
  const parts = text?.split(".") ?? [];
  if (parts.length !== length) return undefined;
  const cursors = parts.map((part) =>
    /^[0-9a-z]{1,11}$/.test(part) ? Number.parseInt(part, 36) : undefined,
  );
  const isValid = cursors.every((cursor, place) =>
    cursor === undefined ? parts[place] === "_" : Number.isSafeInteger(cursor),
  );
  return isValid ? cursors : undefined;
}
