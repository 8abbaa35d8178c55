/**
 * Ensures that only one process uses a store, or another file. The lock is an exclusive transaction on an
 * empty database next to the file. The system frees it when the process dies in any way, and other tools can
 * read and back up the data file meanwhile. The lock's file is never deleted: otherwise two processes could
 * lock two files of the same name.
 */
import { existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../store-error.ts";
import { makePrivate } from "./private-file.ts";
import { isBusy, unavailable } from "./sqlite-error.ts";

export class FileLock {
  /** One beside each name of the file in its folder. */
  readonly #databases: DatabaseSync[] = [];

  /** Locks the file `path`. Throws `StoreError` "unavailable" if that fails. */
  constructor(path: string) {
    for (const name of namesOf(existsSync(path) ? realpathSync(path) : path))
      this.#lock(`${name}-lock`, path);
  }

  #lock(lockPath: string, path: string): void {
    makePrivate(lockPath);
    try {
      const database = new DatabaseSync(lockPath, { timeout: 0 });
      this.#databases.push(database);
      database.exec("pragma journal_mode = memory; begin exclusive"); // no journal file next to it
    } catch (error) {
      this.release();
      if (!isBusy(error)) throw unavailable(error, lockPath, "lock");
      throw new StoreError(
        "unavailable",
        `${path} is in use by another process: stop that one, or name another file`,
        { trouble: "it is locked", cause: error },
      );
    }
  }

  release(): void {
    for (const database of this.#databases) database.close();
  }
}

/** Whether a process has the lock of the file now. Takes none itself, and makes no file. */
export function isLocked(path: string): boolean {
  const lockPath = `${path}-lock`;
  if (!existsSync(lockPath)) return false;
  using database = new DatabaseSync(lockPath, { readOnly: true, timeout: 0 });
  try {
    database.prepare("select 1 from sqlite_schema").get();
    return false;
  } catch (error) {
    return isBusy(error);
  }
}

/** The names of a file in its folder: a hard link is one more. */
function namesOf(path: string): string[] {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (!file || file.nlink === 1) return [path];
  const folder = dirname(path);
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((name) => {
      const other = lstatSync(name, { throwIfNoEntry: false });
      return other?.ino === file.ino && other.dev === file.dev;
    });
}

/**
 * Throws `StoreError` "unavailable" if the file has names in other folders, of which a lock cannot know.
 */
export function assertNamesKnown(path: string): void {
  const { nlink } = lstatSync(path, { throwIfNoEntry: false }) ?? { nlink: 1 };
  if (nlink <= namesOf(path).length) return;
  throw new StoreError(
    "unavailable",
    `${path} has another name in another folder (a hard link), under which another process could write to it: remove one of the two, or name a copy`,
  );
}
