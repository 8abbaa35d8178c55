/**
 * The rows of the chat in order, bounded: those that the filters show, and up to as many hidden ones. While
 * the reader looks at older rows, none of them is removed: newer rows are added up to a bound, and beyond it
 * wait in memory.
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
  /** Called when a row was dropped for good. */
  dropped(row: Row): void;
}

export class Log {
  /** The number of rows that arrived since the reader stopped following. */
  news = 0;
  readonly #options: LogOptions;
  /** Every kept row with its sequence number. */
  readonly #rows = new Map<Row, number>();
  readonly #drawn = new Set<Row>();
  readonly #hidden = new Set<Row>();
  readonly #waiting = new Set<Row>();
  #following = true;
  /** Whether rows between the drawn and the waiting ones were dropped. */
  #torn = false;
  #came = 0;
  /** The sequence number of the newest row that was dropped at the bound. */
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

  /** Sets whether the reader follows the newest row. */
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
   * Applies a new filter. Unless it only hides more, it may show rows that were dropped already: then the
   * rows older than the newest dropped one go, because rows between them and the newest are missing.
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

  /** All kept rows. */
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
