/** What a failure of SQLite means to whoever runs the service: one line that names the file and what to do. */
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

/** An extended result code holds the primary one in its lowest byte. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

export function isBusy(error: unknown): boolean {
  return resultCode(error) === BUSY;
}

/** The failure as the port knows it; a `StoreError` stays what it is. */
export function unavailable(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const advice = ADVICE[resultCode(error) ?? 0] ?? "failed";
  return new StoreError("unavailable", `store ${path} ${advice} (${reason})`, error);
}
