/**
 * One video's chat for all its viewers: follows the room's log in the store and passes each new batch to its
 * viewers. Others decide who polls it, and how long it stays without viewers.
 */
import type { Clock } from "../clock.ts";
import type { ChatType, RoomEnd } from "../protocol/chat.ts";
import { retry } from "../retry.ts";
import type { ObservedStore } from "../store/observed.ts";
import { isUnavailable } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { backfillCursor, type CursorRange, resumeCursor } from "./cursor.ts";
import type { Form } from "./form.ts";
import type { Sink } from "./sink.ts";
import { inSlices } from "./slices.ts";
import { assembleChunk, type Chunk, Tail } from "./tail.ts";
import { Viewer, type ViewerHost } from "./viewer.ts";

/**
 * Maximum messages in one read of the store for a viewer below the tail. A read ends at a multiple of this,
 * so that viewers who resume from different cursors soon share their reads.
 */
const PAGE_MESSAGES = 100;
/** Pages kept for viewers that follow closely: 2 MiB per room, and only for a second. */
const MAX_SHARED_PAGES = 32;
const READ_RETRY = { firstMs: 100, maxMs: 5000 };

export interface RoomSettings {
  keepaliveMs: number;
  /** How long a viewer may take no bytes, in milliseconds. */
  stallMs: number;
  /** Whether deleted messages are blanked in the store, and here. */
  isBlanking: boolean;
}

/** The request of a connection. */
export interface StreamRequest {
  videoId: string;
  /** The cursor to resume after. */
  lastEventId: number | undefined;
  /** Undefined if the client named none. */
  backfill: number | undefined;
  /** The viewer's address, or its network. */
  address(): string;
  /** Opens the response, once the viewer's start is known. Throws if the client is gone. */
  open(): Sink;
}

export interface RoomParts {
  store: ObservedStore;
  clock: Clock;
  telemetry: Telemetry;
  settings: RoomSettings;
}

export class Room implements ViewerHost {
  readonly videoId: string;
  readonly chatType: ChatType;
  readonly tail: Tail;
  readonly #parts: RoomParts;
  readonly #viewers = new Set<Viewer>();
  /** Pages read since the last tick. */
  readonly #pages = new Map<string, Promise<Chunk>>();
  /** Pages beyond the shared ones are not compressed, because few viewers share them. */
  #pagesRead = 0;
  readonly #closed = new AbortController();
  /** Number of viewers whose start is being looked up. */
  #entering = 0;
  #range: Promise<CursorRange> | undefined;
  #end: RoomEnd | undefined;
  #following: Promise<void> | undefined;
  #keepaliveDueAt: number;
  /** Called each time the last viewer leaves. */
  onIdle: (() => void) | undefined;

  /** A room whose log is known to reach cursor `head`. */
  constructor(videoId: string, chatType: ChatType, head: number, parts: RoomParts) {
    this.videoId = videoId;
    this.chatType = chatType;
    this.tail = new Tail(head, parts.settings.isBlanking);
    this.#parts = parts;
    this.#keepaliveDueAt = parts.clock.monotonic() + parts.settings.keepaliveMs;
  }

  get end(): RoomEnd | undefined {
    return this.#end;
  }

  get viewerCount(): number {
    return this.#viewers.size + this.#entering;
  }

  get stallMs(): number {
    return this.#parts.settings.stallMs;
  }

  now(): number {
    return this.#parts.clock.monotonic();
  }

  /** Relays the log from the tail's head. Resolves when the room is over or closed. Later calls join it. */
  follow(): Promise<void> {
    this.#following ??= this.#follow();
    return this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closed;
    for await (const next of this.#parts.store.follow(this.videoId, this.tail.head, signal)) {
      const durableAt = this.now();
      if (this.#parts.settings.isBlanking) this.#pages.clear(); // they may be from before a deletion
      if (Array.isArray(next)) this.tail.push(next);
      else if (next.state !== "released" || this.#end) this.finish(next);
      else return this.close(); // by another instance: its viewers reconnect and reopen it
      await inSlices(this.#viewers, this.#parts.clock, (viewer) => viewer.pump());
      this.#parts.telemetry.published(this.now() - durableAt);
    }
  }

  /** The room is over: viewers get the terminal frame once they have everything. */
  finish(end: RoomEnd): void {
    this.#end = end;
  }

  /**
   * Adds a viewer. `historyEnd`: the cursor up to which messages are history, for a viewer without a cursor
   * to resume from; by default the head. Rejects with `StoreError`, and with the error of `open`.
   */
  async enter({ lastEventId, backfill, open }: StreamRequest, historyEnd?: number): Promise<void> {
    this.#entering += 1;
    try {
      const range = await this.#currentRange();
      // [spec] When `Last-Event-ID` is a valid cursor, the server resumes from exactly after it
      const cursor =
        resumeCursor(range, lastEventId) ??
        backfillCursor(range, historyEnd ?? range.head, backfill, this.chatType);
      const viewer = new Viewer(this, open(), cursor);
      this.#viewers.add(viewer);
      // If the room was closed meanwhile, the viewer is disconnected and reconnects to the room's next owner.
      if (this.#closed.signal.aborted) viewer.end();
      else viewer.start({ videoId: this.videoId, chatType: this.chatType, cursor });
    } finally {
      this.#entering -= 1;
      this.#reportIdle();
    }
  }

  sent(bytes: number): void {
    this.#parts.telemetry.sent(bytes);
  }

  leave(viewer: Viewer): void {
    if (this.#viewers.delete(viewer)) this.#reportIdle();
  }

  #reportIdle(): void {
    if (this.viewerCount === 0) this.onIdle?.();
  }

  /** Sends due keepalives, and drops viewers that have stopped reading. */
  async tick(): Promise<void> {
    const { clock, telemetry } = this.#parts;
    const { keepaliveMs } = this.#parts.settings;
    this.#pages.clear();
    this.#pagesRead = 0;
    const keepaliveDue = this.now() >= this.#keepaliveDueAt;
    if (keepaliveDue) this.#keepaliveDueAt = this.now() + keepaliveMs;
    const suspects: Viewer[] = [];
    await inSlices(this.#viewers, clock, (viewer) => {
      if (keepaliveDue) viewer.keepalive();
      if (viewer.isSuspect) suspects.push(viewer);
    });
    for (const viewer of suspects) {
      if (await viewer.resetIfStopped()) telemetry.viewerDropped(this.videoId, viewer.cursor);
    }
  }

  /** All viewers, for an orderly shutdown. */
  get viewers(): ReadonlySet<Viewer> {
    return this.#viewers;
  }

  /** Stops following, and disconnects the remaining viewers. */
  close(): void {
    this.#closed.abort();
    for (const viewer of this.#viewers) viewer.end();
  }

  broken(error: unknown): void {
    if (!this.#closed.signal.aborted) this.#parts.telemetry.roomBroken(this.videoId, error);
  }

  /**
   * The page after a cursor. Viewers that read it at about the same time share the read: after a restart many
   * resume from the same cursor.
   */
  page(after: number, form: Form): Promise<Chunk> {
    const key = `${after} ${form.key}`;
    let page = this.#pages.get(key);
    if (!page) {
      if (this.#pages.size >= MAX_SHARED_PAGES) this.#pages.clear();
      this.#pagesRead += 1;
      page = this.#readPage(after, form);
      page.catch(() => this.#pages.delete(key));
      this.#pages.set(key, page);
    }
    return page;
  }

  #readPage(after: number, form: Form): Promise<Chunk> {
    const { store, clock } = this.#parts;
    return retry(READ_RETRY, clock, this.#closed.signal, isUnavailable, async () => {
      const messages = await store.read(this.videoId, after, PAGE_MESSAGES - (after % PAGE_MESSAGES));
      const last = messages.at(-1)?.cursor ?? this.tail.floor;
      const before = last - messages.length;
      if (before !== after) await this.#expectPruned(after, before);
      if (messages.length === 0) return { packet: undefined, next: last };
      return assembleChunk(before, messages.map(form.frame), form, this.#pagesRead <= MAX_SHARED_PAGES);
    });
  }

  /** A page may skip messages only if pruning has just overtaken the reader. */
  async #expectPruned(after: number, skippedTo: number): Promise<void> {
    const record = await this.#parts.store.getRoom(this.videoId);
    if (!record || record.floor >= skippedTo) return; // without a record, the whole room was pruned
    throw new Error(`the store skips from cursor ${after} to ${skippedTo} in room ${this.videoId}`);
  }

  /** Shared while a read is in progress, because viewers arrive in waves. */
  #currentRange(): Promise<CursorRange> {
    this.#range ??= this.#parts.store
      .getRoom(this.videoId)
      .then((record) => record ?? { base: this.tail.head, floor: this.tail.head, head: this.tail.head })
      .finally(() => {
        this.#range = undefined;
      });
    return this.#range;
  }
}
