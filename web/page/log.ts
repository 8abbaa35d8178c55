/**
 * The rows of the chat in order, bounded: what the filters show, and once more what they hide. While the reader looks
 * at older rows nothing is taken from under them: newer rows are added up to a bound, and wait in memory beyond it.
 */
import type { Look } from "../chat/message.ts";
import { elementOf, type Row } from "../chat/transcript.ts";

const MAX_FOLLOWING = 500;
const MAX_READING = 1000;
const MAX_WAITING = 500;

interface LogOptions {
  content: HTMLElement;
  look: Look;
  isShown(row: Row): boolean;
  /** A row has left for good. */
  dropped(row: Row): void;
}

export class Log {
  /** How many rows came since the reader stopped following. */
  news = 0;
  readonly #options: LogOptions;
  /** Every row that is kept, and the number that it came as. */
  readonly #rows = new Map<Row, number>();
  readonly #drawn = new Set<Row>();
  readonly #hidden = new Set<Row>();
  readonly #waiting = new Set<Row>();
  #following = true;
  /** Whether rows between the drawn and the waiting ones are lost. */
  #torn = false;
  #came = 0;
  /** The number of the newest row that was dropped because there were too many. */
  #dropped = 0;

  constructor(options: LogOptions) {
    this.#options = options;
  }

  add(rows: Iterable<Row>): void {
    const fresh = document.createDocumentFragment();
    for (const row of rows) {
      this.#came += 1;
      this.#rows.set(row, this.#came);
      if (!this.#options.isShown(row)) {
        this.#hidden.add(row);
        continue;
      }
      if (!this.#following) this.news += 1;
      if (this.#following || (this.#waiting.size === 0 && !this.#torn && this.#drawn.size < MAX_READING)) {
        this.#drawn.add(row);
        fresh.append(elementOf(row, this.#options.look));
      } else this.#waiting.add(row);
    }
    this.#options.content.append(fresh);
    this.#trim();
  }

  remove(row: Row): void {
    this.#rows.delete(row);
    for (const rows of [this.#drawn, this.#hidden, this.#waiting]) rows.delete(row);
    row.element?.remove();
  }

  clear(): void {
    for (const row of this.#rows.keys()) this.#drop(row);
    this.#dropped = 0;
    this.#torn = false;
    this.news = 0;
  }

  /** The reader is at the newest row from now on, or no longer. */
  follow(following: boolean): void {
    this.#following = following;
    this.news = 0;
    if (!following) return;
    if (this.#torn) this.#limit(this.#drawn, 0);
    this.#torn = false;
    for (const row of this.#waiting) this.#drawn.add(row);
    const { content, look } = this.#options;
    content.append(...[...this.#waiting].map((row) => elementOf(row, look)));
    this.#waiting.clear();
    this.#trim();
  }

  /**
   * Asks anew which rows are shown. Unless the new filter only hides more, it may let through what was dropped already:
   * rows from before that go, for others are missing between them and the newest.
   */
  filter(isNarrower: boolean): void {
    for (const [row, number] of isNarrower ? [] : this.#rows) if (number < this.#dropped) this.#drop(row);
    const { content, look, isShown } = this.#options;
    const lastDrawn = [...this.#drawn].at(-1);
    let isBehind = false;
    const waits = this.#waiting.size > 0 || this.#torn;
    for (const rows of [this.#drawn, this.#hidden, this.#waiting]) rows.clear();
    for (const row of this.#rows.keys()) {
      if (!isShown(row)) this.#hidden.add(row);
      else (isBehind && waits ? this.#waiting : this.#drawn).add(row);
      if (row === lastDrawn) isBehind = true;
    }
    content.replaceChildren();
    this.#trim();
    content.replaceChildren(...[...this.#drawn].map((row) => elementOf(row, look)));
  }

  /** Every row that is kept. */
  get rows(): Iterable<Row> {
    return this.#rows.keys();
  }

  #trim(): void {
    const most = this.#following ? MAX_FOLLOWING : MAX_READING;
    this.#limit(this.#drawn, most);
    this.#limit(this.#hidden, most);
    if (this.#waiting.size <= MAX_WAITING) return;
    this.#torn = true;
    this.#limit(this.#waiting, MAX_WAITING);
  }

  #limit(rows: Set<Row>, most: number): void {
    let excess = rows.size - most;
    for (const row of rows) {
      if (excess-- <= 0) return;
      this.#dropped = Math.max(this.#dropped, this.#rows.get(row) ?? 0);
      this.#drop(row);
    }
  }

  #drop(row: Row): void {
    this.remove(row);
    this.#options.dropped(row);
  }
}
