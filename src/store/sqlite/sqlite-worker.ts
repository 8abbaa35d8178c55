/**
 * The store's thread. In a running service, only this thread opens the store file. It executes all
 * waiting calls together, in rounds.
 */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { messageOf } from "../../base/error-message.ts";
import { completeMaps } from "../../base/maps.ts";
import type { UnreadableRow } from "../../telemetry/store-events.ts";
import { StoreError } from "../store-error.ts";
import { FILE_CHECK_MS, OpenedFile } from "./deleted-file.ts";
import { assertNamesKnown, FileLock } from "./file-lock.ts";
import { type OperationReply, type OperationRequest, Rounds, type StoreFile } from "./group-commit.ts";
import { makePrivate } from "./private-file.ts";
import { unavailable } from "./sqlite-error.ts";
import { openDatabase, type StoreOptions } from "./sqlite-schema.ts";
import { type Tables, tablesOn } from "./sqlite-tables.ts";

completeMaps();

/** A message to the thread: calls, or the request to complete them and exit. */
export type ToThread = readonly OperationRequest[] | "close";

/**
 * A message from the thread: answers; the id of the opened file; that this file is gone, with what to do; a
 * row that cannot be read; or a step of the file's upgrade.
 */
export type FromThread =
  | readonly OperationReply[]
  | { opened: string }
  | { lost: string }
  | { unreadable: UnreadableRow }
  | { toSchema: number; tookMs: number };

export interface ThreadStart {
  path: string;
  /** The id of the file that an earlier thread opened. The thread accepts no other file. */
  fileId: string | undefined;
  options: StoreOptions;
}

class SqliteWorker implements StoreFile {
  readonly path: string;
  readonly #options: StoreOptions;
  readonly #port: MessagePort;
  readonly #rounds = new Rounds(this);
  #closing = false;
  #lock: FileLock | undefined;
  #database: DatabaseSync | undefined;
  #tables: Tables | undefined;
  readonly #opened: OpenedFile;

  constructor({ path, fileId, options }: ThreadStart, port: MessagePort) {
    this.path = path;
    this.#options = options;
    this.#opened = new OpenedFile(path, fileId);
    this.#port = port;
    port.on("message", (posted: ToThread) => {
      this.#accept(posted);
      this.#work();
    });
    setInterval(() => this.#checkFile(), FILE_CHECK_MS).unref(); // without the service's clock
  }

  #accept(posted: ToThread): void {
    if (posted === "close") this.#closing = true;
    else this.#rounds.accept(posted);
  }

  /** Runs rounds until no call is left, neither accepted nor in the port. */
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

  /** The open file. Opens it at the first call, and after the last connection was closed. */
  connect(): { database: DatabaseSync; tables: Tables } {
    this.#lock ??= this.#takeLock();
    if (!this.#isFileInPlace())
      throw new StoreError("unavailable", this.#opened.trouble, { trouble: "its file is gone" });
    makePrivate(this.path);
    this.#database ??= openDatabase(this.path, this.#options, "refused", (toSchema, step) => {
      const beganAt = performance.now();
      step();
      this.#port.postMessage({ toSchema, tookMs: performance.now() - beganAt } satisfies FromThread);
    });
    this.#tables ??= tablesOn(this.#database, (unreadable) =>
      this.#port.postMessage({ unreadable } satisfies FromThread),
    );
    const opened = this.#opened.remember();
    if (opened) this.#port.postMessage({ opened } satisfies FromThread);
    return { database: this.#database, tables: this.#tables };
  }

  /** Reports a file that is not. */
  #isFileInPlace(): boolean {
    const { isInPlace, trouble } = this.#opened;
    if (!isInPlace) this.#port.postMessage({ lost: trouble } satisfies FromThread);
    return isInPlace;
  }

  #checkFile(): void {
    try {
      this.#isFileInPlace();
    } catch {
      // the system does not allow it, which the next call reports
    }
  }

  #takeLock(): FileLock {
    makeFolder(this.path);
    assertNamesKnown(this.path);
    return new FileLock(this.path);
  }

  /** Closing rolls back a transaction that is still open. */
  disconnect(): void {
    this.#database?.close();
    this.#database = undefined;
    this.#tables = undefined;
  }

  /** Leaves a complete file without a write-ahead log, unless another program is currently reading it. */
  #close(): void {
    try {
      this.#database?.exec("pragma wal_checkpoint(truncate)");
    } catch {
      // committed data stays in the write-ahead log, which the next start reads
    }
    this.disconnect();
    this.#lock?.release();
    this.#port.close();
  }
}

/** Creates the folder of the file if it is missing, and no folder above it: the path may be misspelt. */
function makeFolder(path: string): void {
  const folder = dirname(path);
  if (existsSync(folder)) return;
  const refuse = (why: string): never => {
    throw new StoreError("unavailable", `store ${path}: ${why}`, { trouble: "it cannot be opened" });
  };
  const above = dirname(folder);
  if (!existsSync(above)) refuse(`the folder ${above} does not exist: create it, or name another file`);
  try {
    mkdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EROFS") throw unavailable(error, path);
    const reason = messageOf(error);
    refuse(`its folder cannot be made (${reason}): choose a file in a folder that this user can write to`);
  }
}

if (parentPort) new SqliteWorker(workerData, parentPort);
