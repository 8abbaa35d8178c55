/**
 * One video on this instance, as one state: what is being opened, polled, let go of or remembered of it. Every
 * change of that state is a transition here. `Room` knows viewers and log, `OwnedRoom` the poller.
 */
import type { RoomEnd } from "../protocol/chat.ts";
import { RelayError } from "../protocol/errors.ts";
import type { RoomRecord } from "../store/port.ts";
import { isUpstreamTrouble } from "../upstream/errors.ts";
import { readCheckpoint } from "./checkpoint.ts";
import { resumeCursor } from "./cursor.ts";
import { OwnedRoom, type OwnedRoomParts } from "./owned-room.ts";
import { Room, type StartAt, type StreamRequest } from "./room.ts";

/** How long a replay that was read to its end answers from the store alone. */
const REPLAY_KEPT_MS = 3_600_000;

const CHAT_OVER: RoomEnd = { state: "ended", reason: "no more continuations" };

export const ROOM_STATES = ["bootstrapping", "polling", "lingering", "ended", "released", "failed"] as const;
/** As metrics and logs name it. `ended`, `released` and `failed` are final. */
export type RoomState = (typeof ROOM_STATES)[number];

export interface EntrySettings {
  /** How long a room without viewers lingers, and how long an ended one still answers, in milliseconds. */
  graceMs: number;
  /** How long a video is remembered to have no chat, in milliseconds. */
  noChatMs: number;
}

export interface EntryParts extends OwnedRoomParts {
  settings: OwnedRoomParts["settings"] & EntrySettings;
}

/** What an entry needs of the rooms around it. */
export interface EntryHost {
  /** Throws `RelayError` CAPACITY where no further room may be opened. */
  assertPlace(): void;
  /** Nobody enters this room any more. It is closed once its last viewer has been served. */
  drain(room: Room): void;
  /** Aborts when the service stops. */
  stopped: AbortSignal;
}

/** A room that was just opened, and where those who waited for it begin; absent: as in any open room. */
interface Opened {
  room: Room;
  startAt?: StartAt;
}

/** The chat is over; what is kept of it answers until `until`, on the monotonic clock. */
interface Archive {
  name: "archived";
  until: number;
  /** A replay that the store can bring back at any time: forgotten as soon as nobody reads it. */
  isReplay?: true;
  /** Absent: the store holds nothing of this video. */
  room?: Room | undefined;
  /** The upstream was asked and has no chat: the answer to every viewer that holds no cursor of the room. */
  noChat?: { error: RelayError; record: RoomRecord | undefined };
}

type State =
  | { name: "vacant" }
  | { name: "bootstrapping"; opening: Promise<Opened> }
  | { name: "polling"; owned: OwnedRoom }
  | { name: "lingering"; owned: OwnedRoom; cancel: AbortController }
  | { name: "releasing"; done: Promise<void> }
  | Archive;

const VACANT: State = { name: "vacant" };

export class Entry {
  readonly videoId: string;
  readonly #parts: EntryParts;
  readonly #host: EntryHost;
  #state: State = VACANT;
  /** Viewers that wait for the room to open. */
  #waiting = 0;

  constructor(videoId: string, parts: EntryParts, host: EntryHost) {
    this.videoId = videoId;
    this.#parts = parts;
    this.#host = host;
  }

  /** Whether nothing is known of the video, so that the entry need not be kept. */
  get isVacant(): boolean {
    return this.#state === VACANT;
  }

  /** The room's state; undefined where there is no room, or only the lack of a chat is remembered. */
  get roomState(): RoomState | undefined {
    switch (this.#state.name) {
      case "vacant":
        return undefined;
      case "releasing":
        return "released";
      case "archived":
        return this.#state.noChat && this.viewerCount === 0 ? undefined : "ended";
      default:
        return this.#state.name;
    }
  }

  /** The room that viewers enter, once it is open. */
  get room(): Room | undefined {
    return this.#state.name === "archived" ? this.#state.room : this.owned?.room;
  }

  /** The room as far as this instance polls it. */
  get owned(): OwnedRoom | undefined {
    return "owned" in this.#state ? this.#state.owned : undefined;
  }

  /** Those who wait for the room to open included. */
  get viewerCount(): number {
    return this.#waiting + (this.room?.viewerCount ?? 0);
  }

  /**
   * Takes a viewer into the room, which is opened if it is not open. Rejects with `RelayError`, `UpstreamError`,
   * `StoreError`, or the signal's reason if the viewer leaves while it waits.
   */
  async enter(request: StreamRequest, signal: AbortSignal): Promise<void> {
    this.#expire();
    this.#parts.store.presence.watch(this.videoId, this.viewerCount + 1);
    const state = this.#state;
    switch (state.name) {
      case "vacant":
        return this.#enterOnceOpen(this.#bootstrap(), request, signal);
      case "releasing":
        return this.#enterOnceOpen(this.#bootstrap(state.done), request, signal);
      case "bootstrapping":
        return this.#enterOnceOpen(state.opening, request, signal);
      case "archived":
        return this.#enterArchive(state, request);
      case "lingering":
        state.cancel.abort();
        this.#state = { name: "polling", owned: state.owned };
        return state.owned.room.enter(request);
      case "polling":
        return state.owned.room.enter(request);
    }
  }

  /** Sends due keepalives, cuts viewers that stall, forgets what was kept long enough. */
  tick(): void {
    this.room?.tick();
    this.#expire();
  }

  /** Goes on with a room that was resumed from its checkpoint, lingering until a viewer comes. */
  resume(owned: OwnedRoom): void {
    this.#state = { name: "polling", owned };
    this.#watch(owned);
  }

  /** Resolves when nothing is being opened or released any more. */
  async awaitPending(): Promise<void> {
    if (this.#state.name === "bootstrapping") await this.#state.opening.catch(() => {});
    if (this.#state.name === "releasing") await this.#state.done;
  }

  /** Ends the room at the stop of the service; in the store it stays as it is. */
  close(): void {
    const { room } = this;
    this.#vacate();
    room?.close();
  }

  /** `released`: a room of this video that the store must have let go of first. */
  #bootstrap(released?: Promise<void>): Promise<Opened> {
    const opening = this.#open(released);
    opening.catch((error) => {
      if (this.#host.stopped.aborted) return; // the stop ended it, nothing failed
      this.#parts.telemetry.roomRefused(this.videoId, error, isUpstreamTrouble(error));
    });
    this.#state = { name: "bootstrapping", opening };
    return opening;
  }

  /** Leaves "bootstrapping", whatever it finds. Rejects as `OwnedRoom.bootstrap` does, and with CAPACITY. */
  async #open(released?: Promise<void>): Promise<Opened> {
    await released;
    try {
      this.#host.assertPlace();
      const replay = await this.#finishedReplay();
      if (replay) {
        this.#state = replay;
        return { room: replay.room };
      }
      const { owned, startAt } = await OwnedRoom.bootstrap(this.videoId, this.#parts, this.#host.stopped);
      this.#state = { name: "polling", owned };
      this.#watch(owned);
      return { room: owned.room, startAt };
    } catch (error) {
      if (isNoChat(error)) await this.#remember(error);
      else this.#vacate();
      throw error;
    }
  }

  /** One opening for all who wait, however many they are; it goes on when one of them leaves. */
  async #enterOnceOpen(opening: Promise<Opened>, request: StreamRequest, signal: AbortSignal): Promise<void> {
    this.#waiting += 1;
    let opened: Opened;
    try {
      opened = await unlessAborted(opening, signal).finally(() => {
        this.#waiting -= 1;
      });
    } catch (error) {
      this.#lingerIfIdle();
      if (this.#state.name === "archived" && isNoChat(error)) return this.#enterArchive(this.#state, request);
      throw error;
    }
    return opened.room.enter(request, opened.startAt);
  }

  async #enterArchive({ room, noChat, until }: Archive, request: StreamRequest): Promise<void> {
    const holdsCursor = noChat?.record && resumeCursor(noChat.record, request.lastEventId) !== undefined;
    if (room && (!noChat || holdsCursor)) return room.enter(request);
    const retryAfterMs = until - this.#parts.clock.monotonic();
    const { code, message } = noChat?.error ?? new RelayError("NO_LIVE_CHAT", "The chat is over.");
    throw new RelayError(code, message, retryAfterMs > 0 ? { retryAfterMs } : {});
  }

  /** The upstream has no chat for this video, but the store may hold one that has ended. */
  async #remember(error: RelayError): Promise<void> {
    const { store, settings } = this.#parts;
    const record = await store.getRoom(this.videoId).catch(() => undefined);
    const room = record && this.#archive(record);
    const keptMs = error.cause ? 0 : settings.noChatMs; // where no page was seen there may be a chat
    this.#state = { name: "archived", room, until: this.#in(keptMs), noChat: { error, record } };
  }

  /** A replay that was read to its end not long ago needs no upstream. Rejects with `StoreError`. */
  async #finishedReplay(): Promise<(Archive & { room: Room }) | undefined> {
    const record = await this.#parts.store.getRoom(this.videoId);
    if (record?.end?.state !== "ended" || record.endedAt === null) return undefined;
    const leftMs = record.endedAt + REPLAY_KEPT_MS - this.#parts.clock.now();
    const room = leftMs > 0 ? this.#archive(record) : undefined;
    if (room?.chatType !== "liveChatReplayRenderer") return undefined;
    return { name: "archived", isReplay: true, room, until: this.#in(leftMs) };
  }

  /** A room that is over, served from the store. */
  #archive(record: RoomRecord): Room | undefined {
    const position = readCheckpoint(record, this.#parts.telemetry);
    if (!position) return undefined;
    const room = new Room(record.videoId, position.chatType, record.head, this.#parts);
    room.finish(CHAT_OVER);
    return room;
  }

  /** Follows a polled room to its end. */
  #watch(owned: OwnedRoom): void {
    owned.room.onIdle = () => this.#lingerIfIdle();
    owned.over().then(
      () => this.#afterEnd(owned),
      (error) => {
        owned.room.broken(error);
        if (this.owned === owned) this.#vacate();
        owned.abandon();
      },
    );
    this.#lingerIfIdle();
  }

  // [spec] Last viewer disconnects | Room lingers for about 90 seconds
  #lingerIfIdle(): void {
    if (this.#state.name !== "polling" || this.viewerCount > 0 || this.#host.stopped.aborted) return;
    const { owned } = this.#state;
    const cancel = new AbortController();
    this.#state = { name: "lingering", owned, cancel };
    this.#parts.store.presence.watch(this.videoId, 0);
    this.#graceOver(cancel.signal).then(
      () => this.#release(owned),
      () => {}, // a viewer came, or the room is over
    );
  }

  /** Resolves when nobody has watched for the grace time, on any instance. Rejects with the signal's reason. */
  async #graceOver(signal: AbortSignal): Promise<void> {
    const { clock, settings, store } = this.#parts;
    let isWatched: boolean;
    do {
      await clock.sleep(settings.graceMs, signal);
      isWatched = await store.presence.isWatched(this.videoId).catch(() => true);
      signal.throwIfAborted();
    } while (isWatched);
  }

  // [spec] Grace period elapses with no viewer | Polling stops (released)
  #release(owned: OwnedRoom): void {
    const done = owned.release().catch((error) => owned.room.broken(error));
    const releasing: State = { name: "releasing", done };
    this.#state = releasing;
    void done.then(() => {
      if (this.#state === releasing) this.#vacate();
    });
  }

  /** An ended room still answers for the grace time; a failed one makes place at once. */
  #afterEnd(owned: OwnedRoom): void {
    const { end } = owned.room;
    if (!end || this.owned !== owned) return;
    const { settings, telemetry } = this.#parts;
    telemetry.roomClosed(this.videoId, end);
    this.#vacate();
    if (end.state === "ended")
      this.#state = { name: "archived", room: owned.room, until: this.#in(settings.graceMs) };
    else this.#host.drain(owned.room);
  }

  /** What was kept long enough serves those who are still reading it, and nobody else. */
  #expire(): void {
    if (this.#state.name !== "archived") return;
    const { until, isReplay, room } = this.#state;
    const isUnwatched = isReplay && this.viewerCount === 0;
    if (this.#parts.clock.monotonic() < until && !isUnwatched) return;
    if (room) this.#host.drain(room);
    this.#vacate();
  }

  #vacate(): void {
    if (this.#state.name === "lingering") this.#state.cancel.abort();
    this.#state = VACANT;
    this.#parts.store.presence.watch(this.videoId, 0);
  }

  #in(ms: number): number {
    return this.#parts.clock.monotonic() + ms;
  }
}

function isNoChat(error: unknown): error is RelayError {
  return error instanceof RelayError && error.code === "NO_LIVE_CHAT";
}

/** The promise's outcome, or the signal's reason if that comes first; the promise itself goes on. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
