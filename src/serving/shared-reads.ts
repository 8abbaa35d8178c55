/**
 * A room's log below its tail. Viewers that need the same part at about the same time share the read: after a
 * restart many resume from the same cursor. Those of one feed also share its bytes. For a filter of rare
 * types, only their messages are read.
 */
import type { Clock } from "../base/clock.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import { readPart } from "../store/log-reader.ts";
import { retryRead } from "../store/store-error.ts";
import type { Feed } from "./feeds.ts";
import { FramedMessage } from "./framed-message.ts";
import type { RoomLog } from "./room-log.ts";
import { assembleChunk, type Chunk, type Tail } from "./tail.ts";
import { rareTypesOf } from "./type-filter.ts";

/**
 * Maximum messages in one read of the store. A read of all types ends at a multiple of this, so that viewers
 * with different cursors soon share their reads.
 */
const SHARED_MESSAGES = 100;
/** Chunks kept for other viewers that need the same one within a second: at most 2 MiB per room. */
const MAX_CHUNKS = 32;
/**
 * Maximum text of the reads that are kept. A larger read is kept alone. The frames of each form take about as
 * much again.
 */
const MAX_READ_BYTES = 4 * 1024 * 1024;

/** The messages that a read has found, which are all up to cursor `to`. */
interface Found {
  messages: readonly FramedMessage[];
  to: number;
}

/** A read of the store after a cursor. */
interface Read {
  after: number;
  found: Promise<Found>;
}

export class SharedReads {
  readonly #chat: ChatKey;
  readonly #log: RoomLog;
  readonly #tail: Tail;
  readonly #clock: Clock;
  readonly #closed: AbortSignal;
  /** The latest read of each part, by its number, and of each filter of rare types. */
  readonly #reads = new Map<string, Read>();
  #readBytes = 0;
  /** By cursor and feed. */
  readonly #chunks = new Map<string, Promise<Chunk>>();
  /**
   * Number of chunks assembled since the last tick. Those beyond `MAX_CHUNKS` are not compressed, because few
   * viewers would share them.
   */
  #count = 0;

  /** `closed`: ends the reads that wait for the store. */
  constructor(chat: ChatKey, log: RoomLog, tail: Tail, clock: Clock, closed: AbortSignal) {
    this.#chat = chat;
    this.#log = log;
    this.#tail = tail;
    this.#clock = clock;
    this.#closed = closed;
  }

  /**
   * The chunk after a cursor. Waits while the store is unavailable. Rejects with `RelayError` if the log was
   * lost or has begun again, with an error that says which messages the store skips, and with the reason of
   * `closed`.
   */
  chunk(after: number, feed: Feed): Promise<Chunk> {
    const key = `${after} ${feed.key}`;
    const known = this.#chunks.get(key);
    if (known !== undefined) return known;
    if (this.#chunks.size >= MAX_CHUNKS) this.forget();
    this.#count += 1;
    const chunk = this.#assemble(after, feed, feed.isShared && this.#count <= MAX_CHUNKS);
    keepUnlessFailed(this.#chunks, key, chunk, chunk);
    return chunk;
  }

  /**
   * Drops all chunks and reads, also those in flight: the store may have changed, or the viewers that shared
   * them have moved on.
   */
  forget(): void {
    this.#chunks.clear();
    this.#reads.clear();
    this.#readBytes = 0;
  }

  /** Call it once a second. */
  tick(): void {
    this.forget();
    this.#count = 0;
  }

  async #assemble(after: number, feed: Feed, isShared: boolean): Promise<Chunk> {
    const { messages, to } = await this.#read(after, rareTypesOf(feed.filter.types));
    return assembleChunk({ to, head: this.#tail.head }, messages, feed, isShared);
  }

  /**
   * The messages of these rare types after a cursor, or all messages up to the part's end. Long messages fill
   * several chunks, so viewers ask for the rest of a part several times; the store is asked once.
   */
  async #read(after: number, types: readonly string[] | undefined): Promise<Found> {
    const key = types ? `${types}` : `${Math.floor(after / SHARED_MESSAGES)}`;
    const known = this.#reads.get(key);
    if (known && known.after <= after) {
      const { messages, to } = await known.found;
      const left = messages.filter(({ message }) => message.cursor > after);
      if (to > after) return { messages: left, to };
    }
    const limit = types ? SHARED_MESSAGES : SHARED_MESSAGES - (after % SHARED_MESSAGES);
    const found = retryRead(this.#clock, this.#closed, async () => {
      const range = { after, to: this.#tail.head, limit, isNewest: false }; // later ones come from the tail
      const { messages, to } = await readPart(this.#log, this.#chat, { types, ...range });
      return { messages: messages.map((message) => new FramedMessage(message)), to };
    });
    const read: Read = { after, found };
    keepUnlessFailed(this.#reads, key, read, found);
    const bytes = (await found).messages.reduce((sum, { size }) => sum + size, 0);
    // It was dropped meanwhile, and is not kept for others: it may be older than a deletion.
    if (this.#reads.get(key) !== read) return found;
    if (this.#readBytes + bytes > MAX_READ_BYTES) {
      this.forget();
      this.#reads.set(key, read);
    }
    this.#readBytes += bytes;
    return found;
  }
}

/** Puts a value into the map, and takes it out again if the result fails, unless another one is there. */
function keepUnlessFailed<T>(map: Map<string, T>, key: string, value: T, result: Promise<unknown>): void {
  map.set(key, value);
  result.catch(() => {
    if (map.get(key) === value) map.delete(key);
  });
}
