/**
 * The newest messages of a room as bytes: each encoded once per writer, and packed once per feed, for all
 * viewers of that feed. It is filled only from the room's log, with consecutive batches.
 */
import { afterDeletions, Deletions, storedTarget } from "../store/blanking.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import type { Feed } from "./feeds.ts";
import type { Packet } from "./form.ts";
import { FramedMessage } from "./framed-message.ts";
import type { MessageFilter } from "./message-filter.ts";
import { BACKFILL_MAX } from "./resume-or-backfill.ts";

/** So that a viewer with only a `backfill` reads no message from the store. */
const TAIL_MESSAGES = BACKFILL_MAX;
/**
 * Maximum size of the text of a tail of `TAIL_MESSAGES`; usually it has a tenth of this. Older messages are
 * read from the store.
 */
const TAIL_BYTES = 4 * 1024 * 1024;
/** Maximum size of one write, which a stalled viewer keeps in memory. A larger frame is sent whole. */
export const CHUNK_BYTES = 64 * 1024;
/** Maximum size of the shared chunks' text. Once it is reached, a further chunk is for one viewer alone. */
const MAX_SHARED_BYTES = 8 * 1024 * 1024;

/** The frames between two cursors, ready to be written. */
export interface Chunk {
  /**
   * Undefined if none of these messages is sent, because the filter leaves all of them out or they have been
   * deleted: nothing is written, and the cursor moves on.
   */
  packet: Packet | undefined;
  /** Size of its text, in bytes. */
  size: number;
  /** The cursor of the last frame; undefined if there is none. */
  last: number | undefined;
  /** The cursor up to which it has everything. */
  next: number;
}

export interface TailSettings {
  /** Whether deletions also blank messages, in the store and in the tail; may change at any time. */
  readonly isBlanking: boolean;
  /** The number of newest messages that it holds; 500 if absent. */
  readonly tailMessages?: number;
}

export class Tail {
  #held: FramedMessage[] = [];
  #bytes = 0;
  #head: number;
  /** The next chunk for viewers of a feed, by its key and their cursor. */
  readonly #shared = new Map<string, Map<number, Chunk>>();
  #sharedBytes = 0;
  readonly #settings: TailSettings;
  readonly #maxMessages: number;
  readonly #maxBytes: number;

  /** An empty tail after cursor `head`. */
  constructor(head: number, settings: TailSettings) {
    this.#settings = settings;
    this.#maxMessages = settings.tailMessages ?? TAIL_MESSAGES;
    this.#maxBytes = (TAIL_BYTES / TAIL_MESSAGES) * this.#maxMessages;
    this.#head = head;
  }

  /** The cursor of the newest message. */
  get head(): number {
    return this.#head;
  }

  /** The cursor after which this tail holds everything. */
  get floor(): number {
    return this.#head - this.#held.length;
  }

  /** Whether everything after this cursor is here. */
  holds(cursor: number): boolean {
    return cursor >= this.floor && cursor <= this.#head;
  }

  /**
   * Where a backfill begins: the cursor before the newest `count` messages that the filter counts, among
   * those after cursor `after` up to `to`. If the tail holds fewer of them, it is the cursor before the
   * oldest, and `missing` is the number of the others.
   */
  backfill(
    count: number,
    filter: MessageFilter,
    after = this.floor,
    to = this.#head,
  ): { start: number; missing: number } {
    const end = Math.min(to, this.#head);
    const lowest = Math.max(after, this.floor);
    const { isEverything } = filter;
    let start = isEverything ? Math.max(lowest, end - count) : end;
    let missing = count - (end - start);
    for (let cursor = end; !isEverything && missing > 0 && cursor > lowest; cursor--) {
      const held = this.#held[cursor - this.floor - 1];
      if (!held || !filter.counts(held.message, held.bit)) continue;
      start = cursor - 1;
      missing -= 1;
    }
    return { start, missing };
  }

  /** Throws unless the batch follows directly: nothing else would detect missing messages. */
  push(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      if (message.cursor !== this.#head + 1) {
        throw new Error(`tail at ${this.#head} was handed cursor ${message.cursor}`);
      }
      this.#head = message.cursor;
      const held = new FramedMessage(message);
      this.#bytes += held.size;
      this.#held.push(held);
    }
    this.#trim();
    if (this.#settings.isBlanking) this.#blankFor(messages);
    this.forget();
  }

  /** Drops the shared chunks: viewers that shared them have moved on, or come with other cursors. */
  forget(): void {
    this.#shared.clear();
    this.#sharedBytes = 0;
  }

  /**
   * Blanks the deleted messages like the store, for later viewers: a follower hears of no other deletion.
   * Test: "blank deleted messages for later viewers of each instance".
   */
  #blankFor(messages: readonly StoredMessage[]): void {
    const deletions = new Deletions();
    for (const message of messages) {
      const target = storedTarget(message);
      if (target) deletions.add(target, message.cursor);
    }
    if (deletions.isEmpty) return;
    for (const [i, before] of this.#held.entries()) {
      const message = afterDeletions(before.message, deletions);
      if (message === before.message) continue;
      const held = new FramedMessage(message);
      this.#bytes += held.size - before.size;
      this.#held[i] = held;
    }
  }

  #trim(): void {
    this.#drop(Math.max(0, this.#held.length - this.#maxMessages));
    let count = 0;
    for (let bytes = this.#bytes; bytes > this.#maxBytes; count++) bytes -= this.#held[count]?.size ?? bytes;
    this.#drop(count);
  }

  /** Drops this many of the oldest messages. */
  #drop(count: number): void {
    if (count === 0) return;
    for (const { size } of this.#held.slice(0, count)) this.#bytes -= size;
    this.#held = this.#held.slice(count);
  }

  /** Drops the messages up to a cursor, if it holds them: the retention has deleted them in the store. */
  deletedUpTo(cursor: number): void {
    if (this.holds(cursor)) this.#drop(cursor - this.floor);
  }

  /**
   * The chunk after cursor `after`, which must not be below the floor; undefined if there is none yet.
   * `last`: the last cursor that it may contain.
   */
  chunk(after: number, feed: Feed, last = this.#head): Chunk | undefined {
    if (after >= this.#head) return undefined;
    if (after < this.floor) throw new Error(`tail holds nothing below ${this.floor}, asked for ${after}`);
    if (last < this.#head) {
      const end = { to: last, head: this.#head };
      return assembleChunk(end, this.#heldBetween(after, last), feed, false);
    }
    const chunks = this.#shared.get(feed.key) ?? new Map<number, Chunk>();
    const shared = chunks.get(after);
    if (shared) return shared;
    const isShared = feed.isShared && this.#sharedBytes < MAX_SHARED_BYTES;
    const held = this.#heldBetween(after, this.#head);
    const chunk = assembleChunk({ to: this.#head, head: this.#head }, held, feed, isShared);
    if (isShared) {
      this.#shared.set(feed.key, chunks.set(after, chunk));
      this.#sharedBytes += chunk.size;
    }
    return chunk;
  }

  /** The messages after a cursor that it holds, up to `last`. */
  *messages(after: number, last: number): Iterable<StoredMessage> {
    for (const { message } of this.#heldBetween(after, last)) yield message;
  }

  *#heldBetween(after: number, last: number): Iterable<FramedMessage> {
    for (let i = after - this.floor; i < last - this.floor; i++) {
      const held = this.#held[i];
      if (held) yield held;
    }
  }
}

/**
 * One chunk of as many frames as fit, at least one if there are any. The messages are all that there are for
 * the feed up to cursor `to`; `head` is the newest cursor of the room.
 */
export function assembleChunk(
  { to, head }: { to: number; head: number },
  messages: Iterable<FramedMessage>,
  { form, filter }: Feed,
  isShared: boolean,
): Chunk {
  const frames: Buffer[] = [];
  const cursors: number[] = [];
  let size = 0;
  let next = to;
  for (const held of messages) {
    if (!filter.passes(held.message, held.bit)) continue;
    const frame = held.frame(form);
    if (frames.length > 0 && size + frame.length > CHUNK_BYTES) {
      next = cursors.at(-1) ?? to;
      break;
    }
    frames.push(frame);
    cursors.push(held.message.cursor);
    size += frame.length;
  }
  const packet = frames.length > 0 ? form.pack(frames, isShared, { cursors, next, head }) : undefined;
  const last = cursors.at(-1);
  return { packet, size, last, next };
}
