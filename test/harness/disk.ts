/**
 * The disk under the store, and the store's thread without a thread: SQLite's tables in this process, with
 * rounds in virtual time. It can fail before or after the n-th commit, be absent for a while, or be slow.
 * Commits survive the processes that use the disk.
 */
import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import type { Random } from "../../src/simulator/random.ts";
import { StoreError } from "../../src/store/port.ts";
import {
  errorOf,
  type OperationReply,
  type OperationRequest,
  Rounds,
  type StoreFile,
} from "../../src/store/sqlite/group-commit.ts";
import { openDatabase } from "../../src/store/sqlite/schema.ts";
import { Tables } from "../../src/store/sqlite/tables.ts";
import type { StoreThread } from "../../src/store/sqlite/thread.ts";
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
  readonly tables = new Tables(this.#database, ({ part, videoId }) =>
    assert.fail(`cannot be read: ${part} of ${videoId}`),
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

  /** Changes a room's checkpoint regardless of its owner. */
  rewrite(videoId: string, change: (checkpoint: string) => string): void {
    const room = this.tables.getRoom(videoId, 0);
    const update = this.#database.prepare("update room set checkpoint = ? where video_id = ?");
    if (room) update.run(change(room.checkpoint), videoId);
  }

  calm(): void {
    this.commit = USUAL_COMMIT;
    this.goneUntil = 0;
    this.#orders.length = 0;
  }

  get commitMs(): number {
    return this.commit.leastMs + this.#random.next() * this.commit.jitterMs;
  }

  /** The open file of one life of the service, whose replies go to `answer`. */
  file(answer: StoreFile["answer"]): StoreFile {
    const database = this.#database;
    const transactions = {
      exec: (sql: string) => (sql === "commit" ? this.#commit() : database.exec(sql)),
      get isTransaction() {
        return database.isTransaction;
      },
    };
    return {
      path: "simulated.db",
      answer,
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

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Replaces `SqliteThread` for one life of the service. */
export class SimulatedThread {
  readonly lost = new Promise<never>(() => {});
  readonly #disk: Disk;
  readonly #clock: MortalClock;
  readonly #pending = new Map<number, Pending>();
  readonly #replies: OperationReply[] = [];
  readonly #rounds: Rounds;
  #outbox: OperationRequest[] = [];
  #lastId = 0;
  #isWorking = false;
  #isClosed = false;

  constructor(disk: Disk, clock: MortalClock) {
    this.#disk = disk;
    this.#clock = clock;
    this.#rounds = new Rounds(disk.file((replies) => this.#replies.push(...replies)));
  }

  call: StoreThread["call"] = (op, ...args) => {
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    if (this.#isClosed) reject(new StoreError("unavailable", "the store is closed"));
    else {
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve, reject });
      this.#outbox.push({ id, op, args });
      if (!this.#isWorking) void this.#work();
    }
    return promise;
  };

  async close(limit: AbortSignal): Promise<void> {
    this.#isClosed = true;
    while (this.#isWorking && !limit.aborted) await this.#clock.sleep(1);
  }

  /** Runs rounds while there is work. A kill can come before a commit, or between it and its answer. */
  async #work(): Promise<void> {
    this.#isWorking = true;
    while (this.#outbox.length > 0 || !this.#rounds.isIdle) {
      await this.#clock.sleep(this.#disk.commitMs / 2);
      this.#rounds.accept(this.#outbox);
      this.#outbox = [];
      this.#rounds.play();
      await this.#clock.sleep(this.#disk.commitMs / 2);
      for (const reply of this.#replies.splice(0)) this.#complete(reply);
    }
    this.#isWorking = false;
  }

  #complete(reply: OperationReply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ("value" in reply) pending?.resolve(reply.value);
    else pending?.reject(errorOf(reply));
  }
}
