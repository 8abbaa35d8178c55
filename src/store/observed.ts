/**
 * The store as everyone uses it: an engine whose every operation is reported, once and here, to telemetry and to the
 * store's health. Followers read through it too, so an instance that only follows sees its store fail.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { StoreOperation } from "../telemetry/metrics.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Followers } from "./follow.ts";
import { StoreHealth } from "./health.ts";
import type { Peers } from "./peers.ts";
import {
  type Claim,
  isUnavailable,
  type MessageSearch,
  type Restoration,
  type Retention,
  type Store,
  type StoreError,
} from "./port.ts";
import type { Presence } from "./presence.ts";
import type { EncodedMessage, StoredMessage } from "./stored-message.ts";

/** What a store implements: all of the port but following, for which it reports its commits to `followers`. */
export interface StoreEngine extends Omit<Store, "follow">, Retention, Restoration {
  readonly followers: Followers;
  readonly presence: Presence;
  /** Absent where one instance has the store to itself. */
  readonly peers?: Peers;
  /** Free space where the store lies; absent where it has no disk of its own. */
  freeBytes?(): Promise<number>;
  /** Resolves if the store is lost for good, to an error whose message is one line that says what to do. */
  readonly lost: Promise<StoreError>;
}

export class ObservedStore implements Store, Retention, Restoration {
  readonly health: StoreHealth;
  readonly presence: Presence;
  readonly peers: Peers | undefined;
  /** As of the engine. The process has to stop: what it reads from now on it cannot store. */
  readonly lost: Promise<StoreError>;
  readonly #engine: StoreEngine;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;

  constructor(engine: StoreEngine, clock: Clock, telemetry: Telemetry) {
    this.presence = engine.presence;
    this.peers = engine.peers;
    this.#engine = engine;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.health = new StoreHealth(() => this.probeWrite(), clock, telemetry);
    this.lost = engine.lost.then((error) => {
      this.health.lose(error.message);
      return error;
    });
    telemetry.sources.store = {
      sizeBytes: () => engine.sizeBytes(),
      freeBytes: async () => engine.freeBytes?.(),
      isAvailable: () => this.health.isAvailable,
    };
  }

  claim(videoId: string) {
    return this.#observe("claim", this.#engine.claim(videoId));
  }

  abandon(claim: Claim) {
    return this.#observe("abandon", this.#engine.abandon(claim));
  }

  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ) {
    const outcome = this.#engine.append(claim, expectedHead, messages, checkpoint, overwriting);
    return this.#observe("append", outcome);
  }

  finish(claim: Claim, end: RoomEnd) {
    return this.#observe("finish", this.#engine.finish(claim, end));
  }

  read(videoId: string, after: number, limit: number) {
    return this.#observe("read", this.#engine.read(videoId, after, limit));
  }

  messagesById(videoId: string, ids: readonly string[]) {
    return this.#observe("messagesById", this.#engine.messagesById(videoId, ids));
  }

  find(videoId: string, by: MessageSearch) {
    return this.#observe("find", this.#engine.find(videoId, by));
  }

  getRoom(videoId: string) {
    return this.#observe("getRoom", this.#engine.getRoom(videoId));
  }

  unfinishedRooms(since: number) {
    return this.#observe("unfinishedRooms", this.#engine.unfinishedRooms(since));
  }

  listRooms(limit: number) {
    return this.#observe("listRooms", this.#engine.listRooms(limit));
  }

  follow(videoId: string, after: number, signal: AbortSignal): AsyncIterable<StoredMessage[] | RoomEnd> {
    return this.#engine.followers.follow(this, videoId, after, signal);
  }

  probeWrite() {
    return this.#observe("probeWrite", this.#engine.probeWrite());
  }

  prune(before: number, limit: number) {
    return this.#observe("prune", this.#engine.prune(before, limit));
  }

  moveCursors() {
    return this.#observe("moveCursors", this.#engine.moveCursors());
  }

  sizeBytes() {
    return this.#engine.sizeBytes();
  }

  close() {
    return this.#engine.close();
  }

  /** An operation that is fenced was answered by a store that works: neither a failure nor a success. */
  async #observe<T>(operation: StoreOperation, outcome: Promise<T>): Promise<T> {
    const beganAt = this.#clock.monotonic();
    try {
      const value = await outcome;
      this.#telemetry.storeSucceeded(operation, this.#clock.monotonic() - beganAt);
      this.health.succeeded(operation);
      return value;
    } catch (error) {
      if (isUnavailable(error)) {
        this.#telemetry.storeFailed(operation, error.message);
        this.health.failed(operation, error.message);
      }
      throw error;
    }
  }
}
