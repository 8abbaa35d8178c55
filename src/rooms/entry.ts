/**
 * One video on this instance, as a state machine: opened, polled, followed, released, ended, or known to have
 * no chat. All transitions are here. A viewer that needs the video's other chat opened is refused while this
 * one is open; only a live chat that is not read here makes way for the replay. `Room` handles viewers and
 * log, `OwnedRoom` handles the poller.
 */
import { unlessAborted } from "../base/deadline.ts";
import { atCapacity } from "../protocol/capacity.ts";
import { isReplayChat, type RoomEnd } from "../protocol/chat.ts";
import { type ChatKey, chatKey, chatNamed } from "../protocol/chat-key.ts";
import { type Absence, ChatAbsent, mayReturn } from "../protocol/chat-standing.ts";
import { isRefusal } from "../protocol/errors.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import { Room, type StreamRequest } from "../serving/room.ts";
import { isFenced, isUnavailable, notStored } from "../store/store-error.ts";
import { graceOver } from "./grace.ts";
import type { OpeningQueue, QueuedOpening } from "./opening/opening-queue.ts";
import { WaitingViewers } from "./opening/waiting-viewers.ts";
import type { OwnedRoom } from "./owned-room.ts";
import { type Absent, endedRoom, type Remembered, reopensFor, serveFromAbsent } from "./remembered-chats.ts";
import type { RoomPlaces } from "./room-places.ts";
import type { RoomState } from "./room-states.ts";
import type { RoomsParts } from "./rooms-parts.ts";
import type { Acquired, AcquiredRoom, Followed, RoomApplicant } from "./sources.ts";

type State =
  | { name: "vacant" }
  | { name: "opening"; opening: Opening }
  | { name: "polling"; owned: OwnedRoom }
  | { name: "lingering"; owned: OwnedRoom; cancel: AbortController }
  | { name: "followed"; followed: Followed; cancel?: AbortController }
  | { name: "releasing"; done: Promise<void> }
  | Remembered;

/** An opening that all viewers who wait for the room share. */
interface Opening {
  /** Settles when nothing of it goes on. */
  done: Promise<Room>;
  /** Settles as `done` does, or at once if the opening is given up or displaced. */
  result: Promise<Room>;
  giveUp: AbortController;
  /** Its place in the queue. */
  queued: QueuedOpening;
}

/** Options of an opening. All are absent if the room is adopted. */
interface OpenOptions {
  /** Resolves when this instance has given back an earlier room of this video. */
  released?: Promise<void> | undefined;
  /** The address, or network, of the first viewer; absent or empty if the service itself opens the room. */
  address?: string;
  /** Whether a page of its channel has shown the video. */
  isShown?: boolean | undefined;
}

/** What it needs of the rooms of its instance; see `Rooms`. */
interface EntryRooms {
  readonly stopped: AbortSignal;
  readonly places: RoomPlaces;
  readonly openings: OpeningQueue;
  admit(request: StreamRequest, signal: AbortSignal): Promise<void>;
  resolveChat(request: StreamRequest): Promise<Room | StreamRequest> | undefined;
  stored(videoId: string): Promise<StoredChat[]>;
  ownedEntries(): readonly unknown[];
  retire(room: Room): void;
  dropIfVacant(videoId: string): void;
}

const VACANT: State = { name: "vacant" };
/** How long a video counts as one without a chat while it is unknown what the store has of it. */
const UNREAD_MS = 1000;

export class VideoEntry {
  readonly videoId: string;
  readonly #rooms: EntryRooms;
  readonly #parts: RoomsParts;
  #current: State = VACANT;
  /** Resolves when the last hand-on of this room is complete; an opening waits for it. */
  #leaving: Promise<void> | undefined;
  readonly #waiting = new WaitingViewers();

  constructor(videoId: string, rooms: EntryRooms, parts: RoomsParts) {
    this.videoId = videoId;
    this.#rooms = rooms;
    this.#parts = parts;
  }

  get #state(): State {
    return this.#current;
  }

  set #state(next: State) {
    this.#current = next;
    this.#rooms.places.set(this.videoId, this.activeRoom?.chatType);
    this.#rooms.dropIfVacant(this.videoId);
  }

  /** Whether the entry holds no information, so that it can be dropped. */
  get isVacant(): boolean {
    return this.#state === VACANT && !this.#leaving;
  }

  /** The state of its room; undefined if there is none, or if the chat is absent and has no viewers. */
  get roomState(): RoomState | undefined {
    switch (this.#state.name) {
      case "vacant":
        return undefined;
      case "opening":
        return "bootstrapping";
      case "releasing":
        return "released";
      case "absent":
        return this.viewerCount === 0 ? undefined : "ended";
      case "followed":
        if (this.#state.cancel) return "lingering";
        return this.#state.followed.room.isAwaited ? "waiting" : "polling";
      case "polling":
        return this.#state.owned.reading.isAwaited ? "waiting" : "polling";
      default:
        return this.#state.name;
    }
  }

  /** The room that viewers enter; undefined if none is open or remembered. */
  get room(): Room | undefined {
    if (this.#state.name === "followed") return this.#state.followed.room;
    return (this.#remembered ?? this.owned)?.room;
  }

  /** The room of a chat that is read or followed. */
  get activeRoom(): Room | undefined {
    return this.#remembered ? undefined : this.room;
  }

  /** The memory of a chat that has ended, or is not there. */
  get #remembered(): Remembered | undefined {
    return "until" in this.#current ? this.#current : undefined;
  }

  /** The room, if this instance polls it. */
  get owned(): OwnedRoom | undefined {
    return "owned" in this.#state ? this.#state.owned : undefined;
  }

  /** The number of viewers, including those that wait for the room to open. */
  get viewerCount(): number {
    return this.#waiting.size + (this.room?.viewerCount ?? 0);
  }

  /**
   * Takes a viewer in. Rejects as `RoomSources.acquire` and `Room.add` do, with `ChatAbsent`, and with the
   * reason if the viewer leaves.
   */
  async admit(request: StreamRequest, signal: AbortSignal): Promise<void> {
    if (this.#dropExpired() || this.#dropOutdated(request)) return this.#rooms.admit(request, signal);
    const state = this.#state;
    const { ownership } = this.#parts.sources;
    if (this.room && !this.#remembered) this.#assertChat(this.room, request);
    if (!this.#remembered) ownership.setViewers(this.#key, this.viewerCount + 1);
    switch (state.name) {
      case "vacant":
      case "releasing": {
        const released = state.name === "releasing" ? state.done : this.#leaving;
        const { result } = this.#beginOpening({
          released,
          address: request.address(),
          isShown: request.isShown,
        });
        return this.#addOnceOpen(result, request, signal);
      }
      case "opening":
        state.opening.queued.add(request.address());
        return this.#addOnceOpen(state.opening.result, request, signal);
      case "ended":
      case "absent": {
        const isReopened = await reopensFor(state, request, () => this.#rooms.stored(this.videoId));
        if (isReopened && this.#state === state) this.#forget(state);
        if (this.#state !== state) return this.#rooms.admit(request, signal);
        if (state.name === "absent") return serveFromAbsent(state, request, this.#parts.clock);
        this.#assertChat(state.room, request);
        return state.room.add(request);
      }
      case "followed":
        state.cancel?.abort();
        this.#state = { name: "followed", followed: state.followed };
        return state.followed.room.add(request);
      case "lingering":
      case "polling":
        if (state.name === "lingering") state.cancel.abort();
        this.#state = { name: "polling", owned: state.owned };
        state.owned.hurry();
        return state.owned.room.add(request);
    }
  }

  /**
   * Throws `RelayError` if the viewer wants the other chat of the video: NOT_STORED if it names that, and
   * CAPACITY if it has a cursor of the replay while the live chat is read, or was opened for others.
   */
  #assertChat({ chatType }: Room, { chat, replay }: StreamRequest): void {
    if (replay && !isReplayChat(chatType)) throw atCapacity("live");
    if (chat && chatNamed(chatType) !== chat) throw notStored(this.videoId, chat);
  }

  /** The key under which viewers are reported: the room's, or the live chat's until there is a room. */
  get #key(): ChatKey {
    return this.room?.key ?? this.#liveKey;
  }

  get #liveKey(): ChatKey {
    return chatKey(this.videoId, "live");
  }

  /** Sends due keepalives, and forgets an ended room after its time. */
  async tick(): Promise<void> {
    await this.room?.tick();
    const { viewerCount } = this;
    // An ended chat is in the store: its viewers need no other instance to read it.
    if (viewerCount > 0 && !this.#remembered)
      this.#parts.sources.ownership.setViewers(this.#key, viewerCount);
    this.#dropExpired();
  }

  /**
   * Hands the room on, if this instance reads it. `limitMs`: the maximum time for its current poll. `restMs`:
   * how long it is left to the others, from this call on.
   */
  async handOn(limitMs: number, restMs: number): Promise<void> {
    const { owned } = this;
    if (!owned) return;
    this.#leaving = owned.windDown(limitMs).finally(() => {
      this.#leaving = undefined;
      this.#lingerIfIdle();
    });
    this.#giveWay(owned, restMs);
    await this.#leaving;
  }

  /** Takes over a room without an owner, unless this entry is in use. */
  adopt(): void {
    if (this.isVacant) this.#beginOpening();
  }

  /** For a stop: waits for the end of an opening or release, then winds the owned room down. */
  async windDown(limitMs: number): Promise<void> {
    if (this.#state.name === "opening") {
      this.#state.opening.giveUp.abort(this.#rooms.stopped.reason);
      await this.#state.opening.done.catch(() => {});
    }
    if (this.#state.name === "releasing") await this.#state.done;
    await this.#leaving;
    await this.owned?.windDown(limitMs);
  }

  /** Ends the room here, and disconnects its viewers. The stored room stays as it is. */
  close(): void {
    const { room } = this;
    this.#vacate();
    room?.disconnect();
  }

  #beginOpening(options: OpenOptions = {}): Opening {
    const giveUp = new AbortController();
    if (this.#rooms.stopped.aborted) giveUp.abort(this.#rooms.stopped.reason);
    const queued = this.#rooms.openings.join(options.address ?? "");
    const signal = AbortSignal.any([giveUp.signal, queued.displaced]);
    const done = this.#acquire(options, queued, signal);
    const opening: Opening = { done, result: unlessAborted(done, signal), giveUp, queued };
    opening.result.catch((error) => {
      if (this.#rooms.stopped.aborted) return; // the stop ended it
      const isAtCapacity = isRefusal(error, "CAPACITY");
      const isTrouble = !(error instanceof ChatAbsent) || error.absence.wallOf !== undefined;
      if (!isAtCapacity) this.#parts.telemetry.rooms.refused(this.videoId, error, isTrouble);
    });
    done.catch(() => {
      if (this.#state.name === "opening" && this.#state.opening === opening) this.#vacate();
    });
    this.#state = { name: "opening", opening };
    return opening;
  }

  /**
   * Acquires a room, and leaves the state "opening" for it. Rejects as `RoomSources.acquire` does, with
   * CAPACITY, and with `ChatAbsent`.
   */
  async #acquire(
    { released, isShown = false }: OpenOptions,
    queued: QueuedOpening,
    signal: AbortSignal,
  ): Promise<Room> {
    using _ = queued;
    await released;
    const applicant: RoomApplicant = {
      queued,
      isShown,
      waiting: this.#waiting,
      places: this.#rooms.places,
    };
    const acquire = () => this.#parts.sources.acquire(this.videoId, applicant, signal);
    signal.throwIfAborted();
    const first = await acquire();
    return this.#keepRoom(first.is === "absent" ? await this.#awaitOrRemember(first, acquire) : first);
  }

  /**
   * Tries once more to acquire the room of a chat that is not there, if it may come back, and a recording or
   * a viewer with its cursor waits. Otherwise remembers the absence and the stored part. Rejects as `acquire`
   * does, and with `ChatAbsent`, also if its standing is unknown; then nothing is remembered.
   */
  async #awaitOrRemember(
    { absence, rememberedMs }: Exclude<Acquired, AcquiredRoom>,
    acquire: () => Promise<Acquired>,
  ): Promise<AcquiredRoom> {
    if (absence.is === "unknown") throw new ChatAbsent(absence);
    const next = await this.#memoryOf(absence, rememberedMs ?? this.#parts.settings.noChatMs);
    const [range] = next.stored;
    const hasEnded = range === undefined || range.is === "ended";
    if (mayReturn(absence) && !hasEnded && this.#waiting.needsLiveChat(range)) {
      const acquired = await acquire();
      if (acquired.is !== "absent") return acquired;
    }
    this.#vacate(next);
    throw new ChatAbsent(absence);
  }

  #keepRoom(acquired: AcquiredRoom): Room {
    if (acquired.is === "ended") {
      const { room, leftMs } = acquired.ended;
      this.#state = { name: "ended", room, until: this.#in(leftMs) };
      this.#parts.sources.ownership.setViewers(this.#liveKey, 0);
      return room;
    }
    const { room } = acquired.is === "owned" ? acquired.owned : acquired.followed;
    if (room.key !== this.#liveKey) {
      const { ownership } = this.#parts.sources;
      ownership.setViewers(room.key, this.viewerCount);
      ownership.setViewers(this.#liveKey, 0);
    }
    if (acquired.is === "owned") this.#keepOwned(acquired.owned);
    else this.#follow(acquired.followed);
    return room;
  }

  /** Follows a room that another instance reads, until the room ends or this instance takes it over. */
  #follow(followed: Followed): void {
    const { room } = followed;
    this.#state = { name: "followed", followed };
    room.onIdle = () => this.#lingerIfIdle();
    const isHere = () => this.#state.name === "followed" && this.#state.followed === followed;
    const giveUp = (error: unknown) => {
      if (!isHere()) return;
      room.logBroken(error);
      this.close();
    };
    room.follow().then(() => {
      if (!isHere()) return;
      if (room.end) this.#afterEndOf(room, room.end);
      else this.close();
    }, giveUp);
    void room.hearStanding();
    const rooms = this.#rooms;
    followed
      .takenOver?.(() => rooms.ownedEntries().length, rooms.stopped)
      .then((owned) => {
        if (owned && isHere()) this.#keepOwned(owned);
        else void owned?.windDown(0);
      }, giveUp);
    this.#lingerIfIdle();
  }

  /**
   * Waits for the opening that all waiting viewers share. It continues even if all of them leave, as an open
   * room does for a while: a viewer that comes back needs no second opening.
   */
  async #addOnceOpen(opening: Promise<Room>, request: StreamRequest, signal: AbortSignal): Promise<void> {
    this.#waiting.add(request);
    let opened: Room;
    let served: Room | StreamRequest;
    try {
      opened = await unlessAborted(opening, signal);
      // Since the viewer came, its chat may have ended, and the other one been opened.
      const resolved = this.#rooms.resolveChat(request);
      served = (resolved && (await unlessAborted(resolved, signal))) ?? request;
      if (!(served instanceof Room)) this.#assertChat(opened, served);
    } catch (error) {
      this.#waiting.delete(request);
      this.#lingerIfIdle();
      if (this.#state.name === "absent" && error instanceof ChatAbsent) {
        return serveFromAbsent(this.#state, request, this.#parts.clock);
      }
      throw error;
    }
    this.#waiting.delete(request);
    if (!(served instanceof Room)) return opened.add(served, opened.historyEnd);
    this.#lingerIfIdle();
    return served.add(request);
  }

  /** The memory of a chat that is not there, with what the store has of it. */
  async #memoryOf(absence: Absence, rememberedMs: number): Promise<Absent> {
    const until = this.#in(rememberedMs);
    try {
      const stored = await this.#parts.sources.stored(this.videoId);
      const [range] = stored;
      const room = range?.is === "ended" ? endedRoom(this.#parts.sources.serve(range)) : undefined;
      return { name: "absent", absence, stored, room, until };
    } catch (failure) {
      if (!isUnavailable(failure)) throw failure;
      return { name: "absent", absence, stored: [], failure, until: this.#in(UNREAD_MS) };
    }
  }

  /** Keeps the room, which this instance reads, until it ends; without viewers, it lingers. */
  #keepOwned(owned: OwnedRoom): void {
    this.#state = { name: "polling", owned };
    owned.room.onIdle = () => this.#lingerIfIdle();
    owned.untilEnd().then(
      () => this.#afterEnd(owned),
      (error) => {
        if (isFenced(error)) {
          if (this.owned !== owned) return this.#parts.telemetry.mark("room: fenced after it was handed on");
          this.#parts.telemetry.mark("room: fenced while it is read");
          return this.#giveWay(owned);
        }
        owned.room.logBroken(error);
        if (this.owned === owned) this.#vacate();
        owned.abandon();
      },
    );
    this.#lingerIfIdle();
  }

  /** Leaves the reading to another instance. The viewers here follow the room from now on. */
  #giveWay(owned: OwnedRoom, restMs = 0): void {
    this.#parts.telemetry.rooms.givenWay(this.videoId);
    if (this.#state.name === "lingering") this.#state.cancel.abort();
    const followed = this.#parts.sources.follow?.(owned.room, restMs);
    if (followed) this.#follow(followed);
  }

  // [spec] Last viewer disconnects | Room lingers for about 90 seconds
  #lingerIfIdle(): void {
    const state = this.#state;
    if (this.viewerCount > 0 || this.#rooms.stopped.aborted) return;
    if (state.name !== "polling" && (state.name !== "followed" || state.cancel)) return;
    if (state.name === "followed" && !state.followed.lingers) {
      // During a hand-on, `close` would abort the last poll. `handOn` calls this again after that poll. Test:
      // "a room without viewers here is handed on after the poll in hand is stored".
      if (!this.#leaving) this.close();
      return;
    }
    const cancel = new AbortController();
    this.#state = state.name === "polling" ? { ...state, name: "lingering", cancel } : { ...state, cancel };
    this.#parts.sources.ownership.setViewers(this.#key, 0);
    graceOver(this.#key, this.#parts, cancel.signal).then(
      () => {
        if (cancel.signal.aborted) return; // a viewer has just come, or the room has just ended
        if (state.name === "polling") this.#release(state.owned);
        else this.close();
      },
      () => {}, // aborted during the wait, for the same reasons
    );
  }

  // [spec] Grace period elapses with no viewer | Polling stops (released)
  #release(owned: OwnedRoom): void {
    const done = owned.release().catch((error) => {
      // Its room is disconnected by now, and would not log it.
      if (!isFenced(error)) this.#parts.telemetry.rooms.broken(owned.room.key, error);
    });
    const releasing: State = { name: "releasing", done };
    this.#state = releasing;
    void done.then(() => {
      if (this.#state === releasing) this.#vacate();
    });
  }

  #afterEnd(owned: OwnedRoom): void {
    if (this.owned !== owned) return;
    const { end } = owned.room;
    if (!end) return void this.close(); // released by another owner
    this.#parts.telemetry.rooms.ended(this.videoId, end);
    this.#afterEndOf(owned.room, end);
  }

  /** An ended room is served for the grace time; a failed one is removed at once. */
  #afterEndOf(room: Room, end: RoomEnd): void {
    const isServed = end.state === "ended";
    const until = this.#in(this.#parts.settings.graceMs);
    this.#vacate(isServed ? { name: "ended", room, until } : VACANT);
    if (!isServed) this.#rooms.retire(room);
  }

  /**
   * Forgets a chat that has ended, or is not there, after its time, and an ended replay once it has no
   * viewers. Returns whether it did.
   */
  #dropExpired(): boolean {
    const remembered = this.#remembered;
    if (!remembered) return false;
    const isReplay = remembered.name === "ended" && isReplayChat(remembered.room.chatType);
    const isUnwatched = isReplay && this.viewerCount === 0;
    const isDue = isUnwatched || this.#parts.clock.monotonic() >= remembered.until;
    if (isDue) this.#forget(remembered);
    return isDue;
  }

  /** The viewers of its room are still served. */
  #forget({ room }: Remembered): void {
    if (room) this.#rooms.retire(room);
    this.#vacate();
  }

  /**
   * Drops a room of the live chat that is not read here, if the viewer has a cursor of the replay: so the
   * live chat has ended, even if this instance has not heard of it. Its viewers come back, or get the rest.
   * Returns whether it did. Test: "while newcomers still get the live chat, but CAPACITY while this edge has
   * a viewer of that".
   */
  #dropOutdated({ replay }: StreamRequest): boolean {
    const { room } = this;
    if (!replay || !room || isReplayChat(room.chatType)) return false;
    if (this.#state.name === "ended") this.#forget(this.#state);
    else if (this.#state.name === "followed") this.close();
    else return false;
    return true;
  }

  /** Sets the state. Ends the grace time and the take-over of the state before, and reports no viewers. */
  #vacate(next: State = VACANT): void {
    if ("cancel" in this.#state) this.#state.cancel?.abort();
    if (this.#state.name === "followed") this.#state.followed.leave?.();
    const key = this.#key;
    this.#state = next;
    this.#parts.sources.ownership.setViewers(key, 0);
  }

  #in(ms: number): number {
    return this.#parts.clock.monotonic() + ms;
  }
}
