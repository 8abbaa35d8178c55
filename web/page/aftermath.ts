/**
 * What became of messages later: their deletions and replacements. An older message is read from the store as
 * it was said, so everything that was decided about it since must be known before it is shown.
 */
import type { ShownMessage } from "../chat/message.ts";
import { type Row, replaceContent, targetOf } from "../chat/transcript.ts";
import { AFTER_ALL, readStored } from "./stored.ts";

export class Aftermath {
  readonly #deleted = new Set<string>();
  /** The cursor of an author's last deletion. Later messages of the author are not deleted. */
  readonly #authors = new Map<string, number>();
  readonly #replaced = new Map<string, ShownMessage>();
  /** All that was decided after this cursor is known. */
  #knownAfter = AFTER_ALL - 1;

  /** The stream begins after this cursor. */
  begin(cursor: number): void {
    this.#knownAfter = Math.min(this.#knownAfter, cursor);
  }

  note(message: ShownMessage): void {
    const { messageId, authorId } = targetOf(message);
    if (message.type === "deleted") this.#deleted.add(messageId);
    else if (message.type === "author_deleted")
      this.#authors.set(authorId, Math.max(message.cursor, this.#authors.get(authorId) ?? 0));
    else if (message.type === "replaced" && !((this.#replaced.get(messageId)?.cursor ?? 0) > message.cursor))
      this.#replaced.set(messageId, message);
  }

  /** Learns everything that was decided after the cursor. */
  async reach(videoId: string, cursor: number, signal: AbortSignal): Promise<void> {
    while (this.#knownAfter > cursor) {
      const query = { before: this.#knownAfter + 1, types: "moderation", limit: 1000 };
      const { messages, prev } = await readStored(videoId, query, signal);
      for (const message of messages) this.note(message);
      this.#knownAfter = prev === null ? 0 : prev - 1;
    }
  }

  /** Applies to the row what became of its message. */
  apply(row: Row): void {
    const { message } = row;
    if (!message) return;
    const { id, cursor, details, type } = message;
    const target = type === "replaced" ? targetOf(message).messageId : id;
    const replacement = type === "replaced" ? undefined : this.#replaced.get(id);
    if (replacement) replaceContent(row, replacement);
    if (this.#deleted.has(target)) row.fate.deleted = "message";
    if ((this.#authors.get(details.authorId ?? "") ?? 0) > cursor) row.fate.deleted = "author";
  }
}
