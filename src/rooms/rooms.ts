/**
 * All rooms of this instance: one entry for each video that somebody watches or watched just now. Here they are
 * looked up, counted, ticked and stopped; what happens to one of them is in its entry.
 */
import { RelayError } from "../protocol/errors.ts";
import type { AppenderSettings } from "../reading/log/appender.ts";
import { readCheckpoint } from "../reading/log/checkpoint.ts";
import type { PollerSettings } from "../reading/poller.ts";
import type { Room, RoomSettings, StreamRequest } from "../serving/room.ts";
import type { Peers } from "../store/peers.ts";
import { StoreError } from "../store/port.ts";
import { Entry } from "./entry.ts";
import {
  type EntryHost,
  type EntryParts,
  type EntrySettings,
  ROOM_STATES,
  type RoomState,
} from "./entry-host.ts";
import { type ListedRoom, listedRoom } from "./listing.ts";
import { OwnedRoom } from "./owned-room.ts";

/** Most time between two looks at viewers that may have stalled. */
const TICK_MS = 1000;
/** What a caller is told to wait where the limit of rooms or viewers is reached. */
const CAPACITY_RETRY_MS = 30_000;
/** A list of rooms holds no more. */
const MAX_LISTED = 1000;
/** A stop waits this long for polls in hand, and spreads the ends of streams over this long. */
const WIND_DOWN_MS = 2000;
const END_SPREAD_MS = 1500;

interface RoomsSettings extends EntrySettings, RoomSettings, PollerSettings, AppenderSettings {
  /** The videos whose chats are recorded. */
  recorded: ReadonlySet<string>;
  maxRooms: number;
  maxViewers: number;
}

export interface RoomsParts extends EntryParts {
  settings: RoomsSettings;
}

export class Rooms {
  readonly #parts: RoomsParts;
  readonly #entries = new Map<string, Entry>();
  /** Rooms that nobody enters any more, but that still have viewers to serve. */
  readonly #retired = new Set<Room>();
  readonly #stopped = new AbortController();
  #isDraining = false;
  readonly #host: EntryHost = {
    assertPlace: (videoId) => this.#assertPlace(videoId),
    retire: (room) => this.#retired.add(room),
    stopped: this.#stopped.signal,
  };

  constructor(parts: RoomsParts) {
    this.#parts = parts;
    parts.telemetry.sources.rooms = { byState: () => this.#byState(), viewers: () => this.viewerCount };
    void this.#tick();
    if (parts.store.peers) void this.#adopt(parts.store.peers);
  }

  get viewerCount(): number {
    let count = 0;
    for (const { viewerCount } of this.#entries.values()) count += viewerCount;
    for (const { viewerCount } of this.#retired) count += viewerCount;
    return count;
  }

  /**
   * Takes a viewer into the room of a video, which is opened if there is none. Rejects with `RelayError` (CAPACITY,
   * STORE_UNAVAILABLE, or what a bootstrap finds), `UpstreamError`, or the signal's reason if the viewer leaves.
   */
  async enter(request: StreamRequest, signal: AbortSignal): Promise<void> {
    if (this.#stopped.signal.aborted) throw stopping();
    if (this.viewerCount >= this.#parts.settings.maxViewers)
      throw atCapacity("Too many viewers are connected.");
    if (this.#parts.store.health.isBlocked) throw storeUnavailable();
    try {
      return await this.#entry(request.videoId).enter(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (this.#stopped.signal.aborted) throw stopping();
      throw error instanceof StoreError ? storeUnavailable(error) : error;
    }
  }

  /** Why this instance should not be sent new viewers; empty when it should. */
  async unreadiness(): Promise<string[]> {
    const reasons: string[] = [];
    if (this.#isDraining || this.#stopped.signal.aborted) reasons.push("the service is stopping");
    if (!(await this.#parts.store.health.isReady())) reasons.push("the store does not work");
    return reasons;
  }

  /** What is stored, the last read first, with what is open here. Rejects with `RelayError` STORE_UNAVAILABLE. */
  async list(): Promise<ListedRoom[]> {
    const summaries = await this.#parts.store.listRooms(MAX_LISTED).catch((error) => {
      throw error instanceof StoreError ? storeUnavailable(error) : error;
    });
    const now = this.#parts.clock.now();
    return summaries.map((summary) => {
      const { roomState: state, viewerCount: viewers = 0, owned } = this.#entries.get(summary.videoId) ?? {};
      const reading = owned && { egress: owned.egress.name, fullAnswers: owned.fullAnswers };
      return listedRoom(summary, state && { state, viewers, reading }, now);
    });
  }

  /**
   * After a restart: takes up, as lingering, the rooms whose checkpoint is not older than the grace time. Where
   * instances share a store, whichever comes first adopts them.
   */
  async resume(): Promise<void> {
    const { store, clock, settings, telemetry } = this.#parts;
    if (store.peers) return;
    for (const record of await store.unfinishedRooms(clock.now() - settings.graceMs)) {
      const position = readCheckpoint(record, telemetry);
      const claim = position && (await store.claim(record.videoId));
      if (!claim) continue;
      telemetry.roomResumed(record.videoId, claim.head);
      this.#entry(record.videoId).resume(OwnedRoom.resume(claim, position, this.#parts)); // made only now: a vacant entry goes with the next tick
    }
  }

  /** Stays unready for that long before a stop, so that a load balancer sends new viewers elsewhere; who comes is served. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    await this.#parts.clock.sleep(ms);
  }

  /**
   * Ends everything within a few seconds: what polls bring is made durable first, then streams end, spread so that
   * their readers do not come back as one wave. Rooms stay open in the store and go on after a restart.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    const entries = [...this.#entries.values()];
    await Promise.all(entries.map((entry) => entry.awaitPending()));
    await Promise.all(entries.map(({ owned }) => owned?.windDown(WIND_DOWN_MS)));
    const viewers = [...this.#openRooms(), ...this.#retired].flatMap((room) => [...room.viewers]);
    const spreadMs = Math.min(END_SPREAD_MS, viewers.length);
    await Promise.all(
      viewers.map(async (viewer) => {
        await this.#parts.clock.sleep(this.#parts.clock.random() * spreadMs);
        viewer.end();
      }),
    );
    for (const entry of entries) entry.close();
    for (const room of this.#retired) room.close();
  }

  /** Takes up rooms whose instance is gone while their viewers are between two connections. */
  async #adopt(peers: Peers): Promise<void> {
    for await (const videoIds of peers.orphans(this.#stopped.signal)) {
      if (this.#isDraining) continue;
      for (const videoId of videoIds) this.#entry(videoId).adopt();
    }
  }

  #entry(videoId: string): Entry {
    let entry = this.#entries.get(videoId);
    if (!entry) {
      entry = new Entry(videoId, this.#parts, this.#host);
      this.#entries.set(videoId, entry);
    }
    return entry;
  }

  #assertPlace(videoId: string): void {
    const others = this.#entries.values().filter((entry) => entry.isOpen && entry.videoId !== videoId);
    if (others.toArray().length >= this.#parts.settings.maxRooms)
      throw atCapacity("Too many rooms are open.");
  }

  async #tick(): Promise<void> {
    const { clock, settings } = this.#parts;
    const periodMs = Math.min(TICK_MS, settings.keepaliveMs, settings.stallMs);
    while (!this.#stopped.signal.aborted) {
      await clock.sleep(periodMs, this.#stopped.signal).catch(() => {});
      for (const entry of this.#entries.values()) {
        await entry.tick();
        if (entry.isVacant) this.#entries.delete(entry.videoId);
      }
      for (const room of this.#retired) {
        await room.tick();
        if (room.viewerCount > 0) continue;
        room.close();
        this.#retired.delete(room);
      }
    }
  }

  *#openRooms(): Iterable<Room> {
    for (const { room } of this.#entries.values()) if (room) yield room;
  }

  #byState(): Record<RoomState, number> {
    const counts = Object.fromEntries(ROOM_STATES.map((state) => [state, 0])) as Record<RoomState, number>;
    for (const { roomState } of this.#entries.values()) if (roomState) counts[roomState] += 1;
    for (const { end } of this.#retired) if (end) counts[end.state] += 1;
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
