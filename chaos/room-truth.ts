/**
 * What a room's viewers must be sent, from what its chat has said: the message under each cursor. Knows the wire
 * and what the upstream has said, and nothing of the service.
 */
import type { Chat } from "../src/simulator/chat.ts";
import { type ExpectedMessage, ExpectedMessages, withoutHash } from "./expected-messages.ts";

export class RoomTruth {
  readonly videoId: string;
  readonly chatType: "liveChatRenderer" | "liveChatReplayRenderer";
  readonly chat: Chat;
  /** The cursor before the room's first message: the init of the first viewer that asked for everything. */
  base: number | undefined;
  /** The highest cursor that any viewer has seen. */
  seenHead = 0;
  readonly #expected = new ExpectedMessages();
  #heard = 0;
  /** What was first sent under each cursor, in each of the two forms: all others must be sent the same. */
  readonly #texts = { plain: new Map<number, string>(), detailed: new Map<number, string>() };

  constructor(chat: Chat, kind: "live" | "replay") {
    this.videoId = chat.videoId;
    this.chat = chat;
    this.chatType = kind === "live" ? "liveChatRenderer" : "liveChatReplayRenderer";
  }

  /** How many messages the room must hold by now. */
  get count(): number {
    const entries = this.chat.ledger;
    for (; this.#heard < entries.length; this.#heard++) {
      const entry = entries[this.#heard];
      if (entry) this.#expected.hear(entry);
    }
    return this.#expected.messages.length;
  }

  /** The cursor of the newest message, once it was relayed. */
  get head(): number {
    return (this.base ?? Number.NaN) + this.count;
  }

  /** Whether somebody was sent its end. */
  isOver = false;

  /** All that the room must hold, in order. */
  get messages(): readonly ExpectedMessage[] {
    void this.count;
    return this.#expected.messages;
  }

  /** What is wrong with a message under this cursor; undefined where nothing is. */
  fault(cursor: number, data: string, detailed: boolean): string | undefined {
    this.seenHead = Math.max(this.seenHead, cursor);
    const texts = this.#texts[detailed ? "detailed" : "plain"];
    const before = texts.get(cursor);
    if (before !== undefined) return before === data ? undefined : `another text than before: ${data}`;
    texts.set(cursor, data);
    if (this.base === undefined) return "a message before anybody has learned where the room begins";
    const due = this.messages[cursor - this.base - 1];
    if (!due) return `a message that was never said: ${data}`;
    const got = withoutHash(JSON.parse(data));
    const wrong = (Object.keys(due) as (keyof ExpectedMessage)[]).find((field) => due[field] !== got[field]);
    return (
      wrong &&
      `${wrong} is "${got[wrong].slice(0, 100)}", should be "${due[wrong].slice(0, 100)}" (${due.id})`
    );
  }
}
