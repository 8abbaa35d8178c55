/**
 * All rooms of this instance: one entry for each video that somebody watches or watched just now. Here they are
 * looked up, counted, ticked and stopped; what happens to one of them is in its entry.
 */
import { Deadline, unlessAborted } from "../deadline.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Room, StreamRequest } from "../serving/room.ts";
import { isUnavailable, StoreError } from "../store/port.ts";
import { Entry } from "./entry.ts";
import { type EntryHost, type EntryParts, HAND_ON, ROOM_STATES, type RoomState } from "./entry-host.ts";
import { type ListedRoom, listedRoom } from "./listing.ts";

/** Most time between two looks at viewers that may have stalled. */
const TICK_MS = 1000;
/** What a caller is told to wait where the limit of rooms or viewers is reached. */
const CAPACITY_RETRY_MS = 30_000;
/** A list of rooms holds no more. */
const MAX_LISTED = 1000;
/** A stop waits this long for polls in hand, for the store to take what they bring, and spreads the ends of streams. */
const WIND_DOWN_MS = 2000;
const GIVE_BACK_MS = 1500;
const END_SPREAD_MS = 1500;
/** Between two looks for rooms that another instance should read, and between two tries for rooms that nobody reads. */
const HAND_ON_MS = 1000;
const ADOPT_RETRY_MS = 1000;
/** Who wants a room that is handed on takes it within so long; where nobody does, none is handed on for the load's sake for a while. */
const TAKEN_MS = 10_000;
const IN_VAIN_MS = 30_000;
/** An instance that cannot read a room for so long leaves it to another one that has viewers of it. */
const OUT_MS = 10_000;

type RoomsSettings = EntryParts["settings"] & {
  maxRooms: number;
  maxViewers: number;
};

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
  /** When each room was handed on for the load's sake, as far as it may yet come back, on the monotonic clock. */
  readonly #handedOn = new Map<string, number>();
  /** Until when none is. */
  #keepsUntil = 0;
  readonly #host: EntryHost = {
    assertPlace: (videoId) => this.#assertPlace(videoId),
    retire: (room) => this.#retired.add(room),
    roomsRead: () => this.#read().length,
    stopped: this.#stopped.signal,
  };

  constructor(parts: RoomsParts) {
    this.#parts = parts;
    parts.telemetry.sources.rooms = { byState: () => this.#byState(), viewers: () => this.viewerCount };
    void this.#tick();
    void this.#adopt();
    void this.#handOn();
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
    if (!(await this.#parts.store.isReady())) reasons.push("the store does not work");
    return reasons;
  }

  /** What is stored, the last read first, with what is open here. Rejects with `RelayError` STORE_UNAVAILABLE. */
  async list(): Promise<ListedRoom[]> {
    const summaries = await this.#parts.store.listRooms(MAX_LISTED).catch((error) => {
      throw error instanceof StoreError ? storeUnavailable(error) : error;
    });
    return summaries.map((summary) => {
      const { roomState: state, viewerCount: viewers = 0, owned } = this.#entries.get(summary.videoId) ?? {};
      const reading = owned && { egress: owned.egress.name, fullAnswers: owned.fullAnswers };
      return listedRoom(summary, state && { state, viewers, reading });
    });
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
    using limit = new Deadline(this.#parts.clock, WIND_DOWN_MS + GIVE_BACK_MS);
    const ends = entries.map((entry) => entry.windDown(WIND_DOWN_MS));
    await unlessAborted(Promise.all(ends), limit.signal).catch(() => {}); // what is not given back runs out
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

  /** Takes up rooms that nobody reads while their viewers are between two connections. */
  async #adopt(): Promise<void> {
    const { clock, egresses, settings, store } = this.#parts;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        for await (const videoIds of store.ownership.orphans(settings.graceMs, signal)) {
          await egresses.reachable(signal);
          if (this.#isDraining) continue;
          for (const videoId of videoIds) if (!this.#isLeftToOthers(videoId)) this.#entry(videoId).adopt();
        }
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isUnavailable(error)) throw error;
        await clock.sleep(ADOPT_RETRY_MS, signal).catch(() => {});
      }
    }
  }

  /** Hands rooms on that other instances have viewers of: those that cannot be read from here, and one at a time where they are too many. */
  async #handOn(): Promise<void> {
    const { clock, egresses } = this.#parts;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await clock.sleep(HAND_ON_MS, signal).catch(() => {});
      if (signal.aborted || this.#isDraining) continue;
      try {
        const out = this.#read().filter(({ owned }) => (owned?.egress.outMs ?? 0) > OUT_MS);
        const wanted = await this.#wantedElsewhere(out);
        if (wanted.length > 0) egresses.cutOff();
        const tooMany = await this.#oneTooMany();
        if (tooMany !== undefined) wanted.push(tooMany);
        await Promise.all(wanted.map((videoId) => this.#entries.get(videoId)?.handOn()));
      } catch (error) {
        if (!isUnavailable(error)) throw error; // one that is was reported, and comes again
      }
    }
  }

  /** One of too many rooms; none after one came back: who wants them may be gone, or out of the upstream's reach. */
  async #oneTooMany(): Promise<string | undefined> {
    const { clock, store } = this.#parts;
    const now = clock.monotonic();
    for (const [videoId, at] of this.#handedOn) {
      const isBack = this.#entries.get(videoId)?.owned !== undefined;
      if (isBack) this.#keepsUntil = now + IN_VAIN_MS;
      if (isBack || now > at + TAKEN_MS) this.#handedOn.delete(videoId);
    }
    if (now < this.#keepsUntil) return undefined;
    const tooMany = await store.ownership.oneTooMany();
    if (tooMany !== undefined) this.#handedOn.set(tooMany, now);
    return tooMany;
  }

  /** Whether it was handed on so lately that others have it to themselves. */
  #isLeftToOthers(videoId: string): boolean {
    const at = this.#handedOn.get(videoId) ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.monotonic() < at + HAND_ON.restMs;
  }

  async #wantedElsewhere(entries: readonly Entry[]): Promise<string[]> {
    if (entries.length === 0) return [];
    const videoIds = entries.map(({ videoId }) => videoId);
    return [...(await this.#parts.store.ownership.wantedElsewhere(videoIds))];
  }

  /** The rooms that this instance reads. */
  #read(): Entry[] {
    return [...this.#entries.values().filter(({ owned }) => owned !== undefined)];
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
