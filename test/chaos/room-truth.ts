/**
 * The messages that a room's viewers must receive under each cursor, from its chat. Knows the upstream's
 * format and the chat, and nothing of the service.
 *
 * A room holds all messages in order. If late readers do not get everything, messages may be missing, but
 * only directly behind a `gap`, or before the room's first one. A page may show one of them later: then it
 * is stored last. `gap-judge.ts` judges gaps with no messages missing.
 */
import type { Entry } from "../../simulator/chat-log.ts";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { type ExpectedMessage, ExpectedMessages, withoutHash } from "./expected-messages.ts";

export interface Gap {
  cursor: number;
  /** How many messages are missing behind it. */
  missing: number;
  /**
   * The newest entry of the chat's ledger that the room holds before it and that joins two sides of a gap.
   */
  lastJoining: number;
}

export class RoomTruth {
  readonly videoId: string;
  readonly chatType: "liveChatRenderer" | "liveChatReplayRenderer";
  readonly chat: Chat;
  /** How many of the newest messages its popout page shows. */
  readonly pageLength: number;
  /** The highest cursor that any viewer has seen. */
  seenHead = 0;
  /** Whether its chat has ended: only then may viewers be sent its end. */
  mayEnd: boolean;
  /** Behind which message somebody was sent its end. */
  #endedAt: number | undefined;
  readonly gaps: Gap[] = [];
  /** What it holds, from `base` on without a gap in the cursors, as far as viewers have seen it. */
  readonly messages: ExpectedMessage[] = [];
  /** Whether its late readers are not given everything. */
  readonly #isLossy: boolean;
  readonly #expected = new ExpectedMessages();
  /** By entry of the ledger: the cursor up to which a viewer has all that was said up to this entry. */
  readonly #reached: number[] = [];
  #lastJoining = -1;
  #openGap: Gap | undefined;
  /** The messages that are missing behind gaps. */
  readonly #missing = new Set<Readonly<Entry>>();
  #base: number | undefined;
  /** Seen, while something before it was not, or while nobody knew where the room begins. */
  readonly #early = new Map<number, ExpectedMessage>();
  /** The first text under each cursor, in each of the two forms: all viewers must receive the same. */
  readonly #texts = { plain: new Map<number, string>(), detailed: new Map<number, string>() };

  constructor(chat: Chat, kind: "live" | "replay", { pageLength = 0, isLossy = false } = {}) {
    this.videoId = chat.videoId;
    this.chat = chat;
    this.chatType = kind === "live" ? "liveChatRenderer" : "liveChatReplayRenderer";
    this.mayEnd = kind === "replay";
    this.pageLength = pageLength;
    this.#isLossy = isLossy;
  }

  /** The name of its room in a store: a video's live chat and its replay are two. */
  get key(): string {
    return this.chatType === "liveChatRenderer" ? this.videoId : `${this.videoId}.replay`;
  }

  /** The cursor before the room's first message: the init of the first viewer that asked for everything. */
  get base(): number | undefined {
    return this.#base;
  }

  /**
   * A viewer that asks for everything learns where the room begins. Others may have come before it, on their
   * channel's connection. Returns the fault of the messages that they were sent.
   */
  begin(base: number): string | undefined {
    if (this.#base !== undefined) return undefined;
    this.#base = base;
    const before = this.#early.keys().find((cursor) => cursor <= base);
    return before === undefined ? this.#follow() : `begins after ${base}, though somebody was sent ${before}`;
  }

  /** The highest cursor that the room can have by now: everything unseen was relayed, behind a gap. */
  get maxHead(): number {
    const unseen = this.chat.ledger.length - this.#reached.length;
    return this.#head + (unseen > 0 ? unseen + 1 : 0);
  }

  get #head(): number {
    return (this.base ?? Number.NaN) + this.messages.length;
  }

  /**
   * The cursor up to which a viewer has all of the first `said` entries; undefined while not all were seen.
   */
  cursorOf(said: number): number | undefined {
    this.#skipRepeated();
    return said === 0 ? this.base : this.#reached[said - 1];
  }

  /** The type of the message under a cursor; undefined while no viewer has seen it. */
  typeAt(cursor: number): string | undefined {
    return this.#at(cursor)?.type;
  }

  /** Whether somebody was sent its end. */
  get isOver(): boolean {
    return this.#endedAt !== undefined;
  }

  /** The fault of an end behind the message under this cursor; undefined if there is none. */
  ended(cursor: number | undefined): string | undefined {
    if (!this.mayEnd) return `an end at ${cursor}, of a chat that goes on`;
    if (cursor === undefined) return undefined; // a viewer with a filter may not know it
    // The last message may be a gap, or one that was found later.
    const due = this.#endedAt ?? (this.cursorOf(this.chat.ledger.length) === undefined ? cursor : this.#head);
    this.#endedAt = due;
    return cursor === due ? undefined : `an end at ${cursor}, not at ${due}`;
  }

  /** The fault of a message under this cursor; undefined if there is none. */
  fault(cursor: number, data: string, detailed: boolean): string | undefined {
    this.seenHead = Math.max(this.seenHead, cursor);
    const texts = this.#texts[detailed ? "detailed" : "plain"];
    const before = texts.get(cursor);
    if (before !== undefined) return before === data ? undefined : `another text than before: ${data}`;
    texts.set(cursor, data);
    if (cursor > (this.#endedAt ?? Number.POSITIVE_INFINITY)) return "a message behind the end";
    const message = withoutHash(JSON.parse(data));
    const held = this.#at(cursor);
    if (held) return difference(message, held);
    this.#early.set(cursor, message);
    return this.base === undefined ? undefined : this.#follow();
  }

  #at(cursor: number): ExpectedMessage | undefined {
    return this.messages[cursor - (this.base ?? cursor) - 1] ?? this.#early.get(cursor);
  }

  /** Takes the seen messages that follow without a gap. */
  #follow(): string | undefined {
    for (;;) {
      const cursor = this.#head + 1;
      const message = this.#early.get(cursor);
      if (!message) return undefined;
      this.#early.delete(cursor);
      const fault = message.type === "gap" ? this.#takeGap(cursor, message) : this.#take(cursor, message);
      if (fault) return cursor === this.seenHead ? fault : `${fault} (under ${cursor})`;
      this.messages.push(message);
    }
  }

  #take(cursor: number, message: ExpectedMessage): string | undefined {
    if (this.#isFoundLater(message)) return undefined;
    const gap = this.#openGap;
    this.#openGap = undefined;
    for (;;) {
      this.#skipRepeated();
      const index = this.#reached.length;
      const entry = this.chat.ledger[index];
      const due = entry && this.#expected.next(entry);
      if (!due) return `a message that was never said, or not now: ${JSON.stringify(message)}`;
      const wrong = difference(message, due);
      if (!wrong) {
        this.#expected.hearNext(entry);
        if (this.#expected.next(entry)) return undefined;
        this.#reached.push(cursor);
        // What a page shows in its place in the chat: all else may be older, or come with every page.
        if (due.type === "chat") this.#lastJoining = index;
        return undefined;
      }
      this.#reached.push(cursor);
      // A room begins with what its first page shows.
      const mayMiss = gap !== undefined || this.messages.length === 0;
      if (!mayMiss || !this.#isLossy) return wrong;
      if (!gap) continue;
      gap.missing += 1;
      this.#missing.add(entry);
    }
  }

  /** Whether the message is one that was missing behind a gap. It is not missing any more. */
  #isFoundLater(message: ExpectedMessage): boolean {
    for (const entry of this.#missing) {
      const due = this.#expected.next(entry);
      if (!due || difference(message, due)) continue;
      this.#expected.hearNext(entry);
      this.#missing.delete(entry);
      return true;
    }
    return false;
  }

  #takeGap(cursor: number, { id, author, amount, message }: ExpectedMessage): string | undefined {
    if (this.chatType === "liveChatReplayRenderer") return "a gap in a replay";
    if (this.messages.at(-1)?.type === "gap") return "a gap behind a gap";
    if (this.messages.length === 0) return "a gap before the room's first message";
    if (id !== `gap:${cursor - 1}` || author + amount !== "" || message === "")
      return `a malformed gap: ${id}`;
    this.#openGap = { cursor, missing: 0, lastJoining: this.#lastJoining };
    this.gaps.push(this.#openGap);
    return undefined;
  }

  /** Entries that add nothing to what the room holds. */
  #skipRepeated(): void {
    const { ledger } = this.chat;
    for (;;) {
      const entry = ledger[this.#reached.length];
      if (!entry || this.#expected.next(entry)) return;
      this.#reached.push(this.#head);
    }
  }
}

function difference(got: ExpectedMessage, due: ExpectedMessage): string | undefined {
  const wrong = (Object.keys(due) as (keyof ExpectedMessage)[]).find((field) => due[field] !== got[field]);
  if (!wrong) return undefined;
  const short = (text: string) => text.slice(0, 100);
  return `${wrong} is "${short(got[wrong])}" (${got.id}), should be "${short(due[wrong])}" (${due.id})`;
}
