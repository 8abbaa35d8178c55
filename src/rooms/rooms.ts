/**
 * All rooms of this instance: one entry for each video that has viewers or had them recently. Here they are
 * looked up, counted, ticked and stopped; `entry.ts` has the life cycle of each one. Decides which chat of a
 * video a viewer gets, the open one or a stored one, and where a channel's viewers leave a chat (`headOf`).
 */
import { pause } from "../base/clock.ts";
import { Counts } from "../base/key-counts.ts";
import { InFlight } from "../base/shared-work.ts";
import { atCapacity } from "../protocol/capacity.ts";
import { isReplayChat } from "../protocol/chat.ts";
import { type ChatKey, chatNamed, chatOf } from "../protocol/chat-key.ts";
import {
  chatForQuery,
  chatForViewer,
  endedChatForViewer,
  replayForViewer,
  type StoredChat,
} from "../serving/chat-choice.ts";
import { positionIn } from "../serving/log-position.ts";
import { isAhead } from "../serving/resume-or-backfill.ts";
import { Room, type StreamRequest } from "../serving/room.ts";
import { Slices } from "../serving/slices.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import { ifUnavailable, notStored, retryRead, storeUnavailable } from "../store/store-error.ts";
import { background } from "../telemetry/background.ts";
import { VideoEntry } from "./entry.ts";
import { OpeningQueue } from "./opening/opening-queue.ts";
import { endedRoom } from "./remembered-chats.ts";
import { RoomPlaces } from "./room-places.ts";
import { type LocalRoom, ROOM_STATES, type RoomState } from "./room-states.ts";
import type { RoomsParts } from "./rooms-parts.ts";
import { endAll, windDownAll } from "./stop.ts";

/** The maximum interval between two rounds through the rooms. */
const TICK_MS = 1000;
/** How often the rooms forget the messages that the retention has deleted. */
const FORGET_MS = 300_000;
/** How long a call for a chat takes at most, if nothing fails. */
const CALL_MS = 1500;
const READ_STEP_MS = 250;
/** The number of videos that may wait to be opened, beside as many as there may be rooms. */
export const MAX_WAITING_VIDEOS = 1000;

export class Rooms {
  readonly #parts: RoomsParts;
  readonly #entries = new Map<string, VideoEntry>();
  /**
   * The rooms without an entry: those that serve a stored part of a chat without opening it, by that part,
   * so that requests for it share one; and those that take no new viewers, but still serve their last ones.
   */
  readonly #withoutEntry = new Map<string | Room, Room>();
  /** The reads of the stored chats of videos that are in flight. */
  readonly #storedReads = new InFlight<StoredChat[], string>();
  /**
   * For viewers that have not entered a room yet: the function that refuses each, and the signal of its
   * leaving. One listener per viewer on `stopped` would be slow to remove, so `stop` and each tick walk this
   * map instead. Test: "of viewers that wait for one room".
   */
  readonly #entering = new Map<(reason: Error) => void, AbortSignal>();
  /**
   * Viewers of a channel, or of several chats, while they are in no room. They count, and a stop ends them.
   */
  readonly #betweenRooms = new Set<{ end(): void }>();
  /** When the next round of `#forgetDeleted` begins; infinite during one. */
  #forgetAt: number;
  readonly #stopped = new AbortController();
  #isDraining = false;
  /** The number of streams of this service's own workers, which do not count towards the limit of viewers. */
  readonly #exempt = new Counts<"streams">();
  /** The time budget in which the chats of all connections with several begin: each has up to twenty. */
  readonly slices: Slices;
  /** The places of the rooms, some of which are kept for recordings. */
  readonly places: RoomPlaces;
  /** The videos that wait to be opened or asked about, and the channels that wait for their first look. */
  readonly openings: OpeningQueue;

  constructor(parts: RoomsParts) {
    const { sources, clock, telemetry, settings } = parts;
    this.#parts = parts;
    this.#forgetAt = clock.monotonic() + FORGET_MS;
    this.slices = new Slices(clock);
    this.places = new RoomPlaces(settings.maxRooms);
    const maxOpenings = settings.maxRooms + MAX_WAITING_VIDEOS;
    this.openings = new OpeningQueue(clock, maxOpenings, () => sources.takeOpening?.());
    const { rooms, viewers } = telemetry;
    rooms.watch({
      byState: () => this.#byState(),
      countInTop: () => this.ownedEntries().filter(({ owned }) => owned?.reading.isInTop).length,
    });
    viewers.watch({ count: () => this.viewerCount, byForm: () => this.#byForm() });
    void background("rounds of the rooms", { clock, telemetry }, this.stopped, () => this.#tick());
  }

  get viewerCount(): number {
    return this.#entering.size + this.#betweenRooms.size + this.#parts.sources.census.viewers;
  }

  /** Counts a viewer that is in no room, until the result is disposed of. */
  countWaiting(viewer: { end(): void }): Disposable {
    this.#betweenRooms.add(viewer);
    return { [Symbol.dispose]: () => void this.#betweenRooms.delete(viewer) };
  }

  /** Takes a stream out of the limit of viewers, until the returned function is called for the first time. */
  exempt(): () => void {
    return this.#exempt.take("streams");
  }

  /** Aborts when the service stops, so that viewers must reconnect. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /**
   * Throws `RelayError` CAPACITY if fewer than `count` viewers can still be taken, beside those of recordings
   * whose chats are not open, or if the service stops.
   */
  assertBelowMaxViewers(count: number): void {
    if (this.stopped.aborted) throw atCapacity("stopping");
    const viewers = this.viewerCount - this.#exempt.of("streams") + this.places.kept + count;
    if (viewers > this.#parts.settings.maxViewers) throw atCapacity("viewers");
  }

  /**
   * Counts the chats of a connection that are not open as openings of its address, until the result is
   * disposed of. This must follow once each opening has begun, because the queue counts it from then on.
   * Throws `RelayError` CAPACITY if they could not all be opened in time. (A connection with one chat is not
   * counted beforehand: its opening may be displaced, see `OpeningQueue`.)
   */
  reserveOpenings(videoIds: readonly string[], address: string): Disposable {
    const unopened = videoIds.filter((videoId) => !this.#entries.get(videoId)?.room).length;
    return this.openings.expect(address, unopened);
  }

  /**
   * Takes a viewer into the room of a video, and opens the room if necessary. Rejects with `RelayError`
   * (CAPACITY, STORE_UNAVAILABLE, NOT_STORED, OFFSET_GONE for a reader of a log, INVALID_REQUEST if it names
   * one chat and a cursor of the other, or the outcome of an opening). Also rejects with `ChatAbsent`,
   * `UpstreamError`, the error of `openSink`, or the signal's reason if the viewer leaves.
   */
  async enter(request: StreamRequest, signal: AbortSignal): Promise<void> {
    if (!request.isRecording) this.assertBelowMaxViewers(1);
    else if (this.stopped.aborted) throw atCapacity("stopping");
    if (this.#parts.sources.isBlocked) throw storeUnavailable();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const openSink: StreamRequest["openSink"] = (cursor, room) => {
      if (this.stopped.aborted) throw atCapacity("stopping"); // it has been refused
      signal.throwIfAborted();
      return request.openSink(cursor, room);
    };
    this.#entering.set(reject, signal);
    try {
      this.#takeIn({ ...request, openSink }, signal).then(resolve, reject);
      await promise;
    } catch (error) {
      signal.throwIfAborted();
      if (this.stopped.aborted) throw atCapacity("stopping");
      return refuseUnavailable(error);
    } finally {
      this.#entering.delete(reject);
    }
  }

  /** Reads the store only if the viewer's chat depends on it: a further promise costs each viewer. */
  #takeIn(request: StreamRequest, signal: AbortSignal): Promise<void> {
    if (request.isBounded) return this.#addToExcerpt(request);
    const resolved = this.resolveChat(request);
    if (!resolved) return this.admit(request, signal);
    return resolved.then((found) => (found instanceof Room ? found.add(request) : this.admit(found, signal)));
  }

  /** As `VideoEntry.admit`; the video's entry may have been dropped. */
  admit(request: StreamRequest, signal: AbortSignal): Promise<void> {
    return this.#entry(request.videoId).admit(request, signal);
  }

  /**
   * Whether it is known without the store that a viewer gets the open chat, or the one that an opening finds.
   * Never if the viewer names a chat. Else:
   * - No chat is open: if the viewer has no cursor, and reads no log.
   * - A live chat is open: if the viewer reads its log, or the cursor is not ahead of its head. One ahead may
   *   be the replay's, as this instance may not know that the live chat has ended.
   * - A replay is open: if its tail holds the cursor. A log may be the live chat's.
   */
  #needsNoStoreRead({ videoId, chat, lastEventId, log }: StreamRequest): boolean {
    if (chat) return false;
    const open = this.#entries.get(videoId)?.activeRoom;
    if (!open) return log === undefined && !lastEventId;
    if (isReplayChat(open.chatType)) return log === undefined && open.tail.holds(lastEventId ?? 0);
    return log !== undefined || (lastEventId ?? 0) <= open.head;
  }

  /**
   * The room that serves a viewer whose chat has ended, else its request, with the `replay` that its cursor
   * names; undefined if it is clear at once that the viewer gets the open chat, or the one that an opening
   * finds. Rejects with `RelayError` OFFSET_GONE and with `StoreError`.
   */
  resolveChat(request: StreamRequest): Promise<Room | StreamRequest> | undefined {
    return this.#needsNoStoreRead(request) ? undefined : this.#resolveStored(request);
  }

  /**
   * The room that serves a viewer whose chat has ended, else its request. While the store fails, a newcomer
   * gets its request back. Rejects with `RelayError` OFFSET_GONE if the log that it reads does not have the
   * position, and with `StoreError`: only the store says which chat has a cursor, and is a video's log.
   */
  async #resolveStored(request: StreamRequest): Promise<Room | StreamRequest> {
    const { videoId, log, lastEventId } = request;
    const read = this.#storedNow(videoId, (stored) => !isAhead(log ?? lastEventId, stored));
    const isNew = log === undefined && !lastEventId;
    const stored = isNew ? await read.catch(ifUnavailable<StoredChat[]>([])) : await read;
    const ended = endedChatForViewer(stored, request, this.#parts.settings.graceMs);
    if (ended) return this.#serve(ended, "ended");
    if (log === undefined) return { ...request, replay: replayForViewer(stored, request) };
    const asked = this.#entries.get(videoId)?.activeRoom ? undefined : chatForViewer(stored, request);
    if (asked) positionIn(log, asked.floor, asked.head);
    return request;
  }

  /** The chats that are stored, read again if they do not suffice and the read began before this call. */
  async #storedNow(
    videoId: string,
    suffices: (stored: readonly StoredChat[]) => boolean = () => false,
  ): Promise<StoredChat[]> {
    const isEarlier = this.#storedReads.get(videoId) !== undefined;
    const stored = await this.stored(videoId);
    return isEarlier && !suffices(stored) ? await this.stored(videoId) : stored;
  }

  /**
   * The stored chats of a video, for viewers: they come in waves, and share a read, which may have begun
   * before the call. An opening reads the store itself, as it needs those that are stored now. Rejects with
   * `StoreError`.
   */
  stored(videoId: string): Promise<StoredChat[]> {
    return this.#storedReads.join(() => this.#parts.sources.stored(videoId), videoId);
  }

  /** A room of the stored part of a chat, which all who ask for the same part share. `end`: how it ends. */
  #serve(chat: StoredChat, end: "ended" | readonly StoredChat[]): Room {
    const isEnded = end === "ended";
    const part = `${chat.key} ${chat.head} ${isEnded ? end : `${end.length} ${chat.is}`}`;
    return this.#withoutEntry.getOrInsertComputed(part, () => {
      const room = this.#parts.sources.serve(chat);
      if (isEnded) return endedRoom(room);
      const chats = end.map(({ key }) => chatOf(key).chat);
      room.bound(chat.is, chats);
      return room;
    });
  }

  /** Serves a viewer the messages that are stored now, without opening the video. */
  async #addToExcerpt(request: StreamRequest): Promise<void> {
    const { videoId, chat, lastEventId: after } = request;
    const stored = await this.#storedNow(videoId);
    const asked = chatForQuery(stored, videoId, { chat, after });
    if (asked.floor === asked.head) throw notStored(videoId, chat);
    const room = this.#serve(asked, stored);
    // A viewer that names no `backfill` gets everything that is stored.
    await room.add(request, request.backfill === undefined ? "none" : room.tail.head);
  }

  /** Keeps ticking a room that takes no new viewers, and closes it after its last viewer has left. */
  retire(room: Room): void {
    this.#withoutEntry.set(room, room);
  }

  /** The reasons why this instance should get no new viewers; empty if there are none. */
  async unreadiness(): Promise<string[]> {
    const reasons: string[] = [];
    if (this.#isDraining || this.stopped.aborted) reasons.push("the service is stopping");
    return [...reasons, ...(await this.#parts.sources.unreadiness())];
  }

  /** What this instance knows of a chat's room that is open here; undefined if it is not. */
  openHere(key: ChatKey): LocalRoom | undefined {
    const { roomState: state, viewerCount: viewers = 0, owned, room } = this.entryOf(key) ?? {};
    const reading = owned && { egress: owned.egress.name, fullAnswers: owned.reading.fullAnswers };
    return state && { state, viewers, view: owned?.reading.view ?? room?.view, reading };
  }

  /** The entry of a chat's video, unless that has the video's other chat open. */
  entryOf(key: ChatKey): VideoEntry | undefined {
    const { videoId, chat } = chatOf(key);
    const entry = this.#entries.get(videoId);
    return entry?.room && chatNamed(entry.room.chatType) !== chat ? undefined : entry;
  }

  /** The room of a video that this instance has, open or remembered. */
  roomOf(videoId: string): Room | undefined {
    return this.#entries.get(videoId)?.room;
  }

  /** Whether the chat has not ended, and this instance opens, reads or follows it. */
  goesOn(videoId: string): boolean {
    const { room, roomState } = this.#entries.get(videoId) ?? {};
    return room ? room.end === undefined : roomState === "bootstrapping";
  }

  /**
   * The cursor of the last message that was said until now in a video's live chat, or in its replay if only
   * that is stored; 0 if nothing is. Waits for the next answer to the room if it is read, and while the store
   * is unavailable. Rejects when the service stops.
   */
  async headOf(videoId: string): Promise<number> {
    await this.#readAgain(videoId);
    const [first] = await retryRead(this.#parts.clock, this.stopped, () =>
      this.#parts.sources.stored(videoId),
    );
    return first?.head ?? 0;
  }

  /**
   * Resolves once an open room was read with a call that began later. If that takes too long, or another
   * process reads the room, resolves when it must have been read.
   */
  async #readAgain(videoId: string): Promise<void> {
    const { clock, sources } = this.#parts;
    const askedAt = clock.monotonic();
    const readBefore = askedAt + sources.longestIntervalMs + CALL_MS;
    const isUnread = () => {
      const { room, owned } = this.#entries.get(videoId) ?? {};
      if (!room || room.end || owned?.reading.isAwaited) return false;
      return !owned || owned.reading.readAt <= askedAt;
    };
    while (isUnread() && clock.monotonic() < readBefore) await clock.sleep(READ_STEP_MS, this.stopped);
  }

  /**
   * Reports the instance as unready for `ms` before a stop, so that a load balancer sends new viewers
   * elsewhere. Viewers that still come are served.
   */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    await this.#parts.clock.sleep(ms);
  }

  /**
   * Ends everything within a few seconds (`stop.ts`). Rooms stay open in the store, and continue after a
   * restart.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const refuse of this.#entering.keys()) refuse(this.stopped.reason);
    const entries = [...this.#entries.values()];
    await windDownAll(entries, this.#parts.clock);
    const rooms = [...this.#openRooms(), ...this.#withoutEntry.values()];
    await endAll([...rooms.flatMap((room) => [...room.viewers]), ...this.#betweenRooms], this.#parts.clock);
    for (const entry of entries) entry.close();
    for (const room of this.#withoutEntry.values()) room.disconnect();
  }

  /** Whether the instance is about to stop, so that it takes no more rooms. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** The rooms that this instance reads. */
  ownedEntries(): VideoEntry[] {
    return [...this.#entries.values()].filter(({ owned }) => owned);
  }

  /** Takes over a room without an owner, unless its entry is in use. */
  adopt(key: ChatKey): void {
    this.#entry(chatOf(key).videoId).adopt();
  }

  #entry(videoId: string): VideoEntry {
    return this.#entries.getOrInsertComputed(videoId, () => new VideoEntry(videoId, this, this.#parts));
  }

  /** Drops the entry of a video if it holds no information, as it may after each change of its state. */
  dropIfVacant(videoId: string): void {
    if (this.#entries.get(videoId)?.isVacant) this.#entries.delete(videoId);
  }

  async #tick(): Promise<void> {
    const periodMs = Math.min(TICK_MS, this.#parts.settings.keepaliveMs);
    while (!this.stopped.aborted) {
      await pause(this.#parts.clock, periodMs, this.#stopped.signal);
      for (const [refuse, { aborted, reason }] of this.#entering) if (aborted) refuse(reason);
      if (this.#parts.clock.monotonic() >= this.#forgetAt) void this.#forgetDeleted();
      for (const entry of this.#entries.values()) {
        await this.#roundOf(entry, () => entry.tick());
        this.dropIfVacant(entry.videoId);
      }
      for (const [key, room] of this.#withoutEntry) {
        await this.#roundOf(room, () => room.tick());
        if (room.viewerCount === 0 && this.#withoutEntry.delete(key)) room.disconnect();
      }
    }
  }

  /** One room at a time, because each asks the store, or the origin of an edge. */
  async #forgetDeleted(): Promise<void> {
    this.#forgetAt = Number.POSITIVE_INFINITY;
    for (const room of [...this.#openRooms()]) {
      if (this.stopped.aborted) return;
      await this.#roundOf(room, () => room.forgetDeleted());
    }
    this.#forgetAt = this.#parts.clock.monotonic() + FORGET_MS;
  }

  /** A bug in one room must not keep the others from their rounds. */
  async #roundOf({ videoId }: { videoId: string }, round: () => Promise<void>): Promise<void> {
    try {
      await round();
    } catch (error) {
      this.#parts.telemetry.service.taskFailed(`rounds of room ${videoId}`, error);
    }
  }

  *#openRooms(): Iterable<Room> {
    for (const { room } of this.#entries.values()) if (room) yield room;
  }

  *#byForm() {
    for (const room of [...this.#openRooms(), ...this.#withoutEntry.values()]) yield* room.feeds.census();
  }

  #byState(): Record<RoomState, number> {
    const counts = Object.fromEntries(ROOM_STATES.map((state) => [state, 0])) as Record<RoomState, number>;
    for (const { roomState } of this.#entries.values()) if (roomState) counts[roomState] += 1;
    for (const { end } of this.#withoutEntry.values()) if (end) counts[end.state] += 1;
    return counts;
  }
}
