/**
 * Later changes of messages: their deletions and replacements, and the states of polls. An older message
 * comes from the store in its original form, so all later decisions about it must be known before it is
 * shown. Bounded: the newest decisions are kept, and older ones are read again for each page of older
 * messages.
 */

import { type Row, replaceContent, targetOf } from "../chat/chat-rows.ts";
import { pollIdOf } from "../chat/draw.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { AFTER_ALL, readStored, type ShownChat } from "../chat/stored.ts";
import { ask } from "./own-service.ts";

const MAX_KEPT = 10_000;
/** Maximum older decisions about messages that were read: more than one page of messages can have. */
const MAX_FOUND = 5000;

interface Decision {
  cursor: number;
  replacement?: ShownMessage;
}

export class LaterChanges {
  /** All that was decided after `#knownAfter`, by what it is about; the newest decision of each kind. */
  readonly #kept = new Map<string, Decision>();
  /** Older decisions about messages that were read. */
  readonly #found = new Map<string, Decision>();
  #knownAfter = AFTER_ALL - 1;

  /** The stream begins after this cursor. */
  begin(cursor: number): void {
    this.#knownAfter = Math.min(this.#knownAfter, cursor);
  }

  note(message: ShownMessage): void {
    keep(this.#kept, message);
    if (this.#kept.size > MAX_KEPT) this.#forget();
  }

  /** Reads all decisions about these messages that came after the first of them. */
  async reach(
    videoId: string,
    messages: readonly ShownMessage[],
    signal: AbortSignal,
    chat?: ShownChat["chat"],
  ): Promise<void> {
    const [first] = messages;
    if (!first) return;
    const subjects = new Set(messages.flatMap(subjectsOf));
    // Kept apart, because `note` may forget decisions before all pages are read.
    const found = new Map<string, Decision>();
    for (const key of subjects) {
      const known = this.#decisionOn(key);
      if (known) found.set(key, known);
    }
    for (let after = this.#knownAfter; after > first.cursor; ) {
      const query = { before: after + 1, types: "moderation", limit: 1000 };
      const page = await readStored(ask, { videoId, chat }, query, signal);
      const isNext = after === this.#knownAfter; // another read may have come first
      const isRoom = isNext && this.#kept.size + page.messages.length <= MAX_KEPT;
      for (const message of page.messages) {
        if (isRoom) keep(this.#kept, message);
        if (subjects.has(keyOf(message) ?? "")) keep(found, message);
      }
      after = page.prev === null ? 0 : page.prev - 1;
      if (isRoom) this.#knownAfter = after;
    }
    for (const [key, decision] of found) {
      this.#found.delete(key); // the newest come last
      this.#found.set(key, decision);
    }
    for (const key of this.#found.keys()) {
      if (this.#found.size <= MAX_FOUND) break;
      this.#found.delete(key);
    }
  }

  /** Applies the later changes of its message to the row. */
  apply(row: Row): void {
    const { message } = row;
    if (!message) return;
    const [deleted, author, replaced] = subjectsOf(message).map((key) => this.#decisionOn(key));
    if (replaced?.replacement && message.type !== "replaced") replaceContent(row, replaced.replacement);
    if (deleted) row.fate.deleted = "message";
    if ((author?.cursor ?? 0) > message.cursor) row.fate.deleted = "author";
    const state = message.details.poll && this.#kept.get(keyOf(message) ?? "");
    if (state?.replacement && state.cursor > message.cursor)
      row.message = { ...state.replacement, cursor: message.cursor };
  }

  #decisionOn(key: string): Decision | undefined {
    return this.#kept.get(key) ?? this.#found.get(key);
  }

  /** Forgets the older half. */
  #forget(): void {
    const oldestFirst = [...this.#kept].sort(([, a], [, b]) => a.cursor - b.cursor);
    for (const [key, { cursor }] of oldestFirst.slice(0, MAX_KEPT / 2)) {
      this.#kept.delete(key);
      this.#knownAfter = Math.max(this.#knownAfter, cursor);
    }
  }
}

/** The subjects of decisions that concern the message: itself, its author, its content. */
function subjectsOf(message: ShownMessage): [deleted: string, author: string, replaced: string] {
  const id = message.type === "replaced" ? targetOf(message).messageId : message.id;
  return [`deleted:${id}`, `author_deleted:${message.details.authorId ?? ""}`, `replaced:${message.id}`];
}

/** Undefined if the message decides nothing about others. */
function keyOf(message: ShownMessage): string | undefined {
  const { messageId, authorId } = targetOf(message);
  if (message.details.poll) return `state:${pollIdOf(message.id)}`;
  if (message.type === "author_deleted") return `author_deleted:${authorId}`;
  return message.type === "deleted" || message.type === "replaced"
    ? `${message.type}:${messageId}`
    : undefined;
}

function keep(decisions: Map<string, Decision>, message: ShownMessage): void {
  const { cursor } = message;
  const key = keyOf(message);
  if (key === undefined || (decisions.get(key)?.cursor ?? 0) > cursor) return;
  const isContent = message.type === "replaced" || message.details.poll !== undefined;
  decisions.set(key, isContent ? { cursor, replacement: message } : { cursor });
}
