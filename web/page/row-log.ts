/**
 * The rows of the chat in order: a bounded number that the filters show, and as many that they hide. While
 * the reader looks at older rows, they stay: newer rows are added up to a bound, and beyond it wait in
 * memory.
 */

import { elementOf, type Row } from "../chat/chat-rows.ts";
import { giveUpPictures } from "../chat/pictures.ts";
import type { Display } from "../chat/shown-message.ts";

const MAX_FOLLOWING = 500;
const MAX_READING = 1000;
const MAX_WAITING = 500;
/** How far a jump moves the numbering down, so that the pages loaded below it find free numbers. */
const JUMP = 1e6;

interface LogOptions {
  content: HTMLElement;
  display: Display;
  isShown(row: Row): boolean;
  /** Called when a row was dropped for good. */
  dropped(row: Row): void;
}

export class Log {
  /** The number of messages that arrived since the reader stopped following, not counting removed ones. */
  news = 0;
  readonly #options: LogOptions;
  /** Every kept row with its sequence number. */
  #rows = new Map<Row, number>();
  #drawn = new Set<Row>();
  #hidden = new Set<Row>();
  #waiting = new Set<Row>();
  #following = true;
  /**
   * Whether rows between the drawn and the waiting ones are missing: more than `MAX_WAITING` came while the
   * reader looked at older ones, or a search result was opened.
   */
  #torn = false;
  /**
   * Whether rows below the drawn ones wait to be drawn again: the reader has scrolled back over more than
   * `MAX_READING` rows, or has opened a search result.
   */
  #isAway = false;
  #came = 0;
  /** The number of rows that had come when the reader stopped following. */
  #read = 0;
  /** The sequence number of the oldest row that was put above. */
  #first = 0;
  /** The sequence number of the newest row that was dropped at the bound. */
  #dropped = Number.NEGATIVE_INFINITY;

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
      if (!this.#following && row.message) this.news += 1;
      if (this.#following || (this.#waiting.size === 0 && !this.#torn && this.#drawn.size < MAX_READING)) {
        this.#drawn.add(row);
        fresh.append(elementOf(row, this.#options.display));
      } else this.#waiting.add(row);
    }
    this.#options.content.append(fresh);
    this.#trim();
  }

  /**
   * Puts older rows above. `isPartial`: the filters left out others between them. Beyond the bound, the
   * newest drawn rows are taken away, and wait to be drawn again. Returns whether the filters show any.
   */
  prepend(rows: readonly Row[], isPartial: boolean): boolean {
    if (isPartial) this.#dropped = Math.max(this.#dropped, this.#first);
    this.#first -= rows.length;
    const { content, display, isShown } = this.#options;
    const shown = rows.filter(isShown);
    this.#rows = new Map([...rows.map((row, at) => [row, this.#first + at] as const), ...this.#rows]);
    this.#hidden = new Set([...rows.filter((row) => !isShown(row)), ...this.#hidden]);
    const drawn = [...shown, ...this.#drawn];
    const away = drawn.splice(MAX_READING);
    for (const row of away) row.element?.remove();
    content.prepend(...shown.map((row) => elementOf(row, display)));
    this.#drawn = new Set(drawn);
    this.#waiting = new Set([...away, ...this.#waiting]);
    this.#isAway ||= away.length > 0;
    this.#trim();
    return shown.length > 0;
  }

  /** Draws only these rows, which are older than all others; the others wait to be drawn again. */
  jump(rows: readonly Row[]): void {
    const others = [...this.#drawn, ...this.#waiting];
    for (const row of others) row.element?.remove();
    this.#drawn.clear();
    this.#waiting = new Set(others);
    this.#isAway = this.#torn = true;
    this.#dropped = Math.max(this.#dropped, this.#first); // no filter can show those that are missing below
    this.#first -= JUMP;
    this.prepend(rows, false);
  }

  /** The drawn row of this cursor, or the next one below it. */
  at(cursor: number): Row | undefined {
    return [...this.#drawn].find(({ message }) => message && message.cursor >= cursor);
  }

  /** Whether rows below the drawn ones wait to be drawn again by `append`. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** The cursors between which stored rows are missing, if there are any below the drawn ones. */
  get missing(): { after: number; before: number | undefined } | undefined {
    if (!this.#torn) return undefined;
    return { after: cursorOf([...this.#drawn].reverse()) ?? 0, before: cursorOf(this.#waiting) };
  }

  /**
   * Puts rows below the drawn ones, for a reader who comes down again. `isLast`: no other rows are missing
   * between them and those that wait, which come next.
   */
  append(rows: readonly Row[], isLast: boolean): void {
    const { content, display, isShown } = this.#options;
    const last = [...this.#drawn].at(-1);
    const from = (last && this.#rows.get(last)) ?? this.#first;
    const share = 1 / (rows.length + 1);
    for (const [at, row] of rows.entries()) {
      this.#rows.set(row, from + (at + 1) * share);
      (isShown(row) ? this.#drawn : this.#hidden).add(row);
    }
    this.#rows = new Map([...this.#rows].sort(([, a], [, b]) => a - b));
    if (isLast) {
      this.#torn = false;
      for (const row of this.#waiting) this.#drawn.add(row);
      this.#waiting.clear();
      this.#isAway = false;
    }
    content.append(
      ...[...this.#drawn].filter((row) => !row.element?.isConnected).map((row) => elementOf(row, display)),
    );
    this.#trim();
  }

  /** The cursor of the oldest row that is drawn; if none is, of the oldest row. */
  get oldest(): number | undefined {
    return cursorOf(this.#drawn) ?? cursorOf(this.#rows.keys());
  }

  remove(row: Row): void {
    const isNew = (this.#rows.get(row) ?? 0) > this.#read && !this.#hidden.has(row);
    if (isNew && !this.#following) this.news = Math.max(0, this.news - 1);
    this.#forget(row);
  }

  clear(): void {
    for (const row of this.#rows.keys()) this.#drop(row);
    this.#dropped = Number.NEGATIVE_INFINITY;
    this.#torn = false;
    this.#isAway = false;
    this.news = 0;
  }

  /** Sets whether the reader follows the newest row. */
  follow(following: boolean): void {
    this.#following = following;
    this.news = 0;
    this.#read = this.#came;
    if (!following) return;
    this.#isAway = false;
    if (this.#torn) this.#limit(this.#drawn, 0);
    this.#torn = false;
    for (const row of this.#waiting) this.#drawn.add(row);
    const { content, display } = this.#options;
    content.append(...[...this.#waiting].map((row) => elementOf(row, display)));
    this.#waiting.clear();
    this.#trim();
  }

  /**
   * Applies a new filter. Unless it only hides more, it may show rows that were dropped already: then the
   * rows older than the newest dropped one go, because rows between them and the newest are missing.
   */
  filter(isNarrower: boolean): void {
    if (!isNarrower) {
      for (const [row, number] of this.#rows) if (number < this.#dropped) this.#drop(row);
      this.#torn = false; // the rows before the missing ones are gone
    }
    const { content, display, isShown } = this.#options;
    const lastDrawn = [...this.#drawn].at(-1);
    let isBehind = false;
    const waits = this.#waiting.size > 0 || this.#torn;
    this.#isAway &&= waits;
    for (const rows of [this.#drawn, this.#hidden, this.#waiting]) rows.clear();
    for (const row of this.#rows.keys()) {
      if (!isShown(row)) this.#hidden.add(row);
      else (isBehind && waits ? this.#waiting : this.#drawn).add(row);
      if (row === lastDrawn) isBehind = true;
    }
    content.replaceChildren();
    this.#trim();
    content.replaceChildren(...[...this.#drawn].map((row) => elementOf(row, display)));
  }

  /** Whether the row is shown although the filters hide it, or the reverse: its content has changed. */
  isMisplaced(row: Row): boolean {
    return this.#rows.has(row) && this.#hidden.has(row) === this.#options.isShown(row);
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

  /** Drops the first rows beyond the bound. */
  #limit(rows: Set<Row>, most: number): void {
    let excess = rows.size - most;
    for (const row of rows) {
      if (excess-- <= 0) return;
      this.#dropped = Math.max(this.#dropped, this.#rows.get(row) ?? 0);
      this.#drop(row);
    }
  }

  #drop(row: Row): void {
    this.#forget(row);
    this.#options.dropped(row);
  }

  #forget(row: Row): void {
    this.#rows.delete(row);
    for (const rows of [this.#drawn, this.#hidden, this.#waiting]) rows.delete(row);
    row.element?.remove();
    giveUpPictures(row.element);
  }
}

/** The cursor of the first row that has one. */
function cursorOf(rows: Iterable<Row>): number | undefined {
  for (const { message } of rows) if (message) return message.cursor;
  return undefined;
}
