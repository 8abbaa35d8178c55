/** Makes the files of a store, which only the user of the service may read and write, whatever the umask. */
import { closeSync, existsSync, openSync } from "node:fs";

const PRIVATE = 0o600;

/**
 * Creates the file, empty, if it is not there yet. SQLite gives the files that it puts next to it the same
 * permissions. If the file cannot be made, SQLite says why when it opens it.
 */
export function makePrivate(path: string): void {
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, "a", PRIVATE));
  } catch {
    // SQLite fails, too
  }
}
