/**
 * The embedded store: one SQLite file, written by one thread of one process, or a database in memory.
 * `sqlite-tables.ts` implements the operations, `group-commit.ts` groups the commits. This class passes calls
 * on to the thread, and hands committed messages to the room's followers.
 */
import type { Clock } from "../../base/clock.ts";
import { ClockWitness } from "../../base/clock-witness.ts";
import { Deadline } from "../../base/deadline.ts";
import type { FactName, RoomEnd } from "../../protocol/chat.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import { Followers } from "../follow.ts";
import type { StoreEngine } from "../observed.ts";
import { LocalOwnership } from "../ownership.ts";
import type { Claim } from "../port.ts";
import type { RecordingList } from "../recording-list.ts";
import type { StoreError } from "../store-error.ts";
import { type EncodedMessage, type StoredMessage, wellFormed } from "../stored-message.ts";
import { asShown } from "../stored-video.ts";
import type { Operation } from "./group-commit.ts";
import type { Tables } from "./sqlite-tables.ts";
import type { StoreThread } from "./thread.ts";

/** Time limit of a close, for the calls in hand and the checkpoint of the file. */
const CLOSE_LIMIT_MS = 800;

/** The operations whose first argument is the time of the call. */
type TimedOperation = {
  [O in Operation]: Parameters<Tables[O]> extends [now: number, ...unknown[]] ? O : never;
}[Operation];
type WithoutTime<O extends Operation> = Parameters<Tables[O]> extends [number, ...infer Args] ? Args : never;

export class SqliteStore implements StoreEngine {
  readonly followers: Followers;
  readonly ownership: LocalOwnership;
  readonly lost: Promise<StoreError>;
  readonly #clock: Clock;
  readonly #thread: StoreThread;
  readonly #witness: ClockWitness;

  readonly read = this.#passed("read");
  readonly readTypes = this.#passed("readTypes");
  readonly placeOfAuthor = this.#passed("placeOfAuthor");
  readonly cursorAt = this.#passed("cursorAt");
  readonly find = this.#passed("find");
  readonly getChannels = this.#passed("getChannels");
  readonly setChannels = this.#passed("setChannels");
  readonly setVideo = this.#passed("setVideo");
  readonly keep = this.#passed("keep");
  readonly getFeatured = this.#passed("getFeatured");
  readonly tally = this.#passed("tally");
  readonly tallyRooms = this.#passed("tallyRooms");
  readonly probeWrite = this.#passed("probeWrite");
  readonly usedBytes = this.#passed("usedBytes");
  readonly pruneRooms = this.#timed("pruneRooms");
  readonly getRoom = this.#timed("getRoom");
  readonly listRooms = this.#timed("listRooms");
  readonly getAccount = this.#timed("getAccount");
  readonly recordings: RecordingList = {
    listRecordings: this.#passed("listRecordings"),
    addRecording: this.#timed("addRecording"),
    removeRecording: this.#passed("removeRecording"),
    runRecordings: this.#passed("runRecordings"),
  };

  constructor(clock: Clock, thread: StoreThread, witness = new ClockWitness(clock)) {
    this.#clock = clock;
    this.#thread = thread;
    this.#witness = witness;
    this.lost = thread.lost;
    this.followers = new Followers(clock);
    this.ownership = new LocalOwnership({
      take: this.#timed("take"),
      unfinishedRooms: (maxAgoMs) => thread.call("unfinishedRooms", this.#now - maxAgoMs),
    });
  }

  /** The operation as it is. */
  #passed<O extends Operation>(op: O) {
    return (...args: Parameters<Tables[O]>) => this.#thread.call(op, ...args);
  }

  /** The operation, at the time of the call. */
  #timed<O extends TimedOperation>(op: O) {
    return (...args: WithoutTime<O>) =>
      this.#thread.call(op, ...([this.#now, ...args] as unknown as Parameters<Tables[O]>));
  }

  /** The time of all operations, from which ages are counted. Only the retention uses the clock itself. */
  get #now(): number {
    return this.#witness.latest(this.#clock.now());
  }

  async append(
    { key, epoch }: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ): Promise<StoredMessage[]> {
    const claim = { key, epoch }; // the other fields of a hold cannot be posted to the thread
    const batch = messages.map(wellFormed);
    const over = overwriting.map(wellFormed);
    const now = this.#now;
    const places = await this.#write(claim, () =>
      this.#thread.call("append", now, claim, expectedHead, batch, checkpoint, over),
    );
    const added: StoredMessage[] = [];
    for (const { index, storedAt } of places) {
      const message = batch[index];
      if (message) added.push({ ...message, cursor: expectedHead + added.length + 1, storedAt });
    }
    this.followers.added(key, added);
    return added;
  }

  async finish({ key, epoch }: Claim, end: RoomEnd): Promise<void> {
    const claim = { key, epoch };
    const head = await this.#write(claim, () => this.#thread.call("finish", this.#now, claim, end));
    this.ownership.end(claim);
    this.followers.finished(key, head, end);
  }

  messagesById(key: ChatKey, ids: readonly string[]): Promise<StoredMessage[]> {
    return this.#thread.call("messagesById", key, [...new Set(ids.map((id) => id.toWellFormed()))]);
  }

  hasChannel(channel: string): Promise<boolean> {
    return this.#thread.call("hasChannel", channel, asShown(channel));
  }

  async setFeatured(key: ChatKey, messageId: string | null): Promise<void> {
    try {
      await this.#thread.call("setFeatured", this.#now, key, messageId?.toWellFormed() ?? null);
    } finally {
      this.factChanged(key, "featured"); // it may have been committed even if it failed
    }
  }

  factChanged(key: ChatKey, name: FactName): void {
    this.followers.factChanged(key, name);
  }

  async age() {
    const oldestAt = await this.#thread.call("oldestAt");
    return { now: this.#clock.now(), oldestAt };
  }

  prune(keptMs: number, limit: number, now = this.#clock.now()): Promise<number> {
    return this.#thread.call("prune", now, this.ownership.held, keptMs, limit);
  }

  async moveCursors(stopped?: AbortSignal): Promise<number> {
    const now = this.#now;
    for (let [moved, after] = [0, 0]; ; ) {
      stopped?.throwIfAborted();
      const rooms = await this.#thread.call("moveCursors", now, after);
      const last = rooms.at(-1);
      if (last === undefined) return moved;
      moved += rooms.length;
      after = last;
    }
  }

  sizeBytes(): Promise<number> {
    return this.#thread.sizeBytes();
  }

  freeBytes(): Promise<number | undefined> {
    return this.#thread.freeBytes();
  }

  async close(): Promise<void> {
    this.followers.close();
    this.ownership.close();
    using limit = new Deadline(this.#clock, CLOSE_LIMIT_MS);
    await this.#thread.close(limit.signal);
  }

  /** Lets the followers read the store after a failed write, which may have been committed nevertheless. */
  async #write<T>(claim: Claim, act: () => Promise<T>): Promise<T> {
    try {
      return await this.ownership.write(claim, act);
    } catch (error) {
      this.followers.resync(claim.key);
      throw error;
    }
  }
}
