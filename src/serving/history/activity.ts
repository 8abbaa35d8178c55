/**
 * How lively a chat is: its messages by minute, and its most active authors. Counted from the stored messages
 * when somebody asks, and kept, so that the next answer only reads newer ones. Bounded: some rooms, and at
 * first the newest messages of each.
 */

import type { ClockWitness } from "../../base/clock-witness.ts";
import { dropOldest } from "../../base/maps.ts";
import { SharedWork } from "../../base/shared-work.ts";
import type { Chat } from "../../protocol/chat.ts";
import { chatKey } from "../../protocol/chat-key.ts";
import { GROUPS } from "../../protocol/kinds.ts";
import { EXAMINED_MESSAGES } from "../../store/port.ts";
import { type StoredMessage, saidTimes, typeOf } from "../../store/stored-message.ts";
import type { History } from "./history.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const PER_PAGE = 1000;
/** A live chat keeps the minutes of an hour, a replay those of a day. */
const MAX_MINUTES: Readonly<Record<Chat, number>> = { live: 60, replay: 24 * 60 };
/** Beyond it, the authors with the fewest messages are forgotten. */
const MAX_AUTHORS = 2000;
const TOP_AUTHORS = 10;
/** Rooms whose counts are kept, those asked for last. */
const MAX_ROOMS = 20;
/** Messages that change others, and those of the service itself, do not count. */
const UNCOUNTED: ReadonlySet<string> = new Set([...GROUPS.moderation, "banner_removed", "gap"]);

export interface Activity {
  /** Only messages after this cursor count. */
  after: number;
  /** The last cursor that counts. */
  cursor: number;
  /** The number of messages said in the last 60 seconds; null for a replay. */
  lastMinute: number | null;
  /**
   * The messages of the last minutes that have any (`MAX_MINUTES`), in order: of a live chat by the clock, as
   * ISO 8601 in UTC; of a replay by the place in the video. A minute whose messages do not all count is left
   * out.
   */
  minutes: ({ messages: number } & ({ at: string } | { offsetMs: number }))[];
  /** Up to ten, the most active first. `authorId`: null if the upstream has sent none. */
  authors: { authorId: string | null; author: string; messages: number }[];
}

export class Activities {
  readonly #history: History;
  readonly #witness: Pick<ClockWitness, "now">;
  readonly #rooms = new Map<string, RoomCounts>();
  readonly #work = new SharedWork<Activity>();

  /** `witness`: the upstream's time, by which messages are said. */
  constructor(history: History, witness: Pick<ClockWitness, "now">) {
    this.#history = history;
    this.#witness = witness;
  }

  /** `head`: the room's newest cursor. Rejects as `History.page` does. */
  of(videoId: string, chat: Chat, head: number, signal: AbortSignal): Promise<Activity> {
    const count = (wanted: AbortSignal) => this.#count(videoId, chat, head, wanted);
    return this.#work.run(chatKey(videoId, chat), count, signal);
  }

  async #count(videoId: string, chat: Chat, head: number, signal: AbortSignal): Promise<Activity> {
    const key = chatKey(videoId, chat);
    const oldest = Math.max(0, head - EXAMINED_MESSAGES);
    let counts = this.#rooms.get(key);
    for (let next: number | null = Math.max(counts?.cursor ?? 0, oldest); next !== null; ) {
      const after: number = next;
      const page = await this.#history.page(
        { videoId, chat, after, isLog: true, filter: {} },
        PER_PAGE,
        signal,
      );
      const { base, floor } = page.room;
      if (counts?.base !== base || counts.cursor < after)
        counts = new RoomCounts(chat, base, Math.max(oldest, floor));
      const known = counts;
      await this.#history.slices.each(page.messages, (message) => known.add(message, this.#witness.now));
      next = page.next;
    }
    this.#rooms.delete(key);
    if (counts) this.#rooms.set(key, counts);
    dropOldest(this.#rooms, MAX_ROOMS);
    return (counts as RoomCounts).shown(this.#witness.now);
  }
}

/** The counts of one room. */
class RoomCounts {
  readonly base: number;
  cursor: number;
  readonly #chat: Chat;
  readonly #after: number;
  readonly #minutes = new Map<number, number>();
  /** The messages of the last seconds of a live chat. */
  readonly #seconds = new Map<number, number>();
  /** The minute of the first message, if others before it do not count. */
  #partial: number | undefined;
  #authors = new Map<string, { authorId: string | null; author: string; messages: number }>();

  constructor(chat: Chat, base: number, after: number) {
    this.#chat = chat;
    this.base = base;
    this.#after = after;
    this.cursor = after;
  }

  add(message: StoredMessage, now: number): void {
    if (message.cursor <= this.cursor) return; // a count that was given up may be at the same page
    this.cursor = message.cursor;
    const type = typeOf(message);
    const authorId = textIn(message.details, "authorId");
    // A moderator has taken all of the author's messages down.
    if (type === "author_deleted" && authorId) this.#authors.delete(authorId);
    if (UNCOUNTED.has(type)) return;
    this.#addTime(message, now);
    const author = textIn(message.body, "author");
    if (author) this.#addAuthor(authorId ?? null, author);
  }

  #addTime(message: StoredMessage, now: number): void {
    const { said = message.storedAt, offset } = saidTimes(message);
    const ms = this.#chat === "replay" ? offset : said;
    if (ms === undefined) return;
    const minute = Math.floor(ms / MINUTE_MS);
    if (this.#minutes.size === 0 && this.#after > this.base) this.#partial = minute;
    count(this.#minutes, minute);
    if (this.#minutes.size > MAX_MINUTES[this.#chat]) this.#minutes.delete(Math.min(...this.#minutes.keys()));
    if (this.#chat === "live" && ms > now - MINUTE_MS) count(this.#seconds, Math.floor(ms / SECOND_MS));
  }

  #addAuthor(authorId: string | null, author: string): void {
    const key = authorId ?? author;
    const { messages } = this.#authors.get(key) ?? { messages: 0 };
    this.#authors.set(key, { authorId, author, messages: messages + 1 });
    if (this.#authors.size > MAX_AUTHORS) this.#authors = new Map(this.#sorted().slice(0, MAX_AUTHORS / 2));
  }

  #sorted() {
    return [...this.#authors].sort(([, one], [, other]) => other.messages - one.messages);
  }

  shown(now: number): Activity {
    const first = Math.floor((now - MINUTE_MS) / SECOND_MS);
    for (const second of this.#seconds.keys()) if (second <= first) this.#seconds.delete(second);
    const isLive = this.#chat === "live";
    return {
      after: this.#after,
      cursor: this.cursor,
      lastMinute: isLive ? [...this.#seconds.values()].reduce((sum, each) => sum + each, 0) : null,
      minutes: [...this.#minutes]
        .filter(([minute]) => minute !== this.#partial)
        .sort(([one], [other]) => one - other)
        .map(([minute, messages]) => {
          const ms = minute * MINUTE_MS;
          return { messages, ...(isLive ? { at: new Date(ms).toISOString() } : { offsetMs: ms }) };
        }),
      authors: this.#sorted()
        .slice(0, TOP_AUTHORS)
        .map(([, author]) => author),
    };
  }
}

function count(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/**
 * The text of a field of a JSON object. Parses the text alone: quotes inside a JSON string are escaped, so
 * `"key":` is always a key.
 */
function textIn(json: string, key: "author" | "authorId"): string | undefined {
  const [, quoted] = new RegExp(`"${key}":("(?:[^"\\\\]|\\\\.)*")`).exec(json) ?? [];
  return quoted === undefined ? undefined : JSON.parse(quoted);
}
