/**
 * Following a room, once for every store. A commit hands its rows directly to the followers that stand
 * exactly before them; one that stands elsewhere reads pages from the store until it has caught up. So a
 * follower gets consecutive cursors, whatever it missed, and holds a bounded number of messages.
 */

import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { retry } from "../retry.ts";
import { isUnavailable, type RoomRecord, type Store } from "./port.ts";
import type { StoredMessage } from "./stored-message.ts";

/** Messages read from the store at once, and how many handed over ones may wait for a slow consumer. */
const PAGE_MESSAGES = 500;

const READ_RETRY = { firstMs: 100, maxMs: 5000 };

/** What a follower reads from. */
type Log = Pick<Store, "read" | "getRoom">;

/** The followers of all rooms of one store. */
export class Followers {
  readonly #clock: Clock;
  readonly #byRoom = new Map<string, Set<Follower>>();
  readonly #closing = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** To be called in the order of the commits, with what each has added. */
  added(videoId: string, batch: StoredMessage[]): void {
    if (batch.length > 0) this.#each(videoId, (follower) => follower.offer(batch));
  }

  /** To be called when a room has been finished, with its head. */
  finished(videoId: string, head: number, end: RoomEnd): void {
    this.#each(videoId, (follower) => follower.finish(head, end));
  }

  /** The rooms that are followed. */
  get videoIds(): Iterable<string> {
    return this.#byRoom.keys();
  }

  has(videoId: string): boolean {
    return this.#byRoom.has(videoId);
  }

  /** To be called when a room is known to reach up to that cursor, by whoever's commit. */
  advanced(videoId: string, head: number): void {
    this.#each(videoId, (follower) => {
      if (follower.reached < head) follower.fallBehind();
    });
  }

  /** To be called when a room is no longer what its followers have read: their iterations reject. */
  lose(videoId: string, error: Error): void {
    this.#each(videoId, (follower) => {
      follower.failure = error;
    });
  }

  /** To be called when the outcome of a write is unknown: the followers look for themselves. */
  resync(videoId: string): void {
    this.#each(videoId, (follower) => follower.fallBehind());
  }

  /** Ends every iteration. */
  close(): void {
    this.#closing.abort();
  }

  /** `Store.follow`, with `log` to read from. */
  async *follow(
    log: Log,
    videoId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredMessage[] | RoomEnd, void, void> {
    const over = AbortSignal.any([signal, this.#closing.signal]);
    const follower = new Follower(videoId, after);
    const wake = () => follower.wake();
    over.addEventListener("abort", wake);
    this.#enter(follower);
    try {
      while (!over.aborted) {
        if (follower.failure) throw follower.failure;
        if (follower.end) {
          yield follower.end;
          return;
        }
        const batch =
          follower.take() ?? (follower.isBehind ? await this.#page(log, follower, over) : undefined);
        if (over.aborted) return;
        if (batch) {
          follower.advance(batch);
          yield batch;
        } else if (follower.isIdle) {
          await follower.woken();
        }
      }
    } finally {
      over.removeEventListener("abort", wake);
      this.#leave(follower);
    }
  }

  /** The next page for a follower that is behind, or nothing where there is none. */
  async #page(log: Log, follower: Follower, over: AbortSignal): Promise<StoredMessage[] | undefined> {
    const { videoId, position } = follower;
    const read = async () => {
      follower.beginRead(); // before the read: what is committed while it is under way must not be missed
      const batch = await log.read(videoId, position, PAGE_MESSAGES);
      if (batch.length > 0) return batch;
      follower.endRead(await log.getRoom(videoId));
      return undefined;
    };
    try {
      return await retry(READ_RETRY, this.#clock, over, isUnavailable, read);
    } catch (error) {
      if (over.aborted) return undefined;
      throw error;
    }
  }

  #each(videoId: string, change: (follower: Follower) => void): void {
    for (const follower of this.#byRoom.get(videoId) ?? []) {
      change(follower);
      follower.wake();
    }
  }

  #enter(follower: Follower): void {
    const room = this.#byRoom.get(follower.videoId);
    if (room) room.add(follower);
    else this.#byRoom.set(follower.videoId, new Set([follower]));
  }

  #leave(follower: Follower): void {
    const room = this.#byRoom.get(follower.videoId);
    room?.delete(follower);
    if (room?.size === 0) this.#byRoom.delete(follower.videoId);
  }
}

/** One iteration: where it stands, and what has been handed over to it since. */
class Follower {
  readonly videoId: string;
  /** Cursor of the last message that the consumer was given. */
  position: number;
  /**
   * `level` takes hand-overs; `behind` has to read first; `reading` has begun to, and is behind again if
   * anything is committed before it has seen the store's answer.
   */
  #state: "level" | "behind" | "reading" = "behind";
  failure: Error | undefined;
  #handed: StoredMessage[][] = [];
  /** Cursor of the last message that was handed over, or else `position`. */
  #reached: number;
  #finished: { head: number; end: RoomEnd } | undefined;
  #wake = () => {};

  constructor(videoId: string, after: number) {
    this.videoId = videoId;
    this.position = after;
    this.#reached = after;
  }

  /** Up to where it was given messages, or they wait for it. */
  get reached(): number {
    return this.#reached;
  }

  get isBehind(): boolean {
    return this.#state === "behind";
  }

  get isIdle(): boolean {
    return this.#state === "level" && this.#handed.length === 0 && !this.end && !this.failure;
  }

  /** The room's end, once all before it was given out: also where the room was claimed again meanwhile. */
  get end(): RoomEnd | undefined {
    return this.#finished && this.position >= this.#finished.head ? this.#finished.end : undefined;
  }

  offer(batch: StoredMessage[]): void {
    const waiting = this.#reached - this.position;
    const fits = waiting === 0 || waiting + batch.length <= PAGE_MESSAGES;
    if (this.#state === "level" && batch[0]?.cursor === this.#reached + 1 && fits) {
      this.#handed.push(batch);
      this.#reached += batch.length;
    } else {
      this.fallBehind();
    }
  }

  finish(head: number, end: RoomEnd): void {
    this.#finished = { head, end };
  }

  /** What was handed over is let go of: the store has it. */
  fallBehind(): void {
    this.#handed = [];
    this.#reached = this.position;
    this.#state = "behind";
  }

  /** The oldest batch that was handed over and is not given out yet. */
  take(): StoredMessage[] | undefined {
    return this.#handed.shift();
  }

  beginRead(): void {
    this.#state = "reading";
  }

  /** The store held nothing after `position`; `room` was read after that. */
  endRead(room: RoomRecord | undefined): void {
    const { floor, head, end } = room ?? { floor: 0, head: 0, end: null };
    if (this.position < floor) throw this.#gap(floor + 1);
    if (head > this.position) this.fallBehind();
    else if (end) this.#finished = { head, end };
    if (this.#state === "reading") this.#state = "level";
  }

  /** Moves on by a batch that is about to be given out. Throws where that would skip or repeat a message. */
  advance(batch: StoredMessage[]): void {
    for (const { cursor } of batch) {
      if (cursor !== this.position + 1) throw this.#gap(cursor);
      this.position = cursor;
    }
    if (this.#state !== "level") this.fallBehind();
  }

  /** Resolves at the next change; to be called in the turn that found nothing to do. */
  woken(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }

  wake(): void {
    this.#wake();
  }

  #gap(found: number): Error {
    return new Error(`room ${this.videoId}: cursor ${found} came after ${this.position}`);
  }
}
