/** Describes a failure of SQLite for the operator: one line with the file and what to do. */
import { StoreError } from "../port.ts";

const BUSY = 5;

/** By SQLite's primary result code. */
const ADVICE: Readonly<Record<number, string>> = {
  3: "access denied: give this user the right to read and write it",
  [BUSY]: "is locked by another program: close that program",
  8: "cannot be written: give this user the right to write the file and its folder",
  10: "cannot be read or written: check its disk",
  11: "is damaged: restore a backup, or move the file away to start empty",
  13: "cannot grow: free space on its disk",
  14: "cannot be opened: choose a file in a folder that this user can write to",
  26: "is not an SQLite database: move it away, or name another file",
};

/** The lowest byte of an extended result code is the primary code. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

export function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

/** The failure as a `StoreError`; one that is a `StoreError` already stays as it is. */
export function unavailable(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const advice = ADVICE[resultCode(error) ?? 0] ?? "failed";
  return new StoreError("unavailable", `store ${path} ${advice} (${reason})`, error);
}
