/**
 * One video's chat for all its viewers: follows the room's log in the store and passes each new batch to its
 * viewers. Others decide who polls it, and how long it stays without viewers.
 */
import type { Clock } from "../base/clock.ts";
import type { ChatType, RoomEnd, StreamEnd } from "../protocol/chat.ts";
import { RelayError } from "../protocol/errors.ts";
import { readPart } from "../store/log-reader.ts";
import { isUnavailable } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { BetweenPolls } from "./between-polls.ts";
import { backfillCount, type CursorRange, resumeCursor } from "./cursor.ts";
import { type Feed, Feeds } from "./feeds.ts";
import { type LogPosition, positionIn } from "./log/log-position.ts";
import type { RoomLog } from "./room-log.ts";
import { SharedPages } from "./shared-pages.ts";
import type { Sink } from "./sink.ts";
import { inSlices } from "./slices.ts";
import { type Chunk, Tail } from "./tail.ts";
import { ALL, countedBy, rareTypesOf, type TypeFilter, typeBit } from "./type-filter.ts";
import { Viewer, type ViewerHost } from "./viewer.ts";

/** Messages in one read of the store that looks for a start. */
const READ_MESSAGES = 500;

export interface RoomSettings {
  keepaliveMs: number;
  /** Whether deleted messages are blanked in the store, and here; may change at any time. */
  readonly isBlanking: boolean;
  /** The number of newest messages that the room holds in memory; 500 if absent. */
  tailMessages?: number;
}

/** The request of a connection. */
export interface StreamRequest {
  videoId: string;
  /** The cursor to resume after. */
  lastEventId: number | undefined;
  /** Undefined if the client named none. */
  backfill: number | undefined;
  /**
   * Without a cursor to resume after, the stream begins with the first message stored at this time or later,
   * in wall milliseconds.
   */
  from?: number | undefined;
  /** By default everything. */
  filter?: TypeFilter;
  /** Whether the stream ends with the newest message stored now. */
  isBounded?: boolean;
  /**
   * Set if it reads the chat as a log: from exactly this position, and only up to the first end of the chat.
   * Then `backfill` and `from` mean nothing.
   */
  log?: LogPosition;
  /** Whether the upstream is asked even while the service remembers that the video has no chat. */
  isFresh?: boolean;
  /** Whether it records the chat, and so needs no place among the viewers. */
  isRecording?: boolean;
  /** The viewer's address, or its network. */
  address(): string;
  /**
   * Opens the response, once the viewer's start is known: it has everything of the room up to `cursor`.
   * Throws if the client is gone.
   */
  open(cursor: number, room: Room): Sink;
}

/** How many viewers are in the rooms of an instance. Each room adds its own. */
export interface Census {
  viewers: number;
}

export interface RoomParts {
  store: RoomLog;
  clock: Clock;
  telemetry: Telemetry;
  census: Census;
  settings: RoomSettings;
  /** The cursor at which the chat had ended when this room was opened; undefined if it had not. */
  closedBefore?: number | undefined;
}

export class Room implements ViewerHost {
  readonly videoId: string;
  readonly chatType: ChatType;
  readonly tail: Tail;
  readonly #parts: RoomParts;
  readonly #viewers = new Set<Viewer>();
  readonly feeds = new Feeds();
  readonly #pages: SharedPages;
  /** The readers that poll, between two polls. */
  readonly #betweenPolls = new BetweenPolls();
  readonly #closed = new AbortController();
  /** Number of viewers whose start is being looked up. */
  #entering = 0;
  #range: Promise<CursorRange> | undefined;
  /** The searches of starts that are under way, by what they look for. */
  readonly #searches = new Map<string, Promise<number | undefined>>();
  #end: RoomEnd | undefined;
  #bound: StreamEnd | undefined;
  #following: Promise<void> | undefined;
  #keepaliveDueAt: number;
  /** Called each time the last viewer leaves. */
  onIdle: (() => void) | undefined;

  /** A room whose log is known to reach cursor `head`. */
  constructor(videoId: string, chatType: ChatType, head: number, parts: RoomParts) {
    this.videoId = videoId;
    this.chatType = chatType;
    this.tail = new Tail(head, parts.settings);
    this.#parts = parts;
    const { store: log, clock } = parts;
    this.#pages = new SharedPages({ videoId, log, tail: this.tail, clock, closed: this.#closed.signal });
    this.#keepaliveDueAt = parts.clock.monotonic() + parts.settings.keepaliveMs;
  }

  get end(): RoomEnd | undefined {
    return this.#end;
  }

  get streamEnd(): StreamEnd | undefined {
    return this.#bound ?? this.#end;
  }

  /** The cursor at which the chat ended for the first time; undefined if nobody has read it to its end. */
  get closedAt(): number | undefined {
    const isReadToEnd = this.#following && this.#end?.state === "ended" && !this.#end.isUnfinished;
    return this.#parts.closedBefore ?? (isReadToEnd ? this.tail.head : undefined);
  }

  get viewerCount(): number {
    return this.#viewers.size + this.#entering + this.#betweenPolls.count;
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
      if (this.#parts.settings.isBlanking) this.#pages.forget(); // they may be from before a deletion
      if (Array.isArray(next)) {
        this.tail.push(next);
      } else if (next.state !== "released" || this.#end) this.finish(next);
      else return this.close(); // the owner has released it: viewers reconnect, which opens it again
      await inSlices(this.#viewers, this.#parts.clock, (viewer) => viewer.pump());
      this.#parts.telemetry.viewers.published(this.now() - durableAt);
    }
  }

  /** The room is over: viewers get the terminal frame once they have everything. */
  finish(end: RoomEnd): void {
    this.#end = end;
  }

  /**
   * Ends every stream at the tail's head, whatever else the store has. Only for rooms that do not follow the
   * log. `isGoingOn`: as in `StreamEnd`.
   */
  bound(isGoingOn: boolean): void {
    this.#bound = { state: "bounded", reason: "until", isGoingOn };
  }

  /**
   * Adds a viewer. `historyEnd`: the cursor up to which messages are history, for a viewer without a cursor
   * to resume from; by default the head. Rejects with `StoreError`, and with the error of `open`.
   */
  async enter(request: StreamRequest, historyEnd?: number): Promise<void> {
    const { lastEventId, filter = ALL } = request;
    this.#entering += 1;
    try {
      const cursor = this.#startInTail(request, historyEnd) ?? (await this.#startInLog(request, historyEnd));
      const sink = request.open(cursor, this);
      if (sink.isPoll) this.#betweenPolls.asked();
      const reported = cursor === lastEventId ? cursor : undefined;
      const viewer = new Viewer(this, sink, this.feeds.join(sink.form, filter), cursor, reported);
      this.#viewers.add(viewer);
      this.#parts.census.viewers += 1;
      // If the room was closed meanwhile, the viewer is disconnected and reconnects to the room's next owner.
      if (this.#closed.signal.aborted) viewer.end();
      else viewer.start({ videoId: this.videoId, chatType: this.chatType, cursor });
    } finally {
      this.#entering -= 1;
      this.#reportIdle();
    }
  }

  /** Whether the stored cursors were shifted. A room that is followed notices this by itself. */
  async isMoved(): Promise<boolean> {
    return !this.#parts.store.isRemote && (await this.#currentRange()).base > this.tail.head;
  }

  /**
   * The start of a viewer for whom the tail of a remote log has everything. While the log cannot be read, the
   * messages of a backfill that the tail does not hold are left out.
   */
  #startInTail(
    { log, lastEventId, from, backfill, filter = ALL }: StreamRequest,
    end = this.tail.head,
    isAway = false,
  ): number | undefined {
    if (log !== undefined) return this.#inTail(log);
    if (!this.#parts.store.isRemote) return undefined;
    if (lastEventId !== undefined) return this.tail.holds(lastEventId) ? lastEventId : undefined;
    if (from !== undefined || end !== this.tail.head) return undefined;
    const count = backfillCount(backfill, this.chatType);
    const { start, missing } = this.tail.backfill(count, filter);
    const isEnough = missing === 0 || (isAway && this.#following && count < Number.POSITIVE_INFINITY);
    return isEnough ? start : undefined;
  }

  /** Where a reader of the log begins if the tail has everything after its position. */
  #inTail(position: LogPosition): number | undefined {
    if (position === "now") return this.tail.head;
    return position !== "begin" && this.tail.holds(position) ? position : undefined;
  }

  async #startInLog(request: StreamRequest, historyEnd?: number): Promise<number> {
    try {
      return await this.#start(request, historyEnd);
    } catch (error) {
      const start = isUnavailable(error) ? this.#startInTail(request, historyEnd, true) : undefined;
      if (start === undefined) throw error;
      return start;
    }
  }

  async #start({ log, lastEventId, from, backfill, filter = ALL }: StreamRequest, historyEnd?: number) {
    const { store } = this.#parts;
    const range = await this.#currentRange();
    const { floor, head } = range;
    if (log !== undefined) return positionIn(log, floor, this.closedAt ?? Math.max(head, this.tail.head));
    // [spec] When `Last-Event-ID` is a valid cursor, the server resumes from exactly after it
    const resumed = resumeCursor(range, lastEventId);
    if (resumed !== undefined) return resumed;
    const end = historyEnd ?? head;
    if (from !== undefined) return (await store.cursorAt(this.videoId, from)) ?? head;
    const count = backfillCount(backfill, this.chatType);
    const isWhole = count === Number.POSITIVE_INFINITY || end <= floor;
    if (filter === ALL || count === 0 || isWhole) return Math.max(floor, end - count);
    return this.#startOf(count, filter, floor, end);
  }

  /**
   * The cursor before the newest `count` messages that the filter counts, among those after cursor `floor`
   * up to `end`; if there are fewer, the cursor before the oldest of them. The store is read only for those
   * below the tail, and once for all viewers that wait for the same ones.
   */
  async #startOf(count: number, filter: TypeFilter, floor: number, end: number): Promise<number> {
    const { start, missing } = this.tail.backfill(count, filter, floor, end);
    const to = Math.min(end, this.tail.floor);
    if (missing === 0 || to <= floor) return start;
    const key = `${missing} ${filter} ${to}`;
    const search = this.#searches.getOrInsertComputed(key, () =>
      this.#search(missing, filter, floor, to).finally(() => this.#searches.delete(key)),
    );
    return (await search) ?? start;
  }

  /** As `#startOf`, in the store alone; undefined if there is no such message. */
  async #search(count: number, filter: TypeFilter, floor: number, end: number): Promise<number | undefined> {
    const counted = countedBy(filter);
    const types = rareTypesOf(counted);
    let start: number | undefined;
    for (let to = end, missing = count; missing > 0 && to > floor; ) {
      const range = { after: floor, to, limit: types ? missing : READ_MESSAGES, isNewest: true };
      const part = await readPart(this.#parts.store, this.videoId, { types, ...range });
      for (const message of part.messages.toReversed()) {
        if (missing === 0 || (typeBit(message) & counted) === 0) continue;
        start = message.cursor - 1;
        missing -= 1;
      }
      to = part.after;
    }
    return start;
  }

  sent(bytes: number): void {
    this.#parts.telemetry.viewers.sent(bytes);
  }

  leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    this.#parts.census.viewers -= 1;
    this.feeds.leave(viewer.feed);
    if (viewer.isPoll) this.#betweenPolls.answered(this.now());
    this.#reportIdle();
  }

  #reportIdle(): void {
    if (this.viewerCount === 0) this.onIdle?.();
  }

  /** Sends due keepalives, and forgets pages and polls whose time is over. */
  async tick(): Promise<void> {
    const { clock } = this.#parts;
    const { keepaliveMs } = this.#parts.settings;
    this.#pages.tick();
    if (this.#betweenPolls.expire(this.now())) this.#reportIdle();
    if (this.now() < this.#keepaliveDueAt) return;
    this.#keepaliveDueAt = this.now() + keepaliveMs;
    await inSlices(this.#viewers, clock, (viewer) => viewer.keepalive());
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
    if (!this.#closed.signal.aborted) this.#parts.telemetry.rooms.broken(this.videoId, error);
  }

  failed(viewer: Viewer, error: unknown): void {
    if (error instanceof RelayError) return; // an edge's origin has lost the room, and its log has said so
    this.broken(error);
    this.#parts.telemetry.viewers.broken(this.videoId, viewer.cursor);
  }

  page(after: number, feed: Feed): Promise<Chunk> {
    return this.#pages.page(after, feed);
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
