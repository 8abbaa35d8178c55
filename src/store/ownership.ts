/**
 * The ownership of rooms. An instance takes a room before it reads it, holds it meanwhile, and gives it back;
 * all other instances can only follow. A store that only one process uses is a cluster of one.
 */
import { type Claim, isUnavailable, type RoomRecord, StoreError } from "./port.ts";

export interface Ownership {
  /**
   * Makes this instance the room's owner under a new epoch; resolves to undefined if another instance owns
   * the room. It changes nothing else: a room that has ended stays ended until the first append. Rejects with
   * `StoreError` "unavailable".
   */
  take(videoId: string): Promise<Hold | undefined>;

  /**
   * Resolves when the owner of a followed room may be gone, so that taking it is worth a try. Rejects with
   * the signal's reason.
   */
  freed(videoId: string, signal: AbortSignal): Promise<void>;

  /**
   * Yields open rooms without an owner that count as watched; after a start also those that were read within
   * `graceMs`. Ends with the signal.
   */
  orphans(graceMs: number, signal: AbortSignal): AsyncIterable<readonly string[]>;

  /** Reports the number of this instance's viewers in a room, including those that wait for its bootstrap. */
  setViewers(videoId: string, viewers: number): void;

  /**
   * How long a room still counts as watched if no viewer is left, in milliseconds; 0 if nobody has watched it
   * for the grace time. Rejects with `StoreError` "unavailable".
   */
  watchedForMs(videoId: string): Promise<number>;

  /**
   * Resolves to those of the given rooms that have viewers at another instance. Rejects with `StoreError`
   * "unavailable".
   */
  wantedElsewhere(videoIds: readonly string[]): Promise<readonly string[]>;

  /**
   * A room that this instance should hand on to another one, which has viewers of it and reads far fewer
   * rooms; undefined if there is none. Never one that it took in the last ten seconds. Rejects with
   * `StoreError` "unavailable".
   */
  oneTooMany(): Promise<string | undefined>;
}

/** The part of an ownership that its holds use. */
interface Keeper {
  /** Throws as `Hold.assertHeld`. */
  assertHeld(claim: Claim): void;
  giveBack(claim: Claim): Promise<void>;
}

/** A room that this instance owns. Disposing of the hold gives the room back, unless `keep` was called. */
export class Hold implements Claim, AsyncDisposable {
  readonly videoId: string;
  readonly epoch: number;
  /** The room as it was taken; undefined if it does not exist yet, so that the first append creates it. */
  readonly room: RoomRecord | undefined;
  /** The cursor after which the room continues. */
  readonly head: number;
  readonly #keeper: Keeper;
  readonly #lost = new AbortController();
  #isKept = false;

  constructor({ videoId, epoch }: Claim, head: number, room: RoomRecord | undefined, keeper: Keeper) {
    this.videoId = videoId;
    this.epoch = epoch;
    this.head = head;
    this.room = room;
    this.#keeper = keeper;
  }

  /**
   * Call it when an upstream call starts. Throws `StoreError` "fenced" if this instance no longer owns the
   * room, and "unavailable" if it cannot prove that it still does.
   */
  assertHeld(): void {
    this.#keeper.assertHeld(this);
  }

  /**
   * Aborts with `StoreError` "fenced" if the ownership learns that another instance has taken the room, which
   * may be long before the next call or write.
   */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** For the ownership: another instance has taken the room. */
  lose(): void {
    this.#lost.abort(new StoreError("fenced", `room ${this.videoId}: another instance has taken it`));
  }

  /** Makes the hold last beyond its scope, until `giveBack` or the end of the room. */
  keep(): void {
    this.#isKept = true;
  }

  /** Ends the ownership by this instance. The hold is not renewed any more, even if the store fails. */
  giveBack(): Promise<void> {
    return this.#keeper.giveBack(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isKept) await this.giveBack();
  }
}

/** A room that a store of one process gives to its next owner. */
export interface TakenRoom {
  epoch: number;
  head: number;
  room: RoomRecord | undefined;
}

/** The operations that a store of one process provides for its ownership. */
interface LocalRooms {
  take(videoId: string): Promise<TakenRoom>;
  /** Open rooms that were read within this time. */
  unfinishedRooms(maxAgoMs: number): Promise<string[]>;
}

/**
 * The ownership in a store of one process. A hold lasts until the room is taken again, a write is fenced, the
 * room has ended, or the store is closed.
 */
export class LocalOwnership implements Ownership {
  readonly #rooms: LocalRooms;
  /** The epoch of each held room. */
  readonly #epochs = new Map<string, number>();
  readonly #watched = new Set<string>();
  /**
   * The newest epoch of a room that did not exist yet. Two rooms of one millisecond must get different
   * epochs.
   */
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

  /** The rooms that this process owns. */
  get held(): readonly string[] {
    return [...this.#epochs.keys()];
  }

  /** Throws `StoreError` "fenced" if the claim is not the room's newest one. */
  assertHeld({ videoId, epoch }: Claim): void {
    if (this.#epochs.get(videoId) === epoch) return;
    throw new StoreError("fenced", `room ${videoId}: epoch ${epoch} is no longer its owner's`);
  }

  end({ videoId, epoch }: Claim): void {
    if (this.#epochs.get(videoId) === epoch) this.#epochs.delete(videoId);
  }

  /** Ends all holds. The closed store itself refuses later writes. */
  close(): void {
    this.#epochs.clear();
    this.#isClosed = true;
  }

  /** A write of the owner. The hold ends for good if the write is fenced, or the hold has already ended. */
  async write<T>(claim: Claim, act: () => Promise<T>): Promise<T> {
    try {
      if (!this.#isClosed) this.assertHeld(claim);
      return await act();
    } catch (error) {
      if (!isUnavailable(error)) this.end(claim);
      throw error;
    }
  }

  /** Resolves at once: no other instance can own the room. */
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
