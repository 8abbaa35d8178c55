/**
 * Names in a reply the paid message to which it belongs, if the room holds that message. The store cannot
 * find it by its thread, so the newest threads are remembered.
 */
import { addDefined } from "../../base/json.ts";
import type { Details } from "../../protocol/kinds.ts";
import type { Message } from "../../protocol/message.ts";
import type { Item } from "../../upstream/readers/reader.ts";

/** The id of the paid message of each thread; the newest is last. */
export type Threads = ReadonlyMap<string, string>;

/** Replies often come at the end of a stream. Beyond this number, the oldest threads are forgotten. */
const MAX_THREADS = 500;

/** The ids of the messages to which the items may reply. */
export function repliedIds(items: readonly Item[], threads: Threads): string[] {
  return items.flatMap(({ thread }) => (thread?.isReply && threads.get(thread.id)) || []);
}

/** The threads of a room, while an answer is read. */
export class ThreadsRead {
  readonly #threads: Map<string, string>;

  constructor(memory: Threads) {
    this.#threads = new Map(memory);
  }

  /** The item's message, completed if it is a reply. `known`: the messages of the room and of the answer. */
  read(message: Message, { thread, replaces }: Item, known: { has(id: string): boolean }): Message {
    if (!thread) return message;
    if (!thread.isReply) {
      this.#threads.delete(thread.id); // the newest is last
      this.#threads.set(thread.id, replaces?.id ?? message.id);
      return message;
    }
    const messageId = this.#threads.get(thread.id) ?? "";
    const { replyTo }: Details = message.details;
    if (!replyTo || !known.has(messageId)) return message;
    const details = addDefined<Details>({ ...message.details }, { replyTo: { ...replyTo, messageId } });
    return { ...message, details } as Message; // the type of the details is the same
  }

  get memory(): Threads {
    return new Map([...this.#threads].slice(-MAX_THREADS));
  }
}
