/**
 * The store's thread: it alone touches the store file. Whatever waits at its port is done together, in rounds.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { StoreError } from "../port.ts";
import { FileLock } from "./file-lock.ts";
import { type OperationReply, type OperationRequest, Rounds, type StoreFile } from "./rounds.ts";
import { openDatabase, type StoreOptions } from "./schema.ts";
import { Tables } from "./tables.ts";

/** What is posted to the thread: calls, or that it shall finish what it has and exit. */
export type ToThread = readonly OperationRequest[] | "close";

/** What the thread posts: answers, which file it has opened, and that this file is gone, with what to do. */
export type FromThread = readonly OperationReply[] | { opened: string } | { lost: string };

export interface ThreadStart {
  path: string;
  /** The file that a thread before this one had opened: no other will do. */
  fileId: string | undefined;
  options: StoreOptions;
}

/** A file that is gone is noticed within this time, also where nothing is read or written. */
const FILE_CHECK_MS = 2000;

class SqliteWorker implements StoreFile {
  readonly path: string;
  readonly #options: StoreOptions;
  readonly #port: MessagePort;
  readonly #rounds = new Rounds(this);
  #closing = false;
  #lock: FileLock | undefined;
  #database: DatabaseSync | undefined;
  #tables: Tables | undefined;
  #fileId: string | undefined;

  constructor({ path, fileId, options }: ThreadStart, port: MessagePort) {
    this.path = path;
    this.#options = options;
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
    else this.#rounds.accept(posted);
  }

  /** Rounds, until the port is empty too. */
  #work(): void {
    do {
      for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
        this.#accept(next.message);
      }
      this.#rounds.play();
    } while (!this.#rounds.isIdle);
    if (this.#closing) this.#close();
  }

  answer(answers: readonly OperationReply[]): void {
    this.#port.postMessage(answers satisfies FromThread);
  }

  /** The open file; opened now if this is the first call, or the last connection was given up. */
  connect(): { database: DatabaseSync; tables: Tables } {
    this.#lock ??= this.#takeLock();
    if (!this.#isFileInPlace()) throw new StoreError("unavailable", goneFrom(this.path));
    this.#database ??= openDatabase(this.path, this.#options);
    this.#tables ??= new Tables(this.#database);
    if (this.#fileId === undefined) {
      this.#fileId = fileIdOf(this.path);
      if (this.#fileId) this.#port.postMessage({ opened: this.#fileId } satisfies FromThread);
    }
    return { database: this.#database, tables: this.#tables };
  }

  /** The system lets an open file be written after it was deleted or replaced: nobody would ever read it. */
  #isFileInPlace(): boolean {
    if (this.#fileId === undefined || this.#fileId === fileIdOf(this.path)) return true;
    this.#port.postMessage({ lost: goneFrom(this.path) } satisfies FromThread);
    return false;
  }

  #takeLock(): FileLock {
    try {
      makeFolder(dirname(this.path));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const advice = "choose a file in a folder that this user can write to";
      throw new StoreError(
        "unavailable",
        `store ${this.path}: its folder cannot be made (${reason}): ${advice}`,
      );
    }
    return new FileLock(this.path);
  }

  /** Closing undoes a transaction that is still open. */
  disconnect(): void {
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
    this.disconnect();
    this.#lock?.release();
    this.#port.close();
  }
}

/** With its parents. Node's own `recursive` does not come back from where nothing can be made, as below /proc. */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (existsSync(path) || parent === path) return; // a drive that is not there is its own parent
  makeFolder(parent);
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

if (parentPort) new SqliteWorker(workerData, parentPort);
