/**
 * The store's operations in the caller's process, without a thread, and the store in memory, which runs on
 * it. It groups calls into rounds as the thread does, and its `pause` may let the event loop run between two.
 */
import type { Clock } from "../../base/clock.ts";
import type { ClockWitness } from "../../base/clock-witness.ts";
import { unlessAborted } from "../../base/deadline.ts";
import { StoreClosed } from "../store-error.ts";
import type { OnUnreadable } from "../strict-rows.ts";
import {
  errorOf,
  type Operation,
  type OperationReply,
  type OperationRequest,
  Rounds,
  type StoreFile,
} from "./group-commit.ts";
import { SqliteStore } from "./sqlite.ts";
import { openDatabase } from "./sqlite-schema.ts";
import { type Tables, tablesOn } from "./sqlite-tables.ts";
import type { StoreThread } from "./thread.ts";

/** The database of an `InlineThread`. */
export interface InlineFile extends Omit<StoreFile, "answer"> {
  sizeBytes(): number;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Waits nothing, so that a test in virtual time never waits for the system. */
const AT_ONCE = async () => {};

export class InlineThread implements StoreThread {
  readonly lost = new Promise<never>(() => {});
  readonly #file: InlineFile;
  readonly #pause: () => Promise<void>;
  readonly #rounds: Rounds;
  readonly #pending = new Map<number, Pending>();
  readonly #replies: OperationReply[] = [];
  #outbox: OperationRequest[] = [];
  #lastId = 0;
  #working: Promise<void> | undefined;
  #isClosed = false;

  /** `pause`: awaited before each round, and before its answers. */
  constructor(file: InlineFile, pause: () => Promise<void> = AT_ONCE) {
    this.#file = file;
    this.#pause = pause;
    this.#rounds = new Rounds({
      path: file.path,
      connect: () => file.connect(),
      disconnect: () => file.disconnect(),
      answer: (replies) => void this.#replies.push(...replies),
    });
  }

  /** See `SqliteThread.call`. */
  call<O extends Operation>(op: O, ...args: Parameters<Tables[O]>): Promise<ReturnType<Tables[O]>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#isClosed) reject(new StoreClosed());
    else {
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve, reject });
      this.#outbox.push({ id, op, args });
      this.#working ??= this.#work();
    }
    return promise as Promise<ReturnType<Tables[O]>>;
  }

  async sizeBytes(): Promise<number> {
    return this.#file.sizeBytes();
  }

  async freeBytes(): Promise<undefined> {}

  async close(limit: AbortSignal): Promise<void> {
    this.#isClosed = true;
    await unlessAborted(this.#working ?? Promise.resolve(), limit).catch(() => {});
  }

  async #work(): Promise<void> {
    while (this.#outbox.length > 0 || !this.#rounds.isIdle) {
      await this.#pause();
      this.#rounds.accept(this.#outbox);
      this.#outbox = [];
      this.#rounds.play();
      await this.#pause();
      for (const reply of this.#replies.splice(0)) this.#complete(reply);
    }
    this.#working = undefined;
  }

  #complete(reply: OperationReply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ("value" in reply) pending?.resolve(reply.value);
    else pending?.reject(errorOf(reply));
  }
}

/** A database in memory. It lives as long as its connection, so a failed round only rolls back. */
export function inMemory(onUnreadable: OnUnreadable = () => {}): InlineFile {
  const database = openDatabase(":memory:");
  const tables = tablesOn(database, onUnreadable);
  const size = database.prepare(
    "select page_count * page_size as bytes from pragma_page_count, pragma_page_size",
  );
  return {
    path: ":memory:",
    connect: () => ({ database, tables }),
    disconnect: () => {
      if (database.isTransaction) database.exec("rollback");
    },
    sizeBytes: () => Number(size.get()?.bytes),
  };
}

/** The store in memory. `pause`: as in `InlineThread`. */
export function memoryStore(
  clock: Clock,
  onUnreadable?: OnUnreadable,
  pause?: () => Promise<void>,
  witness?: ClockWitness,
): SqliteStore {
  return new SqliteStore(clock, new InlineThread(inMemory(onUnreadable), pause), witness);
}
