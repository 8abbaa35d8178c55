/**
 * Calls the store's thread: each operation by name, with one answer. All calls of one turn of the event
 * loop are posted together. If the thread dies, its calls fail, and the next call starts another one.
 */
import { stat, statfs } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { Worker } from "node:worker_threads";
import { unlessAborted } from "../../base/deadline.ts";
import { bundled, IS_ONE_FILE } from "../../base/own-files.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { StoreClosed, StoreError } from "../store-error.ts";
import { errorOf, type Operation, type OperationReply, type OperationRequest } from "./group-commit.ts";
import type { StoreOptions } from "./sqlite-schema.ts";
import type { Tables } from "./sqlite-tables.ts";
import type { FromThread, ThreadStart, ToThread } from "./sqlite-worker.ts";

/** `.ts` in the sources, `.js` in the bundle, whose text is inside the one file. */
const [SCRIPT, IS_TEXT] = IS_ONE_FILE
  ? [bundled("sqlite-worker.js"), true]
  : [new URL(`./sqlite-worker${extname(import.meta.url)}`, import.meta.url), false];

interface Pending {
  call: OperationRequest;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The executor of the store's operations. */
export type StoreThread = Pick<SqliteThread, "lost" | "call" | "sizeBytes" | "freeBytes" | "close">;

export class SqliteThread {
  /** Resolves if the open file was deleted or replaced; every later call is then "unavailable". */
  readonly lost: Promise<StoreError>;
  readonly #options: StoreOptions;
  readonly #path: string;
  readonly #telemetry: Telemetry;
  #worker: Worker | undefined;
  #lastId = 0;
  /** The calls of this turn, not posted yet. */
  #outbox: Pending[] = [];
  readonly #posted = new Map<number, Pending>();
  #closed: Promise<void> | undefined;
  #fileId: string | undefined;
  readonly #reportLost: (error: StoreError) => void;

  /** `path` is absolute. The file is opened at the first call. */
  constructor(path: string, telemetry: Telemetry, options: StoreOptions) {
    const { promise, resolve } = Promise.withResolvers<StoreError>();
    this.lost = promise;
    this.#reportLost = resolve;
    this.#path = path;
    this.#options = options;
    this.#telemetry = telemetry;
  }

  /** Rejects with the error of the operation: a `StoreError`, or a bug. */
  call<O extends Operation>(op: O, ...args: Parameters<Tables[O]>): Promise<ReturnType<Tables[O]>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#closed !== undefined) {
      reject(new StoreClosed());
    } else {
      if (this.#outbox.length === 0) setImmediate(() => this.#post());
      this.#outbox.push({ call: { id: ++this.#lastId, op, args }, resolve, reject });
    }
    return promise as Promise<ReturnType<Tables[O]>>;
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

  /** See `freeBytes` of the store. */
  async freeBytes(): Promise<number | undefined> {
    const { bavail, bsize } = await statfs(dirname(this.#path));
    return bavail * bsize;
  }

  /**
   * Lets the thread complete its calls, close the file and exit. When the signal aborts, the thread is
   * ended and its calls fail; nothing that was acknowledged is lost.
   */
  close(limit: AbortSignal): Promise<void> {
    this.#closed ??= this.#close(limit);
    return this.#closed;
  }

  async #close(limit: AbortSignal): Promise<void> {
    this.#post();
    const worker = this.#worker;
    if (!worker) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.once("exit", () => resolve());
    worker.postMessage("close" satisfies ToThread);
    try {
      await unlessAborted(promise, limit);
    } catch (error) {
      void worker.terminate(); // not awaited: a system call of its own must return first
      this.#exited(error);
    }
  }

  #post(): void {
    if (this.#outbox.length === 0) return;
    const calls = this.#outbox;
    this.#outbox = [];
    for (const pending of calls) this.#posted.set(pending.call.id, pending);
    try {
      this.#worker ??= this.#start();
    } catch (error) {
      this.#exited(error); // the system cannot start a thread
      return;
    }
    this.#worker.postMessage(calls.map(({ call }) => call) satisfies ToThread);
  }

  #start(): Worker {
    const worker = new Worker(SCRIPT, {
      eval: IS_TEXT,
      workerData: { path: this.#path, fileId: this.#fileId, options: this.#options } satisfies ThreadStart,
    });
    let reason: unknown;
    worker.on("message", (posted: FromThread) => {
      if ("opened" in posted) this.#fileId = posted.opened;
      else if ("unreadable" in posted) this.#telemetry.store.unreadable(posted.unreadable);
      else if ("toSchema" in posted) this.#telemetry.store.upgraded(posted.toSchema, posted.tookMs);
      else if ("lost" in posted) this.#reportLost(new StoreError("unavailable", posted.lost));
      else for (const answer of posted) this.#complete(answer);
    });
    worker.on("error", (error) => {
      reason = error;
    });
    worker.on("exit", () => this.#exited(reason));
    return worker;
  }

  #complete(answer: OperationReply): void {
    const pending = this.#posted.get(answer.id);
    if (!pending) return;
    this.#posted.delete(answer.id);
    if ("value" in answer) pending.resolve(answer.value);
    else pending.reject(errorOf(answer));
  }

  /**
   * Fails the calls that the thread still had. Their outcome is unknown: it may have died between a
   * commit and its answer.
   */
  #exited(reason: unknown): void {
    this.#worker = undefined;
    if (this.#closed !== undefined && this.#posted.size === 0) return;
    this.#telemetry.store.threadDied(this.#path, reason);
    const error = new StoreError("unavailable", `the thread of store ${this.#path} died`, { cause: reason });
    for (const { reject } of this.#posted.values()) reject(error);
    this.#posted.clear();
  }
}
