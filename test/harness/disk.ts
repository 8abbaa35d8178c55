/**
 * The disk under the store: SQLite's tables in this process, with rounds in virtual time. It can fail before
 * or after the n-th commit, be absent for a while, or be slow. Commits survive the processes that use the
 * disk.
 */
import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import type { Random } from "../../simulator/random.ts";
import { CHATS } from "../../src/protocol/chat.ts";
import { chatKey } from "../../src/protocol/chat-key.ts";
import { type InlineFile, InlineThread } from "../../src/store/sqlite/inline-thread.ts";
import { openDatabase } from "../../src/store/sqlite/sqlite-schema.ts";
import { tablesOn } from "../../src/store/sqlite/sqlite-tables.ts";
import type { Journal } from "./journal.ts";
import type { MortalClock, Scheduler } from "./scheduler.ts";

/** The usual duration of a round in milliseconds: a minimum, plus at most the jitter. */
const USUAL_COMMIT = { leastMs: 0.2, jitterMs: 5 };

/** A commit's failure: it is not done, or it is done without an answer. */
type CommitFailure = "refused" | "unanswered";

const FAILURES = {
  refused: { message: "database or disk is full", errcode: 13 },
  unanswered: { message: "disk I/O error", errcode: 10 },
} as const;

export class Disk {
  commit: Readonly<typeof USUAL_COMMIT> = USUAL_COMMIT;
  /** Until this virtual time, reads and writes fail (milliseconds). */
  goneUntil = 0;
  /** The time of the last failed write. */
  failedAt = Number.NEGATIVE_INFINITY;
  readonly #database: DatabaseSync = openDatabase(":memory:");
  readonly tables = tablesOn(this.#database, ({ part, key }) =>
    assert.fail(`cannot be read: ${part} of ${key}`),
  );
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #journal: Journal;
  /** The failures of future commits, with the number of commits before each. */
  readonly #orders: { after: number; as: CommitFailure }[] = [];

  constructor(scheduler: Scheduler, random: Random, journal: Journal) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#journal = journal;
  }

  /** Makes the n-th commit from now on fail. */
  failAtCommit(n: number, as: CommitFailure): void {
    this.#orders.push({ after: n, as });
  }

  /** Changes the checkpoints of a video's rooms regardless of their owners. */
  rewrite(videoId: string, change: (checkpoint: string) => string): void {
    const update = this.#database.prepare("update room set checkpoint = ? where video_id = ?");
    for (const key of CHATS.map((chat) => chatKey(videoId, chat))) {
      const room = this.tables.getRoom(0, key);
      if (room) update.run(change(room.checkpoint), key);
    }
  }

  calm(): void {
    this.commit = USUAL_COMMIT;
    this.goneUntil = 0;
    this.#orders.length = 0;
  }

  get commitMs(): number {
    return this.commit.leastMs + this.#random.next() * this.commit.jitterMs;
  }

  /** The open file of one life of the service. There is no real one, so it has no size. */
  file(): InlineFile {
    const database = this.#database;
    const transactions = {
      exec: (sql: string) => (sql === "commit" ? this.#commit() : database.exec(sql)),
      get isTransaction() {
        return database.isTransaction;
      },
    };
    return {
      path: "simulated.db",
      sizeBytes: () => 0,
      connect: () => {
        if (this.#scheduler.monotonic() < this.goneUntil) throw this.#failure("unanswered", "disk gone");
        return { database: transactions, tables: this.tables };
      },
      disconnect: () => {
        if (database.isTransaction) database.exec("rollback");
      },
    };
  }

  #commit(): void {
    for (const order of this.#orders) order.after -= 1;
    const due = this.#orders.findIndex(({ after }) => after <= 0);
    const [order] = due < 0 ? [] : this.#orders.splice(due, 1);
    if (order?.as !== "refused") this.#database.exec("commit");
    if (order) throw this.#failure(order.as, `commit ${order.as}`);
  }

  #failure(as: CommitFailure, name: string): Error {
    const { message, errcode } = FAILURES[as];
    this.failedAt = this.#scheduler.monotonic();
    this.#journal.count(name);
    this.#journal.note(`disk ${name}`);
    return Object.assign(new Error(message), { errcode });
  }
}

/** An `InlineThread` for one life of the service, on a disk that fails. */
export function simulatedThread(disk: Disk, clock: MortalClock): InlineThread {
  // A kill can come before a commit, or between it and its answer.
  return new InlineThread(disk.file(), () => clock.sleep(disk.commitMs / 2));
}
