/**
 * Executes the store's operations in rounds. Each round first runs the waiting reads, on committed data, then
 * the waiting writes in one transaction, so that many rooms share one fsync. A write is answered after its
 * commit, so every reported write is on disk.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../store-error.ts";
import { isBug, unavailable } from "./sqlite-error.ts";
import type { Tables } from "./sqlite-tables.ts";

export type Operation = keyof Tables;

export interface OperationRequest {
  id: number;
  op: Operation;
  args: readonly unknown[];
}

type Failure = Pick<StoreError, "kind" | "message" | "trouble">;

/** The cause of a failed operation: the store, or a bug. */
type Failed = { failure: Failure } | { bug: unknown };

export type OperationReply = { id: number } & ({ value: unknown } | Failed);

/** The error of an operation, as its caller gets it. */
export function errorOf(failed: Failed): unknown {
  if ("bug" in failed) return failed.bug;
  const { kind, message, trouble } = failed.failure;
  return new StoreError(kind, message, { trouble });
}

/** The store file, opened on demand. */
export interface StoreFile {
  readonly path: string;
  /** Opens the file if it is not open. Throws `StoreError`, or the errors of SQLite. */
  connect(): { database: Pick<DatabaseSync, "exec" | "isTransaction">; tables: Tables };
  /** Closes the connection, and so undoes a transaction that is still open. */
  disconnect(): void;
  answer(answers: readonly OperationReply[]): void;
}

/** A write runs in the transaction of its round. A new operation must be listed here to compile. */
const OPERATIONS: Readonly<Record<Operation, "read" | "write">> = {
  take: "write",
  append: "write",
  finish: "write",
  read: "read",
  readTypes: "read",
  placeOfAuthor: "read",
  cursorAt: "read",
  messagesById: "read",
  find: "read",
  getRoom: "read",
  getChannels: "read",
  setChannels: "write",
  hasChannel: "read",
  setVideo: "write",
  keep: "write",
  getFeatured: "read",
  setFeatured: "write",
  unfinishedRooms: "read",
  listRooms: "read",
  getAccount: "read",
  tally: "write",
  tallyRooms: "write",
  oldestAt: "read",
  prune: "write",
  pruneRooms: "write",
  usedBytes: "read",
  moveCursors: "write",
  listRecordings: "read",
  addRecording: "write",
  removeRecording: "write",
  runRecordings: "write",
  probeWrite: "write",
};

/** The maximum numbers of reads and writes per round, so that neither wait long for the others. */
const ROUND_READS = 32;
const ROUND_WRITES = 64;

export class Rounds {
  readonly #file: StoreFile;
  readonly #reads: OperationRequest[] = [];
  readonly #writes: OperationRequest[] = [];
  /** Set by any failure but a `StoreError`; the connection is then closed after the round. */
  #isSuspect = false;

  constructor(file: StoreFile) {
    this.#file = file;
  }

  get isIdle(): boolean {
    return this.#reads.length + this.#writes.length === 0;
  }

  accept(calls: readonly OperationRequest[]): void {
    for (const call of calls) (OPERATIONS[call.op] === "read" ? this.#reads : this.#writes).push(call);
  }

  /** Runs one round. */
  play(): void {
    this.#answer(this.#reads.splice(0, ROUND_READS).map((call) => this.#read(call)));
    this.#answer(this.#commit(this.#writes.splice(0, ROUND_WRITES)));
    if (this.#isSuspect) this.#file.disconnect();
    this.#isSuspect = false;
  }

  #answer(answers: readonly OperationReply[]): void {
    if (answers.length > 0) this.#file.answer(answers);
  }

  #read(call: OperationRequest): OperationReply {
    try {
      return { id: call.id, value: run(this.#file.connect().tables, call) };
    } catch (error) {
      return { id: call.id, ...this.#failed(error) };
    }
  }

  /**
   * Runs the writes in one transaction. Their answers are valid only after the commit; if that fails, all
   * have failed.
   */
  #commit(group: OperationRequest[]): OperationReply[] {
    if (group.length === 0) return [];
    try {
      const { database, tables } = this.#file.connect();
      database.exec("begin immediate");
      const answers = group.map((call) => this.#write(database, tables, call));
      database.exec("commit");
      return answers;
    } catch (error) {
      const failed = this.#failed(error);
      return group.map(({ id }) => ({ id, ...failed }));
    }
  }

  /** Runs one write of a group. If it fails, the others continue. */
  #write(
    database: Pick<DatabaseSync, "exec" | "isTransaction">,
    tables: Tables,
    call: OperationRequest,
  ): OperationReply {
    database.exec("savepoint one");
    try {
      const value = run(tables, call);
      database.exec("release one");
      return { id: call.id, value };
    } catch (error) {
      if (!database.isTransaction) throw error; // SQLite itself has rolled back the whole group
      database.exec("rollback to one; release one");
      return { id: call.id, ...this.#failed(error) };
    }
  }

  #failed(error: unknown): Failed {
    if (!(error instanceof StoreError)) this.#isSuspect = true;
    if (isBug(error)) return { bug: error };
    const { kind, message, trouble } = unavailable(error, this.#file.path);
    return { failure: { kind, message, trouble } };
  }
}

function run(tables: Tables, { op, args }: OperationRequest): unknown {
  return Reflect.apply(tables[op], tables, args);
}
