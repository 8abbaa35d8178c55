/**
 * The store's thread: it alone touches the store file. Whatever waits at its port is done together: reads
 * first, of what is committed, then all writes in one transaction, so that many rooms share one fsync. An
 * answer to a write is posted after its commit; nothing is reported that is not on disk.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { StoreError } from "../port.ts";
import { unavailable } from "./error.ts";
import { FileLock } from "./file-lock.ts";
import { openDatabase } from "./schema.ts";
import { Tables } from "./tables.ts";

export type Operation = keyof Tables;

export interface OperationRequest {
  id: number;
  op: Operation;
  args: readonly unknown[];
}

/** What is posted to the thread: calls, or that it shall finish what it has and exit. */
export type ToThread = readonly OperationRequest[] | "close";

type Failure = Pick<StoreError, "kind" | "message">;

export type OperationReply = { id: number; value: unknown } | { id: number; failure: Failure };

/** What the thread posts: answers, which file it has opened, and that this file is gone, with what to do. */
export type FromThread = readonly OperationReply[] | { opened: string } | { lost: string };

export interface ThreadStart {
  path: string;
  /** The file that a thread before this one had opened: no other will do. */
  fileId: string | undefined;
}

const READS: ReadonlySet<Operation> = new Set<Operation>([
  "read",
  "messagesById",
  "getRoom",
  "unfinishedRooms",
]);

/** The maximum of either that one round takes, so that neither reads nor writes wait long for the others. */
const ROUND_READS = 32;
const ROUND_WRITES = 64;

/** A file that is gone is noticed within this time, also where nothing is read or written. */
const FILE_CHECK_MS = 2000;

class SqliteWorker {
  readonly #path: string;
  readonly #port: MessagePort;
  readonly #reads: OperationRequest[] = [];
  readonly #writes: OperationRequest[] = [];
  #closing = false;
  #lock: FileLock | undefined;
  #database: DatabaseSync | undefined;
  #tables: Tables | undefined;
  /** Set by a failure of SQLite: the connection is given up once the round is over. */
  #isSuspect = false;
  #fileId: string | undefined;

  constructor({ path, fileId }: ThreadStart, port: MessagePort) {
    this.#path = path;
    this.#fileId = fileId;
    this.#port = port;
    port.on("message", (posted: ToThread) => {
      this.#accept(posted);
      this.#work();
    });
    setInterval(() => this.#isFileInPlace(), FILE_CHECK_MS).unref(); // the service's clock is not of this thread
  }

  #accept(posted: ToThread): void {
    if (posted === "close") this.#closing = true;
    else for (const call of posted) (READS.has(call.op) ? this.#reads : this.#writes).push(call);
  }

  /** Rounds, until the port is empty too. */
  #work(): void {
    do {
      for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
        this.#accept(next.message);
      }
      this.#answer(this.#reads.splice(0, ROUND_READS).map((call) => this.#read(call)));
      this.#answer(this.#commit(this.#writes.splice(0, ROUND_WRITES)));
      if (this.#isSuspect) this.#disconnect();
    } while (this.#reads.length + this.#writes.length > 0);
    if (this.#closing) this.#close();
  }

  #answer(answers: OperationReply[]): void {
    if (answers.length > 0) this.#port.postMessage(answers satisfies FromThread);
  }

  #read(call: OperationRequest): OperationReply {
    try {
      return { id: call.id, value: run(this.#connect().tables, call) };
    } catch (error) {
      return { id: call.id, failure: this.#failure(error) };
    }
  }

  /** One transaction for the whole group: its answers hold once it is committed, else all have failed. */
  #commit(group: OperationRequest[]): OperationReply[] {
    if (group.length === 0) return [];
    try {
      const { database, tables } = this.#connect();
      database.exec("begin immediate");
      const answers = group.map((call) => this.#write(database, tables, call));
      database.exec("commit");
      return answers;
    } catch (error) {
      const failure = this.#failure(error);
      return group.map(({ id }) => ({ id, failure }));
    }
  }

  /** One write of a group; if it fails, the others go on. */
  #write(database: DatabaseSync, tables: Tables, call: OperationRequest): OperationReply {
    database.exec("savepoint one");
    try {
      const value = run(tables, call);
      database.exec("release one");
      return { id: call.id, value };
    } catch (error) {
      if (!database.isTransaction) throw error; // SQLite itself has undone the whole group
      database.exec("rollback to one; release one");
      return { id: call.id, failure: this.#failure(error) };
    }
  }

  #failure(error: unknown): Failure {
    if (!(error instanceof StoreError)) this.#isSuspect = true;
    const { kind, message } = unavailable(error, this.#path);
    return { kind, message };
  }

  /** The open file; opened now if this is the first call, or the last connection was given up. */
  #connect(): { database: DatabaseSync; tables: Tables } {
    this.#lock ??= this.#takeLock();
    if (!this.#isFileInPlace()) throw new StoreError("unavailable", goneFrom(this.#path));
    this.#database ??= openDatabase(this.#path);
    this.#tables ??= new Tables(this.#database);
    if (this.#fileId === undefined) {
      this.#fileId = fileIdOf(this.#path);
      if (this.#fileId) this.#port.postMessage({ opened: this.#fileId } satisfies FromThread);
    }
    return { database: this.#database, tables: this.#tables };
  }

  /** The system lets an open file be written after it was deleted or replaced: nobody would ever read it. */
  #isFileInPlace(): boolean {
    if (this.#fileId === undefined || this.#fileId === fileIdOf(this.#path)) return true;
    this.#port.postMessage({ lost: goneFrom(this.#path) } satisfies FromThread);
    return false;
  }

  #takeLock(): FileLock {
    try {
      makeFolder(dirname(this.#path));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const advice = "name a file in a folder that this user may write";
      throw new StoreError(
        "unavailable",
        `store ${this.#path}: its folder cannot be made (${reason}): ${advice}`,
      );
    }
    return new FileLock(this.#path);
  }

  /** Closing undoes a transaction that is still open. */
  #disconnect(): void {
    this.#isSuspect = false;
    this.#database?.close();
    this.#database = undefined;
    this.#tables = undefined;
  }

  /** Leaves a file that stands alone, unless another program is reading it just now. */
  #close(): void {
    try {
      this.#database?.exec("pragma wal_checkpoint(truncate)");
    } catch {
      // what is committed stays in the file's log, and is read from there at the next start
    }
    this.#disconnect();
    this.#lock?.release();
    this.#port.close();
  }
}

/** With its parents. Node's own `recursive` does not come back from where nothing can be made, as below /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Undefined where there is no such file. Throws where that cannot be seen. */
function fileIdOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function goneFrom(path: string): string {
  return `store ${path} was deleted or replaced while it was open: nothing more can be stored; restart the service`;
}

function run(tables: Tables, { op, args }: OperationRequest): unknown {
  return Reflect.apply(tables[op], tables, args);
}

if (parentPort) new SqliteWorker(workerData, parentPort);
