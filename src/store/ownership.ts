/**
 * The ownership of rooms. An instance takes a room before it reads it, holds it meanwhile, and gives it back;
 * all other instances can only follow. A store that only one process uses is a cluster of one.
 */
import type { ChatKey } from "../protocol/chat-key.ts";
import type { Claim, RoomRecord } from "./port.ts";
import { isUnavailable, StoreError } from "./store-error.ts";

/** An instance that has too many rooms keeps each at least this long, so that no room goes back and forth. */
export const SETTLED_MS = 10_000;

export interface Ownership {
  /**
   * Makes this instance the room's owner under a new epoch; resolves to undefined if another instance owns
   * the room. It changes nothing else: a room that has ended stays ended until the first append. Rejects with
   * `StoreError` "unavailable". Test: "exist for nobody before they are first read".
   *
   * The epoch and the cursors of a new room come from the clock. So they exceed those of every earlier room
   * of this name, which was pruned or lost with its store: no old claim or cursor passes for a new one. The
   * cursors also exceed those of the video's other chat.
   */
  take(key: ChatKey): Promise<Hold | undefined>;

  /**
   * Resolves when the owner of a followed room may be gone, so that taking it is worth a try. Rejects with
   * the signal's reason.
   */
  freed(key: ChatKey, signal: AbortSignal): Promise<void>;

  /**
   * Yields open rooms without an owner that count as watched; after a start also those that were read within
   * `graceMs`. Ends with the signal at the latest.
   */
  orphans(graceMs: number, signal: AbortSignal): AsyncIterable<readonly ChatKey[]>;

  /** Reports the number of this instance's viewers in a room, including those that wait for its bootstrap. */
  setViewers(key: ChatKey, viewers: number): void;

  /**
   * How long a room still counts as watched if no viewer is left, in milliseconds. 0 if nobody watches it; in
   * a shared store, if nobody has watched it for the grace time. Rejects with `StoreError` "unavailable".
   */
  watchedForMs(key: ChatKey): Promise<number>;

  /**
   * Resolves to those of the given rooms that have viewers at another instance, more than `beyond` there.
   * Rejects with `StoreError` "unavailable".
   */
  wantedElsewhere(keys: readonly ChatKey[], beyond?: number): Promise<readonly ChatKey[]>;

  /**
   * A room that this instance should hand on to another one, which has viewers of it and reads far fewer
   * rooms; undefined if there is none. Never one that it took within the last `SETTLED_MS`. Rejects
   * with `StoreError` "unavailable".
   */
  oneTooMany(): Promise<ChatKey | undefined>;
}

/** The part of an ownership that its holds use. */
interface Keeper {
  /** Throws as `Hold.assertHeld`. */
  assertHeld(claim: Claim): void;
  giveBack(claim: Claim): Promise<void>;
}

/** A room that this instance owns. Disposing of the hold gives the room back, unless `keep` was called. */
export class Hold implements Claim, AsyncDisposable {
  readonly key: ChatKey;
  readonly epoch: number;
  /** The room as it was taken; undefined if it does not exist yet, so that the first append creates it. */
  readonly room: RoomRecord | undefined;
  /** The cursor after which it continues: the room's head, or for a new room one from the clock. */
  readonly head: number;
  readonly #keeper: Keeper;
  readonly #lost = new AbortController();
  #isKept = false;

  constructor({ key, epoch }: Claim, head: number, room: RoomRecord | undefined, keeper: Keeper) {
    this.key = key;
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
    this.#lost.abort(new StoreError("fenced", `room ${this.key}: another instance has taken it`));
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
  take(key: ChatKey): Promise<TakenRoom>;
  /** Open rooms that were read within this time. */
  unfinishedRooms(maxAgoMs: number): Promise<ChatKey[]>;
}

/**
 * The ownership in a store of one process. A hold lasts until it is given back, the room is taken again or
 * has ended, a write is fenced, or the store is closed.
 */
export class LocalOwnership implements Ownership {
  readonly #rooms: LocalRooms;
  /** The epoch of each held room. */
  readonly #epochs = new Map<ChatKey, number>();
  readonly #watched = new Set<ChatKey>();
  /**
   * The newest epoch of a room that did not exist yet. Two rooms of one millisecond must get different
   * epochs.
   */
  #newborn = 0;
  #isClosed = false;

  constructor(rooms: LocalRooms) {
    this.#rooms = rooms;
  }

  async take(key: ChatKey): Promise<Hold> {
    const taken = await this.#rooms.take(key);
    const { head, room } = taken;
    if (!room) this.#newborn = Math.max(taken.epoch, this.#newborn + 1);
    const epoch = room ? taken.epoch : this.#newborn;
    this.#epochs.set(key, epoch);
    return new Hold({ key, epoch }, head, room, {
      assertHeld: (claim) => this.assertHeld(claim),
      giveBack: async (claim) => this.end(claim),
    });
  }

  /** The rooms that this process owns. */
  get held(): readonly ChatKey[] {
    return [...this.#epochs.keys()];
  }

  /** Throws `StoreError` "fenced" if the claim is not the room's newest one. */
  assertHeld({ key, epoch }: Claim): void {
    if (this.#epochs.get(key) === epoch) return;
    throw new StoreError("fenced", `room ${key}: epoch ${epoch} is no longer its owner's`);
  }

  end({ key, epoch }: Claim): void {
    if (this.#epochs.get(key) === epoch) this.#epochs.delete(key);
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

  async *orphans(graceMs: number): AsyncGenerator<readonly ChatKey[]> {
    yield await this.#rooms.unfinishedRooms(graceMs);
  }

  setViewers(key: ChatKey, viewers: number): void {
    if (viewers > 0) this.#watched.add(key);
    else this.#watched.delete(key);
  }

  async watchedForMs(key: ChatKey): Promise<number> {
    return this.#watched.has(key) ? Number.POSITIVE_INFINITY : 0;
  }

  async wantedElsewhere(): Promise<readonly ChatKey[]> {
    return [];
  }

  async oneTooMany(): Promise<undefined> {}
}
