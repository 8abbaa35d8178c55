/**
 * The pages of a room's log below its tail. Viewers that read a page at about the same time share the read,
 * whatever their feeds: after a restart many resume from the same cursor. Those of one feed also share its
 * bytes.
 */
import type { Clock } from "../base/clock.ts";
import { retryRead } from "../store/retry-read.ts";
import type { Feed } from "./feeds.ts";
import { Held } from "./held.ts";
import type { Lookback } from "./lookback.ts";
import { type RoomLog, readPage } from "./room-log.ts";
import { assembleChunk, type Chunk, type Tail } from "./tail.ts";

/**
 * Maximum messages in one read of the store. A read ends at a multiple of this, so that viewers who resume
 * from different cursors soon share their reads.
 */
const PAGE_MESSAGES = 100;
/** Pages kept for other viewers that read the same page within a second: at most 2 MiB per room. */
const MAX_PAGES = 32;

/** A read of the store. */
interface Read {
  /** The cursor before its messages. */
  after: number;
  messages: Promise<readonly Held[]>;
}

interface SharedPagesParts {
  videoId: string;
  log: RoomLog;
  tail: Tail;
  clock: Clock;
  /** Ends the reads that wait for the store. */
  closed: AbortSignal;
}

export class SharedPages {
  readonly #parts: SharedPagesParts;
  /** For each page, by its number: the latest read that went up to the page's end. */
  readonly #reads = new Map<number, Read>();
  /** The pages by cursor and feed. */
  readonly #pages = new Map<string, Promise<Chunk>>();
  /**
   * Number of pages assembled since the last tick. Pages beyond `MAX_PAGES` are not compressed, because few
   * viewers would share them.
   */
  #count = 0;

  constructor(parts: SharedPagesParts) {
    this.#parts = parts;
  }

  /**
   * The page after a cursor. `lookback` knows which messages the feed's filter leaves out. Rejects with
   * `StoreError`, and with an error that says which messages the store skips.
   */
  page(after: number, feed: Feed, lookback: Lookback | undefined): Promise<Chunk> {
    const key = `${after} ${feed.key}`;
    let page = this.#pages.get(key);
    if (!page) {
      if (this.#pages.size >= MAX_PAGES) this.forget();
      this.#count += 1;
      page = this.#assemble(after, feed, lookback, feed.isShared && this.#count <= MAX_PAGES);
      page.catch(() => this.#pages.delete(key));
      this.#pages.set(key, page);
    }
    return page;
  }

  /** Drops all pages: the store may have changed, or the viewers that shared them have moved on. */
  forget(): void {
    this.#pages.clear();
    this.#reads.clear();
  }

  /** Call it once a second. */
  tick(): void {
    this.forget();
    this.#count = 0;
  }

  async #assemble(after: number, feed: Feed, lookback: Lookback | undefined, isShared: boolean) {
    const { floor, head } = this.#parts.tail;
    const skipped = lookback?.skip(after, floor, feed.filter) ?? after;
    if (skipped > after) return assembleChunk({ after: skipped, head }, [], feed, isShared);
    const messages = await this.#read(after);
    const first = messages[0]?.message.cursor ?? this.#parts.tail.floor + 1;
    return assembleChunk({ after: first - 1, head }, messages, feed, isShared);
  }

  /**
   * The messages after a cursor up to the page's end. Long messages fill several chunks, so viewers ask for
   * the rest of a page several times; the store is asked once.
   */
  async #read(after: number): Promise<readonly Held[]> {
    const number = Math.floor(after / PAGE_MESSAGES);
    const known = this.#reads.get(number);
    if (known && known.after <= after) {
      const messages = (await known.messages).filter(({ message }) => message.cursor > after);
      if (messages.length > 0) return messages;
    }
    const { videoId, log, tail, clock, closed } = this.#parts;
    const limit = PAGE_MESSAGES - (after % PAGE_MESSAGES);
    const messages = retryRead(clock, closed, async () => {
      const page = await readPage(log, videoId, after, tail.head, limit); // the log may have more
      return page.map((message) => new Held(message));
    });
    const read = { after, messages };
    messages.catch(() => {
      if (this.#reads.get(number) === read) this.#reads.delete(number);
    });
    this.#reads.set(number, read);
    return messages;
  }
}
