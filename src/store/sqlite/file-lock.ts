/**
 * One process per store file: a lock beside it, held as an exclusive transaction on an empty database. The
 * system frees it when the process dies, however it dies; meanwhile the data file itself can be read and
 * backed up by other tools. The lock's file is left behind on purpose: removing it would let two processes
 * lock two files of one name.
 */
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../port.ts";
import { isBusy, unavailable } from "./error.ts";

export class FileLock {
  readonly #database: DatabaseSync;

  /** Takes the lock of the store file `path`. Throws `StoreError` "unavailable" where it cannot be had. */
  constructor(path: string) {
    const lockPath = `${path}-lock`;
    try {
      this.#database = new DatabaseSync(lockPath, { timeout: 0 });
      this.#database.exec("pragma journal_mode = memory; begin exclusive"); // no second file beside it
    } catch (error) {
      if (!isBusy(error)) throw unavailable(error, lockPath);
      throw new StoreError(
        "unavailable",
        `store ${path} is in use by another process: stop that one, or name another file`,
        error,
      );
    }
  }

  release(): void {
    this.#database.close();
  }
}
