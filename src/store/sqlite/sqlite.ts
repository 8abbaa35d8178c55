/**
 * The embedded store: one SQLite file, written by one thread of one process. `tables.ts` implements the
 * operations, `group-commit.ts` groups the commits. This class turns calls into promises, and hands committed
 * messages to the room's followers.
 */
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import type { RoomEnd } from "../../protocol/chat.ts";
import { Followers } from "../follow.ts";
import type { StoreEngine } from "../observed.ts";
import { LocalOwnership } from "../ownership.ts";
import type { Claim, MessageSearch, RoomAccount, RoomRecord, RoomSummary, StoreError } from "../port.ts";
import { type EncodedMessage, type StoredMessage, wellFormed } from "../stored-message.ts";
import { SqliteRecordings } from "./recordings.ts";
import type { StoreThread } from "./thread.ts";

/** Time limit of a close, for the calls in hand and the checkpoint of the file. */
const CLOSE_LIMIT_MS = 800;

export class SqliteStore implements StoreEngine {
  readonly followers: Followers;
  readonly ownership: LocalOwnership;
  readonly recordings: SqliteRecordings;
  readonly lost: Promise<StoreError>;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #thread: StoreThread;

  /** `path` is absolute. The file is opened at the first call. */
  constructor(path: string, clock: Clock, thread: StoreThread) {
    this.#path = path;
    this.#clock = clock;
    this.#thread = thread;
    this.lost = this.#thread.lost;
    this.followers = new Followers(clock);
    this.recordings = new SqliteRecordings(thread, clock);
    this.ownership = new LocalOwnership({
      take: (videoId) => thread.call("take", videoId, clock.now()),
      unfinishedRooms: (maxAgoMs) => thread.call("unfinishedRooms", clock.now() - maxAgoMs),
    });
  }

  async append(
    { videoId, epoch }: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ): Promise<StoredMessage[]> {
    const claim = { videoId, epoch }; // the other fields of a hold cannot be posted to the thread
    const batch = messages.map(wellFormed);
    const over = overwriting.map(wellFormed);
    const now = this.#clock.now();
    const indexes = await this.#write(claim, () =>
      this.#thread.call("append", claim, expectedHead, batch, checkpoint, now, over),
    );
    const added: StoredMessage[] = [];
    for (const index of indexes) {
      const message = batch[index];
      if (message) added.push({ ...message, cursor: expectedHead + added.length + 1 });
    }
    this.followers.added(videoId, added);
    return added;
  }

  async finish({ videoId, epoch }: Claim, end: RoomEnd): Promise<void> {
    const claim = { videoId, epoch };
    const head = await this.#write(claim, () => this.#thread.call("finish", claim, end, this.#clock.now()));
    this.ownership.end(claim);
    this.followers.finished(videoId, head, end);
  }

  read(videoId: string, after: number, limit: number): Promise<StoredMessage[]> {
    return this.#thread.call("read", videoId, after, limit);
  }

  cursorAt(videoId: string, time: number): Promise<number | undefined> {
    return this.#thread.call("cursorAt", videoId, time);
  }

  messagesById(videoId: string, ids: readonly string[]): Promise<StoredMessage[]> {
    return this.#thread.call("messagesById", videoId, [...new Set(ids.map((id) => id.toWellFormed()))]);
  }

  find(videoId: string, by: MessageSearch): Promise<StoredMessage[]> {
    return this.#thread.call("find", videoId, by);
  }

  getRoom(videoId: string): Promise<RoomRecord | undefined> {
    return this.#thread.call("getRoom", videoId, this.#clock.now());
  }

  listRooms(limit: number): Promise<RoomSummary[]> {
    return this.#thread.call("listRooms", limit, this.#clock.now());
  }

  getAccount(videoId: string): Promise<RoomAccount | undefined> {
    return this.#thread.call("getAccount", videoId, this.#clock.now());
  }

  tally(videoId: string, limit: number): Promise<number> {
    return this.#thread.call("tally", videoId, limit);
  }

  tallyRooms(after: string, limit: number): Promise<string | undefined> {
    return this.#thread.call("tallyRooms", after, limit);
  }

  prune(keptMs: number, limit: number): Promise<number> {
    return this.#thread.call("prune", keptMs, limit, this.#clock.now(), this.ownership.held);
  }

  async moveCursors(stopped?: AbortSignal): Promise<number> {
    const now = this.#clock.now();
    for (let moved = 0; ; ) {
      stopped?.throwIfAborted();
      const rooms = await this.#thread.call("moveCursors", now);
      if (rooms === 0) return moved;
      moved += rooms;
    }
  }

  probeWrite(spareBytes: number): Promise<void> {
    return this.#thread.call("probeWrite", spareBytes);
  }

  /** The size of the file and of its write-ahead log. */
  async sizeBytes(): Promise<number> {
    const files = [this.#path, `${this.#path}-wal`];
    const sizes = await Promise.all(
      files.map((file) =>
        stat(file).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(dirname(this.#path));
    return bavail * bsize;
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
      this.followers.resync(claim.videoId);
      throw error;
    }
  }
}
