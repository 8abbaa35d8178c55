/**
 * The queue of videos whose chats must be found. None of them is a room yet, and most may have no chat. So
 * the clients' addresses take turns, and each address's newest request goes first, because clients that
 * waited long have probably left. Rooms that were open before, and recordings, go first of all.
 */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { atCapacity } from "../../protocol/errors.ts";

const MAX_WAIT_MS = 30_000;

/** A client that asks for a video. */
export interface Applicant {
  /** The client's address, or its network. */
  address: string;
  /** Whether it goes before all others. */
  isFirst: boolean;
}

interface QueuedOpening<T> {
  go(place: T): void;
}

export class Openings<T> {
  readonly #clock: Clock;
  readonly #take: () => T | undefined;
  readonly #first: QueuedOpening<T>[] = [];
  /** By address, in the order of their turns; the newest request of each is last. */
  readonly #others = new Map<string, QueuedOpening<T>[]>();

  /** `take` takes a place for an opening; undefined if none is free. */
  constructor(clock: Clock, take: () => T | undefined) {
    this.#clock = clock;
    this.#take = take;
  }

  /**
   * A place, once it is the applicant's turn. Rejects with `RelayError` CAPACITY after 30 s, and with the
   * signal's reason.
   */
  async enter({ address, isFirst }: Applicant, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    using limit = new Deadline(this.#clock, MAX_WAIT_MS);
    const waiting = { go: resolve };
    const onAbort = () => {
      this.#remove(waiting, address);
      reject(signal.aborted ? signal.reason : atCapacity("openings"));
    };
    const ended = AbortSignal.any([signal, limit.signal]);
    ended.addEventListener("abort", onAbort, { once: true });
    if (isFirst) this.#first.push(waiting);
    else this.#others.getOrInsert(address, []).push(waiting);
    this.advance();
    try {
      return await promise;
    } finally {
      ended.removeEventListener("abort", onAbort);
    }
  }

  /** Serves the next applicants. Called when a place may have become free. */
  advance(): void {
    while (this.#first.length > 0 || this.#others.size > 0) {
      const place = this.#take();
      if (place === undefined) return;
      this.#next()?.go(place);
    }
  }

  #next(): QueuedOpening<T> | undefined {
    if (this.#first.length > 0) return this.#first.shift();
    const [address, waiting] = this.#others.entries().next().value ?? [];
    if (address === undefined || !waiting) return undefined;
    this.#others.delete(address);
    if (waiting.length > 1) this.#others.set(address, waiting); // behind the other addresses
    return waiting.pop();
  }

  #remove(waiting: QueuedOpening<T>, address: string): void {
    const others = this.#others.get(address) ?? [];
    for (const list of [this.#first, others]) {
      const place = list.indexOf(waiting);
      if (place >= 0) list.splice(place, 1);
    }
    if (others.length === 0) this.#others.delete(address);
  }
}
