/**
 * The queue of videos whose chats must be found. None of them is a room yet, and most may have no chat. So
 * the clients' addresses take turns, and each address's newest request goes first, because clients that
 * waited long have probably left. Rooms that were open before, and recordings, go first of all.
 */
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { LinkedList } from "../../base/linked-list.ts";
import { atCapacity } from "../../protocol/capacity.ts";

const MAX_WAIT_MS = 30_000;

/** A client that asks for a video. */
export interface Applicant {
  /** The client's address, or its network. */
  address: string;
  /** Whether it goes before all others. */
  isFirst: boolean;
}

/** What gives a waiting applicant its place. */
type Go<T> = (place: T) => void;

/** The applicants of one address; the newest is last. */
interface AddressLine<T> {
  readonly address: string;
  readonly waiting: LinkedList<Go<T>>;
  /** Its place among the addresses; undefined while it has no applicants. */
  turn: Disposable | undefined;
}

export class OpeningQueue<T> {
  readonly #clock: Clock;
  readonly #take: () => T | undefined;
  readonly #first = new LinkedList<Go<T>>();
  readonly #others = new Map<string, AddressLine<T>>();
  /** The lines of `#others`, in the order of their turns. */
  readonly #turns = new LinkedList<AddressLine<T>>();

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
    const waiting = isFirst ? this.#first.push(resolve) : this.#join(address, resolve);
    const onAbort = () => {
      waiting[Symbol.dispose]();
      reject(signal.aborted ? signal.reason : atCapacity("openings"));
    };
    const ended = AbortSignal.any([signal, limit.signal]);
    ended.addEventListener("abort", onAbort, { once: true });
    this.advance();
    try {
      return await promise;
    } finally {
      ended.removeEventListener("abort", onAbort);
    }
  }

  /** Serves the next applicants. Called when a place may have become free. */
  advance(): void {
    while (this.#first.size > 0 || this.#turns.size > 0) {
      const place = this.#take();
      if (place === undefined) return;
      this.#next()?.(place);
    }
  }

  #next(): Go<T> | undefined {
    const line = this.#first.size > 0 ? undefined : this.#turns.first?.value;
    const next = line ? line.waiting.last : this.#first.first;
    next?.[Symbol.dispose]();
    if (line) this.#queue(line); // behind the other addresses
    return next?.value;
  }

  #join(address: string, go: Go<T>): Disposable {
    const line = this.#others.getOrInsertComputed(address, () => {
      return { address, waiting: new LinkedList(), turn: undefined };
    });
    const place = line.waiting.push(go);
    if (!line.turn) this.#queue(line);
    return {
      [Symbol.dispose]: () => {
        place[Symbol.dispose]();
        if (line.turn && line.waiting.size === 0) this.#queue(line);
      },
    };
  }

  /** Gives a line the last place of all. One without applicants gets none, and is forgotten. */
  #queue(line: AddressLine<T>): void {
    line.turn?.[Symbol.dispose]();
    line.turn = line.waiting.size > 0 ? this.#turns.push(line) : undefined;
    if (!line.turn) this.#others.delete(line.address);
  }
}
