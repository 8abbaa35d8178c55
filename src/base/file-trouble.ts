/**
 * Says in one line why a file cannot be read or written, and what to do. For an error code that is not in the
 * table, the line is the system's message.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";

const FORBIDDEN = "this user may not do that: change the permissions, or name another file";
const FOLDER = "it is a folder: name a file in it";

const COMPRESSED =
  "it is not a complete gzip file: get it again, or name it without .gz if it is not compressed";

/** By the error code of the system or of zlib. */
const REASONS: Readonly<
  Record<"read" | "written", Readonly<Record<string, string | ((path: string) => string)>>>
> = {
  read: {
    ENOENT: "there is no such file: check its name",
    EACCES: FORBIDDEN,
    EPERM: FORBIDDEN,
    EISDIR: FOLDER,
    Z_DATA_ERROR: COMPRESSED,
    Z_BUF_ERROR: COMPRESSED,
  },
  written: {
    ENOENT: (path) => `the folder ${dirname(path)} does not exist: create it, or name another`,
    EACCES: FORBIDDEN,
    EPERM: FORBIDDEN,
    EROFS: "its disk is read-only: name a file on another one",
    ENOSPC: "its disk is full: free space on it",
    EISDIR: FOLDER,
    EEXIST: "a file is where its folder should be: name another folder",
    ENOTDIR: (path) => `${dirname(path)} is not a folder: name another`,
  },
};

/** A text that follows the path. `what` was to be done with the file. */
export function fileTrouble(path: string, what: "read" | "written", error: unknown): string {
  const { code = "", message = String(error) } = (error ?? {}) as NodeJS.ErrnoException;
  const known = REASONS[what][code];
  const reason = typeof known === "function" ? known(path) : known;
  return `cannot be ${what}: ${reason === undefined ? message : `${reason} (${code})`}`;
}

export const MISSING = "does not exist";

/** Why there is no such file, as far as this user may see; undefined if there is one. */
export function missing(path: string): string | undefined {
  try {
    statSync(path);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" ? MISSING : fileTrouble(path, "read", error);
  }
}
