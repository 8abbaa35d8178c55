/**
 * The overlay's rows, in cursor order: as many as the view shows, each for as long as the view keeps it.
 * Nothing is kept of a message that is not shown.
 */

import { readPinned, readPoll } from "../chat/above.ts";
import { ChatRows, EVENTS, elementOf, type Row, redraw } from "../chat/chat-rows.ts";
import { passes } from "../chat/filters.ts";
import { giveUpPictures } from "../chat/pictures.ts";
import type { ShownMessage, SourceMark } from "../chat/shown-message.ts";
import type { StoredPage, StoredQuery } from "../chat/stored.ts";
import type { AlertEffects } from "./alert-effects.ts";
import type { Options } from "./options.ts";
import { Pinned } from "./pinned.ts";
import { type View, viewOf } from "./views.ts";

/**
 * A row is gone at most 1.5 s late, the fading included. A hidden page's timers run once a second: there,
 * rows do not fade.
 */
const CHECK_MS = 200;
/**
 * Maximum rows that wait for a place. Beyond it the oldest row is dropped, but rows of received gifts first.
 */
const MAX_WAITING = 100;
/**
 * The messages of a chat's backfill come in quick succession: it is over when after the first no message has
 * come for this long, or in a chat that is never quiet, after the time that even a slow connection takes.
 */
const QUIET_MS = 250;
const LONGEST_MS = 3000;
/**
 * Rows of a backfill are drawn when no message has come for this long: most are pushed out by later ones
 * before, and their pictures are not requested.
 */
const SETTLED_MS = 50;

/** When the first and the last message of a chat's backfill came; undefined until the first. */
interface Backfill {
  beganAt?: number;
  lastAt?: number;
}

export class Stage {
  readonly #options: Options;
  readonly #view: View;
  readonly #chat: HTMLElement;
  readonly #pinned: Pinned;
  readonly #effects: AlertEffects | undefined;
  /** By video; of a source of one chat, the only one has no name. */
  readonly #chatRows = new Map<string, ChatRows>();
  /** The rows that have the newest pinned message. */
  #pinning: ChatRows | undefined;
  /** The time at which each row begins to leave. */
  readonly #rows = new Map<Row, number>();
  readonly #waiting = new Set<Row>();
  /** The open poll, which is above the chat and is none of the rows. */
  #poll: Row | undefined;
  /** By video as above, while a backfill is not over. */
  readonly #backfills = new Map<string, Backfill>();
  #drawing: ReturnType<typeof setTimeout> | undefined;

  /** `effects`: of alerts, if the options ask for any. */
  constructor(options: Options, chat: HTMLElement, pinned: HTMLElement, effects?: AlertEffects) {
    this.#effects = effects;
    this.#options = options;
    this.#view = viewOf(options);
    this.#chat = chat;
    this.#pinned = new Pinned(pinned);
    setInterval(() => this.#letLeave(), CHECK_MS);
  }

  /** Another chat begins. */
  clear(): void {
    for (const row of [...this.#rows.keys(), ...this.#waiting]) this.#drop(row);
    this.#poll = undefined;
    this.#chatRows.clear();
    this.#backfills.clear();
    this.#pinning = undefined;
    this.#showPinned();
  }

  /** The next messages of this chat are its backfill. */
  beginBackfill(source?: SourceMark): void {
    this.#backfills.set(source?.videoId ?? "", {});
  }

  /** `source`: the chat of the messages, if there are several. */
  take(items: readonly (ShownMessage | "gap")[], source?: SourceMark): void {
    this.#add(items, this.#isBackfill(source), source);
  }

  /**
   * Shows the pinned message and the open poll also if they are older than the backfill. `read`: the stored
   * messages of this chat, which has just begun.
   */
  async recall(read: (query: StoredQuery) => Promise<StoredPage>, source?: SourceMark): Promise<void> {
    const { types, hasPinned } = this.#view;
    const isWanted = (type: string): boolean => hasPinned && (!types || types.has(type));
    const rows = this.#rowsOf(source);
    try {
      const pinned = isWanted("banner") ? await readPinned(read) : undefined;
      const poll = isWanted("poll") ? await readPoll(read) : undefined;
      if (this.#chatRows.get(source?.videoId ?? "") !== rows) return; // another chat has begun
      if (pinned?.message) {
        if (source) pinned.message.source = source;
        rows.recall(pinned);
        const isNewest = rows.pinned === pinned && !isLater(this.#pinning?.pinned, pinned);
        if (isNewest) this.#pinning = rows;
      }
      if (poll && !this.#poll) this.#add([poll], false, source);
      else this.#showPinned();
    } catch (error) {
      console.error("earlier pinned messages cannot be loaded:", error);
    }
  }

  /** Whether the message of now is one of its chat's backfill. */
  #isBackfill({ videoId }: { videoId: string } = { videoId: "" }): boolean {
    const backfill = this.#backfills.get(videoId);
    if (!backfill) return false;
    const now = performance.now();
    const { beganAt = now, lastAt = now } = backfill;
    const isOver = now - lastAt >= QUIET_MS || now - beganAt >= LONGEST_MS;
    if (isOver) this.#backfills.delete(videoId);
    else Object.assign(backfill, { beganAt, lastAt: now });
    return !isOver;
  }

  #add(items: readonly (ShownMessage | "gap")[], isBackfill: boolean, source?: SourceMark): void {
    const rows = this.#rowsOf(source);
    const now = performance.now();
    for (const item of items) {
      const { pinned } = rows;
      const row: Row | undefined =
        item === "gap" ? { message: undefined, fate: {} } : rows.take(source ? { ...item, source } : item);
      if (rows.pinned && rows.pinned !== pinned) this.#pinning = rows;
      if (!row) continue;
      const staysMs = this.#isShown(row) ? this.#staysMs(row, true) : 0;
      if (staysMs === 0) rows.drop(row);
      else if (this.#view.waits) this.#wait(row);
      else if (this.#view.hasPinned && isOpenPoll(row)) this.#raise(row);
      else this.#rows.set(row, now + staysMs);
    }
    if (source && isBackfill) this.#mixByTime();
    if (this.#view.hasPinned) this.#showPinned();
    this.#limit(isBackfill);
    clearTimeout(this.#drawing);
    if (isBackfill) this.#drawing = setTimeout(() => this.#draw(), SETTLED_MS);
    else this.#draw();
  }

  #rowsOf({ videoId }: { videoId: string } = { videoId: "" }): ChatRows {
    const known = this.#chatRows.get(videoId);
    if (known) return known;
    const made = new ChatRows(this.#options.display, {
      changed: (row) => this.#change(row),
      removed: (row) => this.#remove(row),
    });
    this.#chatRows.set(videoId, made);
    return made;
  }

  /**
   * The backfills of several chats mix by time, and each keeps its own order: a message without a time has
   * that of the one before it.
   */
  #mixByTime(): void {
    const rows = [...this.#rows];
    const timeIn = (at: unknown) => Date.parse(`${at}`) || 0;
    /** By chat: first the earliest time, which those before it have, too. */
    const latest = new Map<string, number>();
    for (const [{ message }] of rows.reverse()) {
      const saidAt = timeIn(message?.details.publishedAt);
      if (message?.source && saidAt > 0) latest.set(message.source.videoId, saidAt);
    }
    let before = 0;
    const timed = rows.reverse().map((row) => {
      const { source, details } = row[0].message ?? {};
      const earliest = source ? (latest.get(source.videoId) ?? timeIn(details?.storedAt)) : before;
      before = Math.max(timeIn(details?.publishedAt), earliest);
      if (source) latest.set(source.videoId, before);
      return { row, at: before };
    });
    this.#reorder(timed.sort((one, other) => one.at - other.at).map(({ row }) => row));
  }

  #reorder(rows: readonly (readonly [Row, leavesAt: number])[]): void {
    this.#rows.clear();
    for (const [row, leavesAt] of rows) this.#rows.set(row, leavesAt);
  }

  /** Rows that are in their place stay: a move would animate them. */
  #draw(): void {
    for (const row of this.#waiting) {
      if (this.#rows.size >= this.#view.most) break;
      this.#waiting.delete(row);
      if (row.fate.deleted || !this.#isShown(row)) this.#drop(row);
      else this.#rows.set(row, performance.now() + this.#staysMs(row, true));
    }
    let next = this.#chat.firstElementChild;
    for (const row of this.#rows.keys()) {
      const isFresh = row.element === undefined;
      const element = elementOf(row, this.#options.display);
      if (element === next) next = next.nextElementSibling;
      else this.#chat.insertBefore(element, next);
      if (isFresh && row.message) this.#effects?.shown(row.message, element);
    }
  }

  #staysMs({ message }: Row, isNew: boolean): number {
    if (message) return this.#view.staysMs(message, isNew);
    return this.#options.fadeMs || Number.POSITIVE_INFINITY;
  }

  #isShown({ message }: Row): boolean {
    const { types } = this.#view;
    if (!message || message.type === "gap") return this.#options.view === "chat";
    if (types ? !types.has(message.type) : EVENTS.has(message.type)) return false;
    if (!passes(this.#options.filters, message)) return false;
    if (!this.#options.commands && message.type === "chat" && message.message.startsWith("!")) return false;
    return !this.#options.isHidden(message);
  }

  #wait(row: Row): void {
    this.#waiting.add(row);
    if (this.#waiting.size <= MAX_WAITING) return;
    const [oldest] = this.#waiting;
    const leastMissed = [...this.#waiting].find(({ message }) => message?.type === "gift_received") ?? oldest;
    if (leastMissed) this.#drop(leastMissed);
  }

  /** Shows the open poll above the chat. */
  #raise(row: Row): void {
    this.#lower();
    this.#poll = row;
  }

  /** Gives the poll that was above the chat its place among the rows. */
  #lower(): void {
    const row = this.#poll;
    if (!row) return;
    this.#poll = undefined;
    const rows = [...this.#rows];
    const { source, cursor = 0 } = row.message ?? {};
    const place = rows.findIndex(([{ message }]) => {
      return message?.source?.videoId === source?.videoId && (message?.cursor ?? 0) > cursor;
    });
    const leavesAt = performance.now() + this.#staysMs(row, true);
    rows.splice(place < 0 ? rows.length : place, 0, [row, leavesAt]);
    this.#reorder(rows);
  }

  /** The newest row is always shown. A gap takes no place: it leaves with the messages before it. */
  #limit(isBackfill: boolean): void {
    const { most, backfill } = this.#view;
    const places = isBackfill ? Math.max(1, Math.min(most, backfill)) : most;
    if (this.#rows.size <= places) return;
    const rows = [...this.#rows.keys()];
    const gaps = rows.filter(isGap);
    for (const gap of gaps.slice(0, Math.max(0, gaps.length - places))) this.#drop(gap);
    let surplus = rows.length - gaps.length - places;
    for (const row of rows) {
      if (surplus <= 0) return;
      this.#drop(row);
      if (!isGap(row)) surplus -= 1;
    }
  }

  /** A change can hide a row, or end the time that it stays. */
  #change(row: Row): void {
    const leavesAt = this.#rows.get(row);
    if ((leavesAt !== undefined || row === this.#poll) && !this.#isShown(row)) {
      this.#drop(row);
      return;
    }
    redraw(row, this.#options.display);
    if (row.fate.deleted && row.message) this.#effects?.deleted(row.message);
    if (row === this.#poll && !isOpenPoll(row)) {
      this.#lower();
      this.#draw();
    }
    this.#pinned.fit();
    if (leavesAt === undefined) return;
    const staysMs = this.#staysMs(row, row.element === undefined);
    if (staysMs === 0) this.#drop(row);
    else this.#rows.set(row, Math.min(leavesAt, performance.now() + staysMs));
  }

  #drop(row: Row): void {
    this.#remove(row);
    this.#rowsOf(row.message?.source).drop(row);
  }

  #remove(row: Row): void {
    this.#rows.delete(row);
    this.#waiting.delete(row);
    if (row === this.#poll) this.#poll = undefined;
    if (row.fate.deleted && row.message) this.#effects?.deleted(row.message);
    row.element?.remove();
    giveUpPictures(row.element);
  }

  #showPinned(): void {
    const above = [this.#pinning?.pinned, this.#poll].filter((row) => row && this.#isShown(row)) as Row[];
    this.#pinned.show(above.map((row) => elementOf(row, this.#options.display)));
  }

  #letLeave(): void {
    const now = performance.now();
    const fadingMs = document.hidden ? 0 : this.#view.fadingMs;
    for (const [row, leavesAt] of this.#rows) {
      if (now < leavesAt || (row.message && this.#effects?.isReading(row.message))) continue;
      row.element?.setAttribute("data-fading", "");
      if (now >= leavesAt + fadingMs) this.#drop(row);
    }
    this.#draw();
  }
}

/** Whether the first of two messages was stored later. */
function isLater(one: Row | undefined, other: Row | undefined): boolean {
  const [at, otherAt] = [one, other].map((row) => Date.parse(String(row?.message?.details.storedAt)));
  return Number(at) > Number(otherAt);
}

function isOpenPoll({ message }: Row): boolean {
  const { state } = message?.details.poll ?? {};
  return state === "open" || state === "updated";
}

function isGap({ message }: Row): boolean {
  return !message || message.type === "gap";
}
