/**
 * The store as everyone uses it: an engine whose every operation is reported to the store's health. Followers read
 * through it too, so an instance that only follows sees its store fail.
 */
import type { Clock } from "../clock.ts";
import { Deadline, unlessAborted } from "../deadline.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { SharedPace } from "../shared-pace.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Followers } from "./follow.ts";
import { StoreHealth } from "./health.ts";
import type { Ownership } from "./ownership.ts";
import type { Claim, MessageSearch, Restoration, Retention, Store, StoreError } from "./port.ts";
import type { EncodedMessage, StoredMessage } from "./stored-message.ts";

/** How long readiness waits for the write probe: SQLite takes ten seconds to find some failures. */
const PROBE_LIMIT_MS = 2000;

/** What a store implements: all of the port but following, for which it reports its commits to `followers`. */
export interface StoreEngine extends Omit<Store, "follow">, Retention, Restoration {
  readonly followers: Followers;
  readonly ownership: Ownership;
  /** The pace of an egress that instances share by its name; absent where one instance has the store to itself. */
  paceOf?(egress: string): SharedPace;
  /** Free space where the store lies; absent where it has no disk of its own. */
  freeBytes?(): Promise<number>;
  /** Resolves if the store is lost for good, to an error whose message is one line that says what to do. */
  readonly lost: Promise<StoreError>;
}

export class ObservedStore implements Store, Retention, Restoration {
  readonly health: StoreHealth;
  readonly ownership: Ownership;
  /** As of the engine. The process has to stop: what it reads from now on it cannot store. */
  readonly lost: Promise<StoreError>;
  readonly #engine: StoreEngine;
  readonly #clock: Clock;

  constructor(
    engine: StoreEngine,
    clock: Clock,
    telemetry: Telemetry,
    health = new StoreHealth(clock, telemetry),
  ) {
    this.health = health;
    this.ownership = new ObservedOwnership(engine.ownership, health);
    this.#engine = engine;
    this.#clock = clock;
    this.lost = engine.lost.then((error) => {
      health.lose(error.message);
      return error;
    });
    telemetry.sources.store = {
      sizeBytes: () => engine.sizeBytes(),
      freeBytes: async () => engine.freeBytes?.(),
      isAvailable: () => health.isAvailable,
    };
  }

  /** Whether new viewers can be served. A full disk may have room for a probe and none for messages: both must do. */
  async isReady(): Promise<boolean> {
    using limit = new Deadline(this.#clock, PROBE_LIMIT_MS);
    try {
      await unlessAborted(this.probeWrite(), limit.signal);
    } catch {
      // A failure was reported as any operation's is.
      if (limit.signal.aborted) this.health.failed("probeWrite", `no answer within ${PROBE_LIMIT_MS} ms`);
      return false;
    }
    return this.health.isAvailable && !this.health.isBlocked;
  }

  /** See `StoreEngine.paceOf`. */
  paceOf(egress: string): SharedPace | undefined {
    return this.#engine.paceOf?.(egress);
  }

  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ) {
    const outcome = this.#engine.append(claim, expectedHead, messages, checkpoint, overwriting);
    return this.health.report("append", outcome);
  }

  finish(claim: Claim, end: RoomEnd) {
    return this.health.report("finish", this.#engine.finish(claim, end));
  }

  read(videoId: string, after: number, limit: number) {
    return this.health.report("read", this.#engine.read(videoId, after, limit));
  }

  messagesById(videoId: string, ids: readonly string[]) {
    return this.health.report("messagesById", this.#engine.messagesById(videoId, ids));
  }

  find(videoId: string, by: MessageSearch) {
    return this.health.report("find", this.#engine.find(videoId, by));
  }

  getRoom(videoId: string) {
    return this.health.report("getRoom", this.#engine.getRoom(videoId));
  }

  listRooms(limit: number) {
    return this.health.report("listRooms", this.#engine.listRooms(limit));
  }

  follow(videoId: string, after: number, signal: AbortSignal): AsyncIterable<StoredMessage[] | RoomEnd> {
    return this.#engine.followers.follow(this, videoId, after, signal);
  }

  probeWrite() {
    return this.health.report("probeWrite", this.#engine.probeWrite());
  }

  prune(keptMs: number, limit: number) {
    return this.health.report("prune", this.#engine.prune(keptMs, limit));
  }

  moveCursors() {
    return this.health.report("moveCursors", this.#engine.moveCursors());
  }

  sizeBytes() {
    return this.#engine.sizeBytes();
  }

  close() {
    return this.#engine.close();
  }
}

/** The ownership, its questions reported as the store's operations are. */
class ObservedOwnership implements Ownership {
  readonly #own: Ownership;
  readonly #health: StoreHealth;

  constructor(own: Ownership, health: StoreHealth) {
    this.#own = own;
    this.#health = health;
  }

  take(videoId: string) {
    return this.#health.report("take", this.#own.take(videoId));
  }

  freed(videoId: string, signal: AbortSignal) {
    return this.#own.freed(videoId, signal);
  }

  orphans(graceMs: number, signal: AbortSignal) {
    return this.#own.orphans(graceMs, signal);
  }

  setViewers(videoId: string, viewers: number) {
    this.#own.setViewers(videoId, viewers);
  }

  watchedForMs(videoId: string) {
    return this.#health.report("watchedForMs", this.#own.watchedForMs(videoId));
  }

  wantedElsewhere(videoIds: readonly string[]) {
    return this.#health.report("wantedElsewhere", this.#own.wantedElsewhere(videoIds));
  }

  oneTooMany() {
    return this.#health.report("oneTooMany", this.#own.oneTooMany());
  }
}
