/**
 * All rooms of this instance, at most one open per video. Whoever enters a video that has no room opens it;
 * whoever comes while it opens waits for the same bootstrap. Deserted, ended and failed rooms leave from here.
 */

import { RelayError } from "../protocol/errors.ts";
import { type RoomRecord, StoreError } from "../store/port.ts";
import { decodeCheckpoint } from "./checkpoint.ts";
import { resumeCursor } from "./cursor.ts";
import { OwnedRoom, type OwnedRoomParts } from "./owned-room.ts";
import type { PollerSettings } from "./poller.ts";
import {
  ROOM_STATES,
  Room,
  type RoomSettings,
  type RoomState,
  type Seat,
  type StartFor,
  type Wanted,
} from "./room.ts";

/** How long a replay that was read to its end answers from the store alone. */
const REPLAY_KEPT_MS = 3_600_000;
/** Most time between two looks at viewers that may have stalled. */
const TICK_MS = 1000;
/** What a caller is told to wait where the limit of rooms or viewers is reached. */
const CAPACITY_RETRY_MS = 30_000;
/** A stop waits this long for polls in hand, and spreads the ends of streams over this long. */
const WIND_DOWN_MS = 2000;
const HANG_UP_SPREAD_MS = 1500;

export interface RoomsSettings extends RoomSettings, PollerSettings {
  maxRooms: number;
  maxViewers: number;
}

export interface RoomsParts extends OwnedRoomParts {
  settings: RoomsSettings;
}

/** A room just opened, and where those who waited for it begin. */
interface Opened {
  room: Room;
  startFor: StartFor;
}

export class Rooms {
  readonly #parts: RoomsParts;
  readonly #open = new Map<string, OwnedRoom>();
  readonly #opening = new Map<string, Promise<Opened>>();
  /** Rooms that let go of their video but not yet of the store. */
  readonly #releasing = new Map<string, Promise<void>>();
  /** Rooms that are over and no longer entered, but still have viewers to serve. */
  readonly #retired = new Set<Room>();
  readonly #stopped = new AbortController();
  #entering = 0;

  constructor(parts: RoomsParts) {
    this.#parts = parts;
    parts.telemetry.watchRooms({ byState: () => this.#byState(), viewers: () => this.viewerCount });
    void this.#tick();
  }

  get viewerCount(): number {
    let count = this.#entering;
    for (const room of this.#all()) count += room.viewerCount;
    return count;
  }

  /**
   * Takes a viewer into the room of a video, which is opened if there is none. Rejects with `RelayError` (CAPACITY,
   * STORE_UNAVAILABLE, or what a bootstrap finds), `UpstreamError`, or the signal's reason if the viewer leaves.
   */
  async enter(wanted: Wanted, signal: AbortSignal): Promise<Seat> {
    if (this.#stopped.signal.aborted) throw stopping();
    if (this.viewerCount >= this.#parts.settings.maxViewers)
      throw atCapacity("Too many viewers are connected.");
    if (this.#parts.store.health.isBlocked) throw storeUnavailable();
    try {
      return await this.#enterOrOpen(wanted, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (this.#stopped.signal.aborted) throw stopping();
      throw error instanceof StoreError ? storeUnavailable(error) : error;
    }
  }

  /** Why this instance should not be sent new viewers; empty when it should. */
  async unreadiness(): Promise<string[]> {
    const reasons: string[] = [];
    if (this.#stopped.signal.aborted) reasons.push("the service is stopping");
    if (!(await this.#parts.store.health.isReady())) reasons.push("the store does not work");
    return reasons;
  }

  /** After a restart: takes up, as lingering, the rooms whose checkpoint is not older than the grace time. */
  async resume(): Promise<void> {
    const { store, clock, settings } = this.#parts;
    for (const record of await store.unfinishedRooms(clock.now() - settings.graceMs)) {
      const checkpoint = decodeCheckpoint(record.checkpoint);
      if (checkpoint) this.#keep(await OwnedRoom.resume(record, checkpoint, this.#parts));
    }
  }

  /**
   * Ends everything within a few seconds: what polls bring is made durable first, then streams end, spread so that
   * their readers do not come back as one wave. Rooms stay open in the store and go on after a restart.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.allSettled(this.#opening.values());
    await Promise.all([...this.#open.values()].map((owned) => owned.windDown(WIND_DOWN_MS)));
    const rooms = [...this.#all()];
    const viewers = rooms.flatMap((room) => [...room.viewers]);
    const spreadMs = Math.min(HANG_UP_SPREAD_MS, viewers.length);
    await Promise.all(
      viewers.map(async (viewer) => {
        await this.#parts.clock.sleep(this.#parts.clock.random() * spreadMs);
        viewer.hangUp();
      }),
    );
    for (const room of rooms) room.close();
  }

  async #enterOrOpen(wanted: Wanted, signal: AbortSignal): Promise<Seat> {
    const open = this.#open.get(wanted.videoId);
    if (open) return open.room.enter(wanted);
    try {
      const { room, startFor } = await this.#waitFor(wanted.videoId, signal);
      return await room.enter(wanted, startFor);
    } catch (error) {
      const seat = isNoChat(error) && (await this.#enterArchive(wanted));
      if (seat) return seat;
      throw error;
    }
  }

  /** One opening for all who wait, however many they are; it goes on when one of them leaves. */
  async #waitFor(videoId: string, signal: AbortSignal): Promise<Opened> {
    let opening = this.#opening.get(videoId);
    if (!opening) {
      opening = this.#openRoom(videoId).finally(() => this.#opening.delete(videoId));
      opening.catch((error) => this.#parts.telemetry.roomRefused(videoId, error));
      this.#opening.set(videoId, opening);
    }
    this.#entering += 1;
    try {
      return await unlessAborted(opening, signal);
    } finally {
      this.#entering -= 1;
    }
  }

  async #openRoom(videoId: string): Promise<Opened> {
    if (this.#open.size + this.#opening.size >= this.#parts.settings.maxRooms) {
      throw atCapacity("Too many rooms are open.");
    }
    await this.#releasing.get(videoId);
    const finished = await this.#finishedReplay(videoId);
    if (finished) return finished;
    const { owned, startFor } = await OwnedRoom.bootstrap(videoId, this.#parts, this.#stopped.signal);
    this.#keep(owned);
    return { room: owned.room, startFor };
  }

  /** Keeps a room open until it is deserted or over. */
  #keep(owned: OwnedRoom): void {
    const { room } = owned;
    this.#open.set(room.videoId, owned);
    room.onDeserted = () => {
      const released = owned.release().catch((error) => room.broken(error));
      this.#retire(owned);
      this.#releasing.set(
        room.videoId,
        released.finally(() => this.#releasing.delete(room.videoId)),
      );
    };
    owned.over().then(
      () => this.#afterEnd(owned),
      (error) => {
        room.broken(error);
        this.#retire(owned);
        owned.abandon();
      },
    );
    room.lingerIfDeserted();
  }

  /** An ended room still answers resuming viewers for the grace time; any other makes place at once. */
  async #afterEnd(owned: OwnedRoom): Promise<void> {
    const { clock, settings, telemetry } = this.#parts;
    const { room } = owned;
    if (room.end) telemetry.roomClosed(room.videoId, room.end);
    if (room.state === "ended") await clock.sleep(settings.graceMs, this.#stopped.signal).catch(() => {});
    if (!this.#stopped.signal.aborted) this.#retire(owned);
  }

  #retire(owned: OwnedRoom): void {
    if (this.#open.get(owned.room.videoId) !== owned) return;
    this.#open.delete(owned.room.videoId);
    if (owned.room.viewerCount > 0) this.#retired.add(owned.room);
    else owned.room.close();
  }

  /** A replay that was read to its end not long ago: its opener is sent all of it, as of any replay. */
  async #finishedReplay(videoId: string): Promise<Opened | undefined> {
    const record = await this.#parts.store.getRoom(videoId);
    if (record?.end?.state !== "ended" || record.endedAt === null) return undefined;
    if (record.endedAt < this.#parts.clock.now() - REPLAY_KEPT_MS) return undefined;
    const room = this.#archive(record);
    return room?.chatType === "liveChatReplayRenderer"
      ? { room, startFor: (range) => range.floor }
      : undefined;
  }

  /** The chat is gone, but a viewer that holds a cursor of its room gets what follows. */
  async #enterArchive(wanted: Wanted): Promise<Seat | undefined> {
    const record = await this.#parts.store.getRoom(wanted.videoId);
    if (!record || resumeCursor(record, wanted.lastEventId) === undefined) return undefined;
    return this.#archive(record)?.enter(wanted);
  }

  /** A room that is over, served from the store. */
  #archive(record: RoomRecord): Room | undefined {
    const checkpoint = decodeCheckpoint(record.checkpoint);
    if (!checkpoint) return undefined;
    const room = new Room(record.videoId, checkpoint.chatType, record.head, this.#parts);
    room.finish({ state: "ended", reason: "no more continuations" });
    this.#retired.add(room);
    return room;
  }

  async #tick(): Promise<void> {
    const { clock, settings } = this.#parts;
    const periodMs = Math.min(TICK_MS, settings.keepaliveMs, settings.stallMs);
    while (!this.#stopped.signal.aborted) {
      await clock.sleep(periodMs, this.#stopped.signal).catch(() => {});
      for (const room of this.#all()) room.tick();
      for (const room of this.#retired) {
        if (room.viewerCount > 0) continue;
        room.close();
        this.#retired.delete(room);
      }
    }
  }

  *#all(): Iterable<Room> {
    for (const { room } of this.#open.values()) yield room;
    yield* this.#retired;
  }

  #byState(): Record<RoomState, number> {
    const counts = Object.fromEntries(ROOM_STATES.map((state) => [state, 0])) as Record<RoomState, number>;
    counts.bootstrapping = this.#opening.size;
    for (const { state } of this.#all()) counts[state] += 1;
    return counts;
  }
}

function atCapacity(message: string, retryAfterMs = CAPACITY_RETRY_MS): RelayError {
  return new RelayError("CAPACITY", message, { retryAfterMs });
}

function storeUnavailable(cause?: StoreError): RelayError {
  return new RelayError("STORE_UNAVAILABLE", "The store is unavailable; try again shortly.", {
    cause,
  });
}

function stopping(): RelayError {
  return atCapacity("The service is stopping; connect again.", 1000);
}

function isNoChat(error: unknown): boolean {
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
