/**
 * One chat for all its viewers: follows the room's log in the store and passes each new batch to its
 * viewers. It never writes to the log, and asks nothing of the upstream. Others decide who polls it, and how
 * long it stays without viewers.
 */
import type { Clock } from "../base/clock.ts";
import {
  type Chat,
  type ChatType,
  type ChatView,
  type FactName,
  type Init,
  isOver,
  isReplayChat,
  type RoomEnd,
  type StreamEnd,
} from "../protocol/chat.ts";
import { type ChatKey, chatOf, typeOfChat } from "../protocol/chat-key.ts";
import type { StoredStanding } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";
import { ifUnavailable, retryRead } from "../store/store-error.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { FactFrames } from "./fact-frames.ts";
import { type Feed, Feeds } from "./feeds.ts";
import { MessageFilter } from "./message-filter.ts";
import { PollingReaders } from "./polling-readers.ts";
import type { Beginning, CursorRange, HistoryEnd } from "./resume-or-backfill.ts";
import { RoomCursors } from "./room-cursors.ts";
import type { RoomLog } from "./room-log.ts";
import { SharedReads } from "./shared-reads.ts";
import type { Sink } from "./sink.ts";
import { inSlices } from "./slices.ts";
import { Starts } from "./starts.ts";
import { type Chunk, Tail, type TailSettings } from "./tail.ts";
import { Viewer } from "./viewer.ts";

export interface RoomSettings extends TailSettings {
  keepaliveMs: number;
}

/** The request of a connection. */
export interface StreamRequest extends Beginning {
  videoId: string;
  /** The chat that it must be; undefined: the one that `chat-choice.ts` says. */
  chat?: Chat | undefined;
  /**
   * The cursors of the stored replay that is not over and has `lastEventId`. `Rooms` finds it. A room of the
   * live chat is outdated for such a viewer.
   */
  replay?: CursorRange | undefined;
  /** Whether its first frame says what the video is. */
  wantsVideo?: boolean;
  /** What it is sent beside the messages. */
  facts?: readonly FactName[] | undefined;
  /** Whether the stream ends with the newest message stored now. */
  isBounded?: boolean;
  /**
   * Whether a page of its channel has shown the video. So the upstream is asked even while the service
   * remembers that the video has no chat.
   */
  isShown?: boolean;
  /** Whether its client knows that the chat goes on after the end of its room. */
  reopens?: boolean;
  /** Whether it records the chat. So it needs no place among the viewers, and asks as with `isShown`. */
  isRecording?: boolean;
  /**
   * The viewer's address, or its network. Only an opening needs it, so it is a function: the system's answer
   * takes 4 µs or more, and each connection keeps it in 140 bytes.
   */
  address(): string;
  /**
   * Opens the response, once the viewer's start is known: it has everything of the room up to `cursor`.
   * Throws if the client is gone.
   */
  openSink(cursor: number, room: Room): Sink;
}

/** How many viewers are in the rooms of an instance. Each room adds its own. */
export interface Census {
  viewers: number;
}

/**
 * An instance with a store gives all its rooms one object, so a room keeps one reference to all of it. An
 * edge makes one for each room.
 */
export interface RoomParts {
  store: RoomLog;
  clock: Clock;
  telemetry: Telemetry;
  census: Census;
  settings: RoomSettings;
}

export class Room {
  readonly key: ChatKey;
  readonly videoId: string;
  readonly chatType: ChatType;
  readonly tail: Tail;
  readonly #parts: RoomParts;
  readonly #viewers = new Set<Viewer>();
  readonly feeds = new Feeds();
  readonly #reads: SharedReads;
  readonly #cursors: RoomCursors;
  readonly #starts: Starts;
  /** The readers that poll, between two polls. */
  readonly #pollingReaders = new PollingReaders();
  readonly #disconnected = new AbortController();
  /** The facts that viewers have asked for. */
  readonly #facts = new Map<FactName, FactFrames>();
  /** Number of viewers whose start is being looked up. */
  #adding = 0;
  #end: RoomEnd | undefined;
  #bound: StreamEnd | undefined;
  #chats: Pick<Init, "chats"> = {};
  #following: Promise<void> | undefined;
  #keepaliveDueAt: number;
  /** The end of its history for the viewers that waited for its opening; undefined: its head. */
  historyEnd: HistoryEnd | undefined;
  /** The view that this instance has read, set when reading ends; undefined before, or if it never read. */
  view: ChatView | undefined;
  /** Called each time the last viewer leaves. */
  onIdle: (() => void) | undefined;

  /** A room whose log is known to reach cursor `head`. */
  constructor(key: ChatKey, head: number, parts: RoomParts) {
    const { videoId, chat } = chatOf(key);
    this.key = key;
    this.videoId = videoId;
    this.chatType = typeOfChat(chat);
    this.tail = new Tail(head, parts.settings);
    this.#parts = parts;
    const { store: log, clock } = parts;
    this.#reads = new SharedReads(key, log, this.tail, clock, this.#disconnected.signal);
    this.#cursors = new RoomCursors(key, log, this.tail);
    this.#starts = new Starts(this, log, this.#cursors);
    this.#keepaliveDueAt = clock.monotonic() + parts.settings.keepaliveMs;
  }

  /** The newest cursor. */
  get head(): number {
    return this.tail.head;
  }

  get end(): RoomEnd | undefined {
    return this.#end;
  }

  /** Set if nothing follows the head: viewers that have everything get the terminal frame and are closed. */
  get streamEnd(): StreamEnd | undefined {
    return this.#bound ?? this.#end;
  }

  /** Where the log is closed; undefined if it goes on. */
  get closedAt(): number | undefined {
    return isOver(this.#end) ? this.tail.head : undefined;
  }

  /** Whether it relays the log, or has relayed it. */
  get isFollowed(): boolean {
    return this.#following !== undefined;
  }

  get viewerCount(): number {
    return this.#viewers.size + this.#adding + this.#pollingReaders.count;
  }

  now(): number {
    return this.#parts.clock.monotonic();
  }

  /** Relays the log from its head. Resolves when the room ends or is disconnected. Later calls join. */
  follow(): Promise<void> {
    this.#following ??= this.#follow();
    return this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#disconnected;
    for await (const next of this.#parts.store.follow(this.key, this.tail.head, signal)) {
      const durableAt = this.now();
      if (this.#parts.settings.isBlanking) this.#reads.forget(); // kept reads may be older than a deletion
      if (Array.isArray(next)) {
        this.tail.push(next);
      } else if (next.state !== "released" || this.#end) this.finish(next);
      else return this.disconnect(); // the owner has released it: viewers reconnect, which opens it again
      await inSlices(this.#viewers, this.#parts.clock, (viewer) => viewer.pump());
      this.#parts.telemetry.viewers.published(this.now() - durableAt);
    }
  }

  /** The room has ended: viewers get the terminal frame once they have everything. */
  finish(end: RoomEnd): void {
    this.#end = end;
  }

  /**
   * Ends every stream at the tail's head, whatever else the store has. Only for rooms that do not follow the
   * log. `chat`: its standing. `chats`: those of the video that are stored, for the first frame.
   */
  bound(chat: StoredStanding, chats: Chat[]): void {
    this.#bound = { state: "bounded", reason: "until", chat };
    this.#chats = { chats };
  }

  /** Adds a viewer. `historyEnd`: by default the head. Rejects as `Starts.find` and `openSink` do. */
  async add(request: StreamRequest, historyEnd?: HistoryEnd): Promise<void> {
    const { lastEventId, filter = MessageFilter.everything, wantsVideo } = request;
    this.#adding += 1;
    try {
      const asked = request.facts?.filter((name) => name !== "standing" || this.#hasStanding);
      const facts = asked && (await Promise.all(asked.map((name) => this.#known(name))));
      const places = facts?.map((fact) => fact.place());
      if (wantsVideo) await this.#parts.store.learnVideo?.(this.key, this.#disconnected.signal);
      const cursor = await this.#starts.find(request, historyEnd);
      const sink = request.openSink(cursor, this);
      if (sink.form.isWhole) this.#pollingReaders.asked();
      const reported = cursor === lastEventId ? cursor : undefined;
      const feed = this.feeds.join(sink.form, filter);
      const viewer = new Viewer(this, sink, feed, cursor, reported, places);
      this.#viewers.add(viewer);
      this.#parts.census.viewers += 1;
      viewer.start(this.#init(cursor));
      // If the room was disconnected meanwhile, the viewer is ended and reconnects to the room's next owner.
      if (this.#disconnected.signal.aborted && this.#viewers.has(viewer)) viewer.end();
    } finally {
      this.#adding -= 1;
      this.#reportIdle();
    }
  }

  #init(cursor: number): Init {
    const init: Init = { videoId: this.videoId, chatType: this.chatType, cursor, ...this.#chats };
    const { video } = this.#cursors;
    if (video) init.details = video;
    return init;
  }

  /** Only a live chat that is read may be there, or be waited for. */
  get #hasStanding(): boolean {
    return this.isFollowed && !this.#end && !isReplayChat(this.chatType);
  }

  /** Whether the chat is waited for, as far as viewers or `hearStanding` have asked. */
  get isAwaited(): boolean {
    return this.#facts.get("standing")?.fact?.value !== undefined;
  }

  /** Resolves once `isAwaited` is known, if it can be true at all, or the room is disconnected. */
  async hearStanding(): Promise<void> {
    if (!this.#hasStanding) return;
    const { signal } = this.#disconnected;
    await retryRead(this.#parts.clock, signal, () => this.#known("standing")).catch((error) =>
      this.logBroken(error),
    );
  }

  /** Rejects with `StoreError` if it cannot be read; then the next viewer tries again. */
  async #known(name: FactName): Promise<FactFrames> {
    const { store, clock } = this.#parts;
    const begin = () =>
      new FactFrames(
        this.videoId,
        store.fact(this.key, name, this.#disconnected.signal),
        () => inSlices(this.#viewers, clock, (viewer) => viewer.pump()),
        (error) => this.logBroken(error),
      );
    const frames = this.#facts.getOrInsertComputed(name, begin);
    try {
      await frames.known;
      return frames;
    } catch (error) {
      if (this.#facts.get(name) === frames) this.#facts.delete(name);
      throw error;
    }
  }

  /** Whether the viewer can be served without the log. */
  needsNoLog(request: StreamRequest): boolean {
    return this.#starts.needsNoLog(request);
  }

  sent(bytes: number): void {
    this.#parts.telemetry.viewers.sent(bytes);
  }

  leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    this.#parts.census.viewers -= 1;
    this.feeds.leave(viewer.feed);
    if (viewer.feed.form.isWhole) this.#pollingReaders.answered(this.now());
    this.#reportIdle();
  }

  #reportIdle(): void {
    if (this.viewerCount === 0) this.onIdle?.();
  }

  /** Sends due keepalives, and forgets reads, chunks and polls whose time is over. */
  async tick(): Promise<void> {
    const { clock } = this.#parts;
    const { keepaliveMs } = this.#parts.settings;
    this.#reads.tick();
    this.tail.forget();
    if (this.#pollingReaders.expire(this.now())) this.#reportIdle();
    if (this.now() < this.#keepaliveDueAt) return;
    this.#keepaliveDueAt = this.now() + keepaliveMs;
    await inSlices(this.#viewers, clock, (viewer) => viewer.keepalive());
  }

  /** Drops from memory the messages that the retention has deleted, unless the log is unavailable. */
  async forgetDeleted(): Promise<void> {
    if (this.tail.floor < this.tail.head) await this.#cursors.read().catch(ifUnavailable(undefined));
  }

  /** All viewers, for an orderly shutdown. */
  get viewers(): ReadonlySet<Viewer> {
    return this.#viewers;
  }

  /** Stops following, and disconnects the remaining viewers. */
  disconnect(): void {
    this.#disconnected.abort();
    for (const viewer of this.#viewers) viewer.end();
  }

  logBroken(error: unknown): void {
    if (!this.#disconnected.signal.aborted) this.#parts.telemetry.rooms.broken(this.key, error);
  }

  /** A read broke the store's contract: the viewer cannot continue. */
  logFailed(viewer: Viewer, error: unknown): void {
    if (error instanceof RelayError) return; // its log was lost, or has begun again: its client reconnects
    this.logBroken(error);
    this.#parts.telemetry.viewers.broken(this.videoId, viewer.cursor);
  }

  /**
   * The chunk after a cursor: below the tail's floor a promise of one of the store, which may go beyond
   * `last`, the last cursor that is needed; else one of the tail, undefined if there is none yet.
   */
  chunk(after: number, feed: Feed, last?: number): Chunk | Promise<Chunk> | undefined {
    return after < this.tail.floor ? this.#reads.chunk(after, feed) : this.tail.chunk(after, feed, last);
  }
}
