/**
 * The queue of videos whose chats must be found, or whose pages must show their channel, and of channels
 * before their first look. None of them is a room yet, and most may have no chat. Rooms that were open
 * before, and recordings, go first, in their order; then videos that are known to exist; then all others. In
 * these two, addresses take turns (`turns.ts`); a video for which clients of several addresses wait has the
 * turns of each of them, so that nobody waits in the line of another one.
 *
 * Strangers choose how many videos wait, so their number has a bound. One more displaces the oldest video of
 * the address that waits for the most: a flood displaces its own videos, and its newest ones stay. Test: "are
 * displaced, once there are too many, from the address with the most: its oldest". The queue opens nothing
 * itself.
 */
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { Counts } from "../../base/key-counts.ts";
import { LinkedList, type ListNode } from "../../base/linked-list.ts";
import { atCapacity, type CapacityCause } from "../../protocol/capacity.ts";
import type { OpeningTurn } from "../../upstream/egress/pool.ts";
import { Turns } from "./turns.ts";

const MAX_WAIT_MS = 30_000;
/**
 * How many openings of one address wait before a connection with several chats is refused. At the default
 * pace, an egress opens about one chat a second, and an opening waits for half a minute at most.
 */
const MAX_OF_MERGED = 500;

/**
 * How much is known of a video: its room was `open` before, or is recorded; or the store or a page of its
 * channel shows that it exists (`known`).
 */
export type OpeningRank = "open" | "known" | "unknown";

/**
 * A video in the queue: counted from the start, and in line once it has asked for its turn. Disposing ends
 * the count, for a video that needs no turn; in line, it waits until its turn, its limit or its signal.
 */
export interface QueuedOpening<T = OpeningTurn> extends Disposable {
  /** Its first client's address, or its network; empty if the service itself opens the room. */
  readonly address: string;
  /** Aborts with `RelayError` CAPACITY once the video is displaced. */
  readonly displaced: AbortSignal;
  /** Another client waits for it: from now on it also takes the turns of this address. */
  add(address: string): void;
  /**
   * Puts the video in line, waits for its turn, and takes it out of the queue. Rejects with `RelayError`
   * CAPACITY 30 s after this call, and with the signal's reason.
   */
  turn(rank: OpeningRank, signal: AbortSignal): Promise<T>;
}

/** The videos of one address; the oldest is first. */
interface AddressVideos {
  readonly address: string;
  /** Displaces each. */
  readonly waiting: LinkedList<() => void>;
  /** Its node in the list of addresses with the same number of waiting videos (`#bySize`). */
  peer: ListNode<AddressVideos> | undefined;
}

/** A video that waits for its turn, in a line for each of its addresses. Disposing takes it out of all. */
class Wait<T> implements Disposable {
  readonly #join: (address: string, wait: Wait<T>) => Disposable;
  readonly #lines = new DisposableStack();
  readonly #turn = Promise.withResolvers<T>();

  constructor(addresses: Iterable<string>, join: (address: string, wait: Wait<T>) => Disposable) {
    this.#join = join;
    for (const address of addresses) this.add(address);
  }

  get turn(): Promise<T> {
    return this.#turn.promise;
  }

  /** Also joins the line of this address, if it still waits. */
  add(address: string): void {
    if (!this.#lines.disposed) this.#lines.use(this.#join(address, this));
  }

  serve(slot: T): void {
    this[Symbol.dispose](); // at once: the next slot is for another video
    this.#turn.resolve(slot);
  }

  refuse(reason: unknown): void {
    this[Symbol.dispose]();
    this.#turn.reject(reason);
  }

  [Symbol.dispose](): void {
    this.#lines.dispose();
  }
}

export class OpeningQueue<T extends Disposable = OpeningTurn> {
  readonly #clock: Clock;
  readonly #maxVideos: number;
  readonly #freeSlot: () => T | undefined;
  readonly #byAddress = new Map<string, AddressVideos>();
  /** The addresses by the number of their waiting videos. */
  readonly #bySize = new Map<number, LinkedList<AddressVideos>>();
  /** By address, the number of videos that will join in a moment, or again after a refusal. */
  readonly #expected = new Counts<string>();
  /** The number of videos in all, and of the address that waits for the most. */
  #size = 0;
  #most = 0;
  /** Those that have asked for their turn. */
  readonly #open = new LinkedList<Wait<T>>();
  readonly #known = new Turns<Wait<T>>();
  readonly #unknown = new Turns<Wait<T>>();

  /** `freeSlot`: takes a slot for an opening until it is disposed of; undefined if none is free. */
  constructor(clock: Clock, maxVideos: number, freeSlot: () => T | undefined) {
    this.#clock = clock;
    this.#maxVideos = maxVideos;
    this.#freeSlot = freeSlot;
  }

  /**
   * Adds a video; its `turn` puts it in line. It counts for one of its addresses at a time. If that one has
   * too many videos, it counts for another one; if there is none, it is displaced for the reason `why`, even
   * before this returns. The service itself (`address` empty) never has too many.
   */
  join(address: string, why: CapacityCause = "openings"): QueuedOpening<T> {
    const addresses = new Set([address]);
    const uncounted = [address];
    const displaced = new AbortController();
    let counted: Disposable | undefined;
    let wait: Wait<T> | undefined;
    const countForNext = () => {
      const next = uncounted.pop();
      if (next === undefined) displaced.abort(atCapacity(why));
      else counted = next === "" ? undefined : this.#count(next, countForNext);
    };
    countForNext();
    const leave = () => counted?.[Symbol.dispose]();
    return {
      address,
      displaced: displaced.signal,
      add: (other) => {
        if (addresses.has(other)) return;
        addresses.add(other);
        uncounted.push(other);
        wait?.add(other);
      },
      turn: (rank, signal) => {
        wait = this.#wait(rank, addresses);
        return this.#turn(wait, signal).finally(leave);
      },
      [Symbol.dispose]: leave,
    };
  }

  /**
   * Counts videos of an address that will join in a moment, until the result is disposed of. Throws
   * `RelayError` CAPACITY if they could not be opened in time.
   */
  expect(address: string, count: number): Disposable {
    const waiting = this.#byAddress.get(address)?.waiting.size ?? 0;
    const all = waiting + this.#expected.of(address) + count;
    if (count > 0 && all > MAX_OF_MERGED) throw atCapacity("openings");
    return { [Symbol.dispose]: this.#expected.take(address, count) };
  }

  /** Counts a video of an address that is tried again later, until the result is disposed of. */
  expectAgain(address: string): Disposable {
    return { [Symbol.dispose]: this.#expected.take(address) };
  }

  /** Serves those whose turn it is, as far as slots are free. A slot given back serves the next. */
  #advance(): void {
    while (this.#open.size > 0 || !this.#known.isEmpty || !this.#unknown.isEmpty) {
      const slot = this.#freeSlot();
      if (slot === undefined) return;
      const giveBack = () => {
        slot[Symbol.dispose]();
        this.#advance();
      };
      this.#next()?.serve({ ...slot, [Symbol.dispose]: giveBack });
    }
  }

  #next(): Wait<T> | undefined {
    const { first } = this.#open;
    first?.[Symbol.dispose]();
    return first ? first.value : (this.#known.next() ?? this.#unknown.next());
  }

  /** Those of rank `open` have one line, whatever their addresses. */
  #wait(rank: OpeningRank, addresses: Iterable<string>): Wait<T> {
    const turns = rank === "known" ? this.#known : this.#unknown;
    return new Wait(addresses, (address, wait) =>
      rank === "open" ? this.#open.push(wait) : turns.add(address, wait),
    );
  }

  async #turn(wait: Wait<T>, signal: AbortSignal): Promise<T> {
    using _ = wait;
    signal.throwIfAborted();
    using limit = new Deadline(this.#clock, MAX_WAIT_MS);
    const ended = AbortSignal.any([signal, limit.signal]);
    const onAbort = () => wait.refuse(signal.aborted ? signal.reason : atCapacity("openings"));
    ended.addEventListener("abort", onAbort, { once: true });
    this.#advance();
    try {
      return await wait.turn;
    } finally {
      ended.removeEventListener("abort", onAbort);
    }
  }

  /** `displaced`: called if the address has too many videos. Disposing counts it no more. */
  #count(address: string, displaced: () => void): Disposable {
    const videos = this.#byAddress.getOrInsertComputed(address, () => {
      return { address, waiting: new LinkedList(), peer: undefined };
    });
    let isWaiting = true;
    const leave = () => {
      if (!isWaiting) return;
      isWaiting = false;
      node[Symbol.dispose]();
      this.#size -= 1;
      this.#resized(videos);
    };
    const node = videos.waiting.push(() => {
      leave();
      displaced();
    });
    this.#size += 1;
    this.#resized(videos);
    if (this.#size > this.#maxVideos) this.#bySize.get(this.#most)?.first?.value.waiting.first?.value();
    return { [Symbol.dispose]: leave };
  }

  #resized(videos: AddressVideos): void {
    videos.peer?.[Symbol.dispose]();
    const { size } = videos.waiting;
    videos.peer =
      size > 0 ? this.#bySize.getOrInsertComputed(size, () => new LinkedList()).push(videos) : undefined;
    this.#most = Math.max(this.#most, size);
    while (this.#most > 0 && this.#bySize.get(this.#most)?.size === 0) this.#most -= 1;
    if (size === 0) this.#byAddress.delete(videos.address);
  }
}
