/**
 * All rooms of this instance: one entry for each video that has viewers or had them recently. Here they are
 * looked up, counted, ticked and stopped; `entry.ts` has the life of each one.
 */
import { Deadline, unlessAborted } from "../deadline.ts";
import type { Room, StreamRequest } from "../serving/room.ts";
import { isUnavailable, notStored, type RoomRecord, storeUnavailable } from "../store/port.ts";
import { excerptOf } from "./archive.ts";
import { VideoEntry } from "./entry.ts";
import { type EntryHost, type EntryParts, HAND_ON, ROOM_STATES, type RoomState } from "./entry-host.ts";
import {
  type ListedRoom,
  type LocalRoom,
  listedRoom,
  type ShownRoom,
  shownRoom,
  stateOf,
} from "./listing.ts";
import { atCapacity, refuseUnavailable, stopping } from "./refusals.ts";

/** The maximum interval of the checks for stalled viewers. */
const TICK_MS = 1000;
/** The maximum length of a list of rooms. */
const MAX_LISTED = 1000;
/**
 * The time limits of a stop: for the current polls, for giving the rooms back, and the spread of the ends of
 * streams.
 */
const WIND_DOWN_MS = 2000;
const GIVE_BACK_MS = 1500;
const END_SPREAD_MS = 1500;
/**
 * The interval of checks for rooms that another instance should read, and the wait before adoption is tried
 * again.
 */
const HAND_ON_MS = 1000;
const ADOPT_RETRY_MS = 1000;
/**
 * If this instance must take back a room within this time after it handed the room on because of the load,
 * the hand-on had no effect: no room is handed on for that reason during the next `IN_VAIN_MS`.
 */
const TAKEN_MS = 10_000;
const IN_VAIN_MS = 30_000;
/** An instance that cannot read a room for this long hands it on to an instance with viewers of it. */
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
  readonly #entries = new Map<string, VideoEntry>();
  /** Rooms that take no new viewers, but still serve their last ones. */
  readonly #retired = new Set<Room>();
  /** Viewers of channels that are in no room. They count as viewers, and a stop ends them, too. */
  readonly waiting = new Set<{ end(): void }>();
  readonly #stopped = new AbortController();
  #isDraining = false;
  /**
   * When each room was handed on because of the load, on the monotonic clock; only rooms that may still come
   * back.
   */
  readonly #handedOn = new Map<string, number>();
  /** Until this time, on the monotonic clock, no room is handed on because of the load. */
  #keepsUntil = 0;
  readonly #host: EntryHost = {
    assertCapacity: (videoId) => this.#assertCapacity(videoId),
    retire: (room) => this.#retired.add(room),
    roomsRead: () => this.#ownedEntries().length,
    stopped: this.#stopped.signal,
  };

  constructor(parts: RoomsParts) {
    this.#parts = parts;
    parts.telemetry.sources.rooms = {
      byState: () => this.#byState(),
      viewers: () => this.viewerCount,
      byForm: () => this.#byForm(),
    };
    void this.#tick();
    void this.#adopt();
    void this.#handOn();
  }

  get viewerCount(): number {
    let count = this.waiting.size;
    for (const { viewerCount } of this.#entries.values()) count += viewerCount;
    for (const { viewerCount } of this.#retired) count += viewerCount;
    return count;
  }

  /** Aborts when the service stops, so that viewers must reconnect. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /**
   * Throws `RelayError` CAPACITY if fewer than `count` viewers can still be taken, or if the service stops.
   */
  assertPlaces(count: number): void {
    if (this.stopped.aborted) throw stopping();
    if (this.viewerCount + count > this.#parts.settings.maxViewers)
      throw atCapacity("Too many viewers are connected.");
  }

  /**
   * Takes a viewer into the room of a video, and opens the room if necessary. Rejects with `RelayError`
   * (CAPACITY, STORE_UNAVAILABLE, NOT_STORED, or the outcome of a bootstrap), `UpstreamError`, or the
   * signal's reason if the viewer leaves.
   */
  async enter(request: StreamRequest, signal: AbortSignal): Promise<void> {
    this.assertPlaces(1);
    if (this.#parts.store.health.isBlocked) throw storeUnavailable();
    try {
      if (request.isBounded) return await this.#enterExcerpt(request);
      return await this.#entry(request.videoId).enter(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (this.stopped.aborted) throw stopping();
      return refuseUnavailable(error);
    }
  }

  /** Serves a viewer the messages that are stored now, from the store alone. */
  async #enterExcerpt(request: StreamRequest): Promise<void> {
    const room = await excerptOf(request.videoId, this.#parts);
    this.#retired.add(room);
    // Without a backfill, nothing counts as history: everything stored is sent.
    await room.enter(request, request.backfill === undefined ? 0 : room.tail.head);
  }

  /** The reasons why this instance should get no new viewers; empty if it should. */
  async unreadiness(): Promise<string[]> {
    const reasons: string[] = [];
    if (this.#isDraining || this.stopped.aborted) reasons.push("the service is stopping");
    if (!(await this.#parts.store.isReady())) reasons.push("the store does not work");
    return reasons;
  }

  /**
   * The stored rooms, those read most recently first, with their state on this instance. Rejects with
   * `RelayError` STORE_UNAVAILABLE.
   */
  async list(): Promise<ListedRoom[]> {
    const summaries = await this.#parts.store.listRooms(MAX_LISTED).catch(refuseUnavailable);
    return summaries.map((summary) => listedRoom(summary, this.#local(summary.videoId)));
  }

  /**
   * One stored room with its totals, without opening it. `showsReading`: whether to show how this instance
   * reads it. Rejects with `RelayError` NOT_STORED or STORE_UNAVAILABLE.
   */
  async show(videoId: string, showsReading: boolean): Promise<ShownRoom> {
    const account = await this.#parts.store.getAccount(videoId).catch(refuseUnavailable);
    if (!account) throw notStored(videoId);
    const local = this.#local(videoId);
    return shownRoom(account, showsReading ? local : local && { ...local, reading: undefined });
  }

  #local(videoId: string): LocalRoom | undefined {
    const { roomState: state, viewerCount: viewers = 0, owned } = this.#entries.get(videoId) ?? {};
    const reading = owned && { egress: owned.egress.name, fullAnswers: owned.fullAnswers };
    return state && { state, viewers, reading };
  }

  /** The state of a stored room, as `list` shows it. */
  stateOf({ videoId, end }: Pick<RoomRecord, "videoId" | "end">): RoomState {
    return stateOf(end, this.#entries.get(videoId)?.roomState);
  }

  /** Whether the chat has not ended, and this instance opens, reads or follows it. */
  isRead(videoId: string): boolean {
    const { room, roomState } = this.#entries.get(videoId) ?? {};
    return room ? room.end === undefined : roomState === "bootstrapping";
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
   * Ends everything within a few seconds. First makes the current polls durable, then ends the streams,
   * spread over time so that their viewers do not reconnect all at once. Rooms stay open in the store, and
   * continue after a restart.
   */
  async stop(): Promise<void> {
    this.#stopped.abort();
    const entries = [...this.#entries.values()];
    using limit = new Deadline(this.#parts.clock, WIND_DOWN_MS + GIVE_BACK_MS);
    const ends = entries.map((entry) => entry.windDown(WIND_DOWN_MS));
    await unlessAborted(Promise.all(ends), limit.signal).catch(() => {}); // other holds expire
    const rooms = [...this.#openRooms(), ...this.#retired];
    const viewers = [...rooms.flatMap((room) => [...room.viewers]), ...this.waiting];
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

  /** Adopts rooms without an owner, whose viewers may be between two connections. */
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

  /**
   * Hands rooms on to other instances that have viewers of them: all that this instance cannot reach, and one
   * at a time if it reads too many.
   */
  async #handOn(): Promise<void> {
    const { clock, egresses } = this.#parts;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await clock.sleep(HAND_ON_MS, signal).catch(() => {});
      if (signal.aborted || this.#isDraining) continue;
      try {
        const out = this.#ownedEntries().filter(({ owned }) => (owned?.egress.outMs ?? 0) > OUT_MS);
        const wanted = await this.#wantedElsewhere(out);
        if (wanted.length > 0) egresses.cutOff();
        const tooMany = await this.#oneTooMany();
        if (tooMany !== undefined) wanted.push(tooMany);
        await Promise.all(wanted.map((videoId) => this.#entries.get(videoId)?.handOn()));
      } catch (error) {
        if (!isUnavailable(error)) throw error; // already reported; the next round tries again
      }
    }
  }

  /**
   * A room to hand on because this instance reads too many. After one came back, none for a while: the
   * instance that wanted it may be gone, or unable to reach the upstream.
   */
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

  /** Whether the room was handed on so recently that it is left to the other instances. */
  #isLeftToOthers(videoId: string): boolean {
    const at = this.#handedOn.get(videoId) ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.monotonic() < at + HAND_ON.restMs;
  }

  async #wantedElsewhere(entries: readonly VideoEntry[]): Promise<string[]> {
    if (entries.length === 0) return [];
    const videoIds = entries.map(({ videoId }) => videoId);
    return [...(await this.#parts.store.ownership.wantedElsewhere(videoIds))];
  }

  /** The rooms that this instance reads. */
  #ownedEntries(): VideoEntry[] {
    return [...this.#entries.values().filter(({ owned }) => owned !== undefined)];
  }

  #entry(videoId: string): VideoEntry {
    let entry = this.#entries.get(videoId);
    if (!entry) {
      entry = new VideoEntry(videoId, this.#parts, this.#host);
      this.#entries.set(videoId, entry);
    }
    return entry;
  }

  #assertCapacity(videoId: string): void {
    const others = this.#entries.values().filter((entry) => entry.isOpen && entry.videoId !== videoId);
    if (others.toArray().length >= this.#parts.settings.maxRooms)
      throw atCapacity("Too many rooms are open.");
  }

  async #tick(): Promise<void> {
    const { clock, settings } = this.#parts;
    const periodMs = Math.min(TICK_MS, settings.keepaliveMs, settings.stallMs);
    while (!this.stopped.aborted) {
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

  *#byForm() {
    for (const room of [...this.#openRooms(), ...this.#retired]) yield* room.feeds.census();
  }

  #byState(): Record<RoomState, number> {
    const counts = Object.fromEntries(ROOM_STATES.map((state) => [state, 0])) as Record<RoomState, number>;
    for (const { roomState } of this.#entries.values()) if (roomState) counts[roomState] += 1;
    for (const { end } of this.#retired) if (end) counts[end.state] += 1;
    return counts;
  }
}
