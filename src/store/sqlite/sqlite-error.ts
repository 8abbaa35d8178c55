/** Describes a failure of SQLite for the operator: one line with the file and what to do. */
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { asError, messageOf } from "../../base/error-message.ts";
import { StoreError, type StoreTrouble } from "../store-error.ts";

const BUSY = 5;
const IO = 10;
const FULL = 13;
const CANTOPEN = 14;

/** The trouble and the advice, by SQLite's primary result code. */
const ADVICE: Readonly<Record<number, [StoreTrouble, string]>> = {
  3: ["it cannot be opened", "access denied: give this user the right to read and write it"],
  [BUSY]: ["it is locked", "is locked by another program: close that program"],
  8: ["it cannot be written", "cannot be written: give this user the right to write the file and its folder"],
  [IO]: ["its disk fails", "cannot be read or written: check its disk"],
  11: ["it is damaged", "is damaged: restore a backup, or move the file away to start empty"],
  [FULL]: ["the disk is full", "cannot grow: free space on its disk"],
  [CANTOPEN]: [
    "it cannot be opened",
    "cannot be opened: choose a file in a folder that this user can write to",
  ],
  26: ["it is damaged", "is not an SQLite database: move it away, or name another file"],
};

/** The size of SQLite's shared memory at first. If a disk lacks it, SQLite says only that the disk failed. */
const SHARED_MEMORY_BYTES = 32 * 1024;

function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < SHARED_MEMORY_BYTES;
  } catch {
    return false;
  }
}

/** The lowest byte of an extended result code is the primary code. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** The error of a disk that is too full for what must be written, in the form of SQLite's own. */
export function diskFull(message: string): Error {
  return Object.assign(new Error(message), { errcode: FULL });
}

/** The system's refusal of a file, in the form of SQLite's own. */
export function cannotOpen(error: unknown): Error {
  return Object.assign(asError(error), { errcode: CANTOPEN });
}

/** Whether the program failed, and not the store: errors of SQLite, Node.js and the system have a code. */
export function isBug(error: unknown): boolean {
  return !(
    error instanceof StoreError ||
    (error instanceof Error && ("code" in error || "errcode" in error))
  );
}

export function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

const READ_ONLY =
  "is on a read-only file system: name another file, or let the service write there (under systemd, by ReadWritePaths)";

/** The path, or the nearest folder above it that exists. */
export function existingPart(path: string): string {
  return existsSync(path) ? path : existingPart(dirname(path));
}

/** What to do about a file that the system denies to this user; undefined if SQLite's reason says more. */
export function adviceOnDenied(path: string): string | undefined {
  const existing = existingPart(path);
  try {
    accessSync(existing, constants.R_OK | constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EROFS") return READ_ONLY;
    // Often, root has restored the file.
    if (code === "EACCES" && existing === path)
      return `may not be read and written by this user: give it the owner of its folder (chown --reference=${dirname(path)} ${path})`;
  }
  return undefined;
}

/**
 * The failure as a `StoreError`; one that is a `StoreError` already stays as it is. `what`: what the file is.
 */
export function unavailable(error: unknown, path: string, what = "store"): StoreError {
  if (error instanceof StoreError) return error;
  const reason = messageOf(error);
  const code = resultCode(error);
  const [trouble, known] = ADVICE[(code === IO && isDiskFull(path) ? FULL : code) ?? 0] ?? [
    "it failed",
    "failed",
  ];
  const advice = adviceOnDenied(path) ?? known;
  return new StoreError("unavailable", `${what} ${path} ${advice} (${reason})`, { trouble, cause: error });
}
