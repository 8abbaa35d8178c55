/**
 * Ensures that only one process uses a store, or another file. The lock is an exclusive transaction on an
 * empty database next to the file. The system frees it when the process dies in any way, and other tools can
 * read and back up the data file meanwhile. The lock's file is never deleted: otherwise two processes could
 * lock two files of the same name.
 */
import { existsSync, realpathSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../port.ts";
import { makePrivate } from "./private-file.ts";
import { isBusy, unavailable } from "./sqlite-error.ts";

export class FileLock {
  readonly #database: DatabaseSync;

  /** Locks the file `path`. Throws `StoreError` "unavailable" if that fails. */
  constructor(path: string) {
    const lockPath = `${existsSync(path) ? realpathSync(path) : path}-lock`; // one, whatever the file's names
    makePrivate(lockPath);
    try {
      this.#database = new DatabaseSync(lockPath, { timeout: 0 });
      this.#database.exec("pragma journal_mode = memory; begin exclusive"); // no journal file next to it
    } catch (error) {
      if (!isBusy(error)) throw unavailable(error, lockPath);
      throw new StoreError(
        "unavailable",
        `${path} is in use by another process: stop that one, or name another file`,
        { trouble: "it is locked", cause: error },
      );
    }
  }

  release(): void {
    this.#database.close();
  }
}
