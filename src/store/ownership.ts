/**
 * Who reads a room. An instance takes a room before it reads it, holds it while it does, and gives it back; what another
 * instance holds, it can only follow. A store that one process has to itself is a cluster of one.
 */
import { type Claim, isUnavailable, type RoomRecord, StoreError } from "./port.ts";

export interface Ownership {
  /**
   * Makes this instance the room's owner under a new epoch; undefined where another instance owns it. Nothing of the
   * room changes by that: a room that has ended stays so until the first append. Rejects with `StoreError`
   * "unavailable".
   */
  take(videoId: string): Promise<Hold | undefined>;

  /** Resolves when the owner of a followed room may be gone, so that it may be taken. Rejects with the signal's reason. */
  freed(videoId: string, signal: AbortSignal): Promise<void>;

  /**
   * Open rooms that nobody owns and that count as watched, as they are found; after a start also those that were read
   * within `graceMs`. Ends with the signal.
   */
  orphans(graceMs: number, signal: AbortSignal): AsyncIterable<readonly string[]>;

  /** Says how many viewers this instance has in a room, those who wait for its bootstrap included. */
  setViewers(videoId: string, viewers: number): void;

  /**
   * For how long a room counts as watched yet, in milliseconds, unless somebody goes on watching; 0: nobody has watched
   * it for the grace time. Rejects with `StoreError` "unavailable".
   */
  watchedForMs(videoId: string): Promise<number>;

  /** Those of the rooms that another instance has viewers of. Rejects with `StoreError` "unavailable". */
  wantedElsewhere(videoIds: readonly string[]): Promise<readonly string[]>;

  /**
   * A room that this instance should hand on to another one that has viewers of it and far less to do; undefined where
   * there is none. Rejects with `StoreError` "unavailable".
   */
  oneTooMany(): Promise<string | undefined>;
}

/** What keeps a hold, and is told when it is given back. */
interface Keeper {
  /** Throws as `Hold.assertHeld`. */
  assertHeld(claim: Claim): void;
  giveBack(claim: Claim): Promise<void>;
}

/** A room that this instance owns. It is given back when it is disposed of, unless it is kept. */
export class Hold implements Claim, AsyncDisposable {
  readonly videoId: string;
  readonly epoch: number;
  /** The room as it was taken; undefined where it does not exist yet: the first append makes it. */
  readonly room: RoomRecord | undefined;
  /** The cursor after which it goes on. */
  readonly head: number;
  readonly #keeper: Keeper;
  #isKept = false;

  constructor({ videoId, epoch }: Claim, head: number, room: RoomRecord | undefined, keeper: Keeper) {
    this.videoId = videoId;
    this.epoch = epoch;
    this.head = head;
    this.room = room;
    this.#keeper = keeper;
  }

  /**
   * To be asked when an upstream call goes out. Throws `StoreError`: "fenced" once the room is no longer this instance's,
   * "unavailable" while it cannot be proved that it still is.
   */
  assertHeld(): void {
    this.#keeper.assertHeld(this);
  }

  /** From now on it lasts beyond its scope: until `giveBack`, or the end of the room. */
  keep(): void {
    this.#isKept = true;
  }

  /** The room is not read on by this instance. Whatever the store says to that, it is renewed no more. */
  giveBack(): Promise<void> {
    return this.#keeper.giveBack(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isKept) await this.giveBack();
  }
}

/** A room as a store of one process gives it to its next owner. */
export interface TakenRoom {
  epoch: number;
  head: number;
  room: RoomRecord | undefined;
}

/** What a store of one process does for its ownership. */
interface LocalRooms {
  take(videoId: string): Promise<TakenRoom>;
  /** Open rooms that were read within the time. */
  unfinishedRooms(maxAgoMs: number): Promise<string[]>;
}

/** A hold lasts until the room is taken again, a write is fenced, the room is over, or the store is closed. */
export class LocalOwnership implements Ownership {
  readonly #rooms: LocalRooms;
  /** Of each room that is held, the epoch. */
  readonly #epochs = new Map<string, number>();
  readonly #watched = new Set<string>();
  /** The newest epoch of a room that did not exist yet: two of one millisecond must differ. */
  #newborn = 0;
  #isClosed = false;

  constructor(rooms: LocalRooms) {
    this.#rooms = rooms;
  }

  async take(videoId: string): Promise<Hold> {
    const taken = await this.#rooms.take(videoId);
    const { head, room } = taken;
    if (!room) this.#newborn = Math.max(taken.epoch, this.#newborn + 1);
    const epoch = room ? taken.epoch : this.#newborn;
    this.#epochs.set(videoId, epoch);
    return new Hold({ videoId, epoch }, head, room, {
      assertHeld: (claim) => this.assertHeld(claim),
      giveBack: async (claim) => this.end(claim),
    });
  }

  /** Throws `StoreError` "fenced" where it is not the room's newest. */
  assertHeld({ videoId, epoch }: Claim): void {
    if (this.#epochs.get(videoId) === epoch) return;
    throw new StoreError("fenced", `room ${videoId}: epoch ${epoch} is no longer its owner's`);
  }

  end({ videoId, epoch }: Claim): void {
    if (this.#epochs.get(videoId) === epoch) this.#epochs.delete(videoId);
  }

  /** Ends all holds; what is written from now on the closed store refuses. */
  close(): void {
    this.#epochs.clear();
    this.#isClosed = true;
  }

  /** A write of the owner: one that is fenced, or a hold that has ended, ends it for good. */
  async write<T>(claim: Claim, act: () => Promise<T>): Promise<T> {
    try {
      if (!this.#isClosed) this.assertHeld(claim);
      return await act();
    } catch (error) {
      if (!isUnavailable(error)) this.end(claim);
      throw error;
    }
  }

  /** Nobody else can own it. */
  async freed(): Promise<void> {}

  async *orphans(graceMs: number): AsyncGenerator<readonly string[]> {
    yield await this.#rooms.unfinishedRooms(graceMs);
  }

  setViewers(videoId: string, viewers: number): void {
    if (viewers > 0) this.#watched.add(videoId);
    else this.#watched.delete(videoId);
  }

  async watchedForMs(videoId: string): Promise<number> {
    return this.#watched.has(videoId) ? Number.POSITIVE_INFINITY : 0;
  }

  async wantedElsewhere(): Promise<readonly string[]> {
    return [];
  }

  async oneTooMany(): Promise<undefined> {}
}
