/**
 * Where a backfill of some types begins. Remembers the types of a room's newest messages, a byte each, so
 * that only the first viewer with a filter waits for the store, and later ones read nothing.
 */
import type { StoredMessage } from "../store/stored-message.ts";
import { countedBy, type TypeFilter, typeBit } from "./type-filter.ts";

/** How far a backfill looks back, in messages. */
const MAX_MESSAGES = 20_000;
/** Maximum messages in one read. */
const PAGE_MESSAGES = 500;

/** The messages after cursor `after` up to `to`. */
type Read = (after: number, to: number) => Promise<readonly StoredMessage[]>;

export class Lookback {
  readonly #read: Read;
  /**
   * A ring buffer. The entry at `cursor % MAX_MESSAGES` is the number of the message's type bit, counted from
   * the highest bit.
   */
  readonly #bits = new Uint8Array(MAX_MESSAGES);
  /** It knows the types of the messages after `low` up to `head`. */
  #low: number;
  #head: number;
  #reading: Promise<boolean> | undefined;

  /** Knows nothing yet of the messages up to `head`. */
  constructor(head: number, read: Read) {
    this.#low = head;
    this.#head = head;
    this.#read = read;
  }

  /** Adds new messages; skips those up to its head. */
  push(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      if (message.cursor !== this.#head + 1) continue;
      this.#head = message.cursor;
      this.#note(message);
    }
    this.#low = Math.max(this.#low, this.#head - MAX_MESSAGES);
  }

  /**
   * The cursor before the newest `count` messages of the filter's types, among those after `floor` up to
   * `end`. If there are fewer within reach, the cursor before the oldest of them. Rejects as the read does.
   */
  async start(end: number, count: number, filter: TypeFilter, floor: number): Promise<number> {
    const counted = countedBy(filter);
    const from = Math.max(floor, Math.min(end, this.#head));
    let start = from;
    let left = count;
    for (let cursor = from; left > 0 && cursor > floor; cursor--) {
      if (cursor <= this.#low && !(await this.#readOn(floor))) break;
      if ((this.#bitAt(cursor) & counted) === 0) continue;
      start = cursor - 1;
      left -= 1;
    }
    return start;
  }

  /**
   * Skips the messages directly behind cursor `after` that the filter leaves out. Returns the cursor of the
   * last of them, at most `upTo`; `after` if there are none.
   */
  skip(after: number, upTo: number, filter: TypeFilter): number {
    let cursor = after;
    const end = Math.min(upTo, this.#head);
    while (cursor >= this.#low && cursor < end && (this.#bitAt(cursor + 1) & filter) === 0) cursor += 1;
    return cursor;
  }

  /**
   * Reads the page before `low`. All callers that wait for it share one read. Resolves to whether there is
   * such a page.
   */
  #readOn(floor: number): Promise<boolean> {
    this.#reading ??= this.#readPage(floor).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readPage(floor: number): Promise<boolean> {
    const low = this.#low;
    const after = Math.max(floor, low - PAGE_MESSAGES, this.#head - MAX_MESSAGES);
    if (after >= low) return false;
    const messages = await this.#read(after, low);
    // New messages that came during the read may have overwritten the entries of the oldest.
    const oldest = this.#head - MAX_MESSAGES;
    for (const message of messages) if (message.cursor > oldest) this.#note(message);
    this.#low = Math.max(after, oldest);
    return true;
  }

  #note(message: StoredMessage): void {
    this.#bits[message.cursor % MAX_MESSAGES] = Math.clz32(typeBit(message));
  }

  #bitAt(cursor: number): number {
    return (1 << 31) >>> (this.#bits[cursor % MAX_MESSAGES] ?? 0);
  }
}
