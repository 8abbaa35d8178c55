/**
 * The messages that a room must hold, from the messages of its chat's actions: repeats count once, and the
 * new content of a message in the room is a replacement. Works without the service's code.
 */

import type { Entry } from "../../simulator/chat-log.ts";
import { dig } from "../../simulator/plain-json.ts";
import type { Says } from "../../simulator/says.ts";

/** A message as it is compared: hashes in ids are left out. */
export type ExpectedMessage = Pick<Says, "type" | "id" | "author" | "message" | "amount">;

/** A message that is new in the room. */
interface Addition {
  message: ExpectedMessage;
  /** A name that is equal for repeats. */
  name: string;
  /** The author's channel; "" if there is none. */
  authorId: string;
  /** The message to which it gives a new content. */
  replaces?: string;
}

/** Types whose ids end with a hash, a replacement's also with a number behind it. */
const HASHED = new Set(["poll", "replaced", "notice"]);
const HASH = /:[\w-]{12}(:\d+)?$/;

export class ExpectedMessages {
  /** All that the room must hold, in order. */
  readonly messages: ExpectedMessage[] = [];
  readonly #seen = new Set<string>();
  /** What the room's messages say, by their id. */
  readonly #contents = new Map<string, string>();
  /** Authors all of whose messages were deleted, and whether they have said something since. */
  readonly #deletedAuthors = new Map<string, boolean>();

  /** What the room must hold next, if it hears this; undefined where it adds nothing more. */
  next(entry: Readonly<Entry>): ExpectedMessage | undefined {
    return this.#nextOf(entry)?.message;
  }

  /** Hears all of the entry. */
  hear(entry: Readonly<Entry>): void {
    while (this.next(entry)) this.hearNext(entry);
  }

  /** Hears what the entry adds next. */
  hearNext(entry: Readonly<Entry>): void {
    const addition = this.#nextOf(entry);
    if (!addition) return;
    const { message, name, authorId, replaces = message.id } = addition;
    this.#seen.add(name);
    this.#contents.set(replaces, contentOf(message));
    const deletion = `author_deleted:${authorId}`;
    if (this.#deletedAuthors.has(deletion)) this.#deletedAuthors.set(deletion, true);
    if (message.type === "author_deleted") this.#deletedAuthors.set(message.id, false);
    this.messages.push(message);
  }

  /** A poll that the room was shown is closed before its banner is removed. */
  #nextOf(entry: Readonly<Entry>): Addition | undefined {
    const before = entry.says?.before;
    const closing = before && this.#seen.has(nameOf(before.id)) && this.#addition({ ...entry, says: before });
    return closing || this.#addition(entry);
  }

  #addition(entry: Readonly<Entry>): Addition | undefined {
    const said = entry.says ?? plainText(entry);
    if (!said) return undefined;
    const { version = "", replaces, authorId = "", jewels: _, extras: __, before: ___, ...message } = said;
    const before = replaces === undefined ? undefined : this.#contents.get(replaces);
    if (replaces !== undefined && before !== undefined) {
      if (before === contentOf(message)) return undefined;
      const replaced = { ...message, type: "replaced", id: `replaced:${replaces}` };
      return { message: replaced, name: `${replaced.id} ${this.messages.length}`, authorId, replaces };
    }
    if (message.type === "author_deleted") {
      // A repeated deletion is another one where the author has said something since.
      const isAnother = this.#deletedAuthors.get(message.id);
      return this.#unlessSeen(message, isAnother ? `after ${this.messages.length}` : "", "");
    }
    // The room gives a notice an id of its own. A notice that is said twice has two ids of the upstream.
    if (message.type === "notice")
      return this.#unlessSeen({ ...message, id: "notice" }, message.id, authorId);
    return this.#unlessSeen(message, version, authorId);
  }

  #unlessSeen(message: ExpectedMessage, version: string, authorId: string): Addition | undefined {
    const name = nameOf(message.id, version);
    return this.#seen.has(name) ? undefined : { message, name, authorId };
  }
}

function nameOf(id: string, version = ""): string {
  return `${id} ${version}`;
}

/**
 * A message of the service as far as a chat can know it: without hashes, and without what an author was
 * deleted after.
 */
export function withoutHash({ type, id, author, message, amount }: ExpectedMessage): ExpectedMessage {
  const known = /^author_deleted:[^:]*/.exec(id)?.[0] ?? (HASHED.has(type) ? id.replace(HASH, "") : id);
  return { type, id: known, author, message, amount };
}

/** A plain chat message that a run has written itself. */
function plainText({ id, action }: Readonly<Entry>): Says | undefined {
  const renderer = dig(action, "addChatItemAction", "item", "liveChatTextMessageRenderer");
  const [author, message] = [
    dig(renderer, "authorName", "simpleText"),
    dig(renderer, "message", "runs", 0, "text"),
  ];
  return renderer
    ? { type: "chat", id, author: String(author), message: String(message), amount: "" }
    : undefined;
}

function contentOf({ author, message, amount }: ExpectedMessage): string {
  return JSON.stringify([author, message, amount]);
}
