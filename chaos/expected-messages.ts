/**
 * What a room must hold, from what each action of its chat says: what is said twice counts once, and what replaces
 * a message that the room holds is a replacement. Works without the service's code.
 */
import { dig } from "../src/simulator/json.ts";
import type { Entry } from "../src/simulator/log.ts";
import type { Says } from "../src/simulator/says.ts";

/** A message as it is compared: hashes in ids are left out. */
export type ExpectedMessage = Pick<Says, "type" | "id" | "author" | "message" | "amount">;

/** Types whose ids end with a hash. */
const HASHED = new Set(["poll", "replaced", "notice"]);

export class ExpectedMessages {
  /** All that the room must hold, in order. */
  readonly messages: ExpectedMessage[] = [];
  readonly #seen = new Set<string>();
  /** What the room's messages say, by their id. */
  readonly #contents = new Map<string, string>();
  /** Authors all of whose messages were deleted, and whether they have said something since. */
  readonly #deletedAuthors = new Map<string, boolean>();

  hear(entry: Readonly<Entry>): void {
    const said = entry.says ?? plainText(entry);
    if (!said) return;
    const { version = "", replaces, authorId = "", ...message } = said;
    const before = replaces === undefined ? undefined : this.#contents.get(replaces);
    if (before !== undefined) {
      const content = contentOf(message);
      const replaced = { ...message, type: "replaced", id: `replaced:${replaces}` };
      if (before !== content) this.#add(replaced, content, authorId);
    } else if (message.type === "author_deleted") {
      // A repeated deletion is another one where the author has said something since.
      this.#add(message, this.#deletedAuthors.get(message.id) ? `after ${this.messages.length}` : "", "");
      this.#deletedAuthors.set(message.id, false);
    } else if (message.type === "notice") {
      // A notice is known by its text: its own id is a new one at each load of the page.
      this.#add({ ...message, id: "notice" }, message.message, authorId);
    } else this.#add(message, version, authorId);
  }

  #add(message: ExpectedMessage, version: string, authorId: string): void {
    const name = `${message.id} ${version}`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    this.#contents.set(message.id, contentOf(message));
    const deletion = `author_deleted:${authorId}`;
    if (this.#deletedAuthors.has(deletion)) this.#deletedAuthors.set(deletion, true);
    this.messages.push(message);
  }
}

/** A message of the service as far as a chat can know it: without hashes, and without what an author was deleted after. */
export function withoutHash({ type, id, author, message, amount }: ExpectedMessage): ExpectedMessage {
  const known =
    /^author_deleted:[^:]*/.exec(id)?.[0] ?? (HASHED.has(type) ? id.slice(0, id.lastIndexOf(":")) : id);
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
