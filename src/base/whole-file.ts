/** Writes a file atomically: under another name in the same folder first; then the file is renamed. */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { chmod, open, realpath, rename, rm, stat } from "node:fs/promises";

/** The permissions in a file's mode. */
const PERMISSIONS = 0o777;

interface WholeFile {
  /** The file to write; it exists and is empty. */
  part: string;
  /** Puts it into its place. */
  finish(): Promise<void>;
  /** Removes it, unless it is in its place. The exit of the process does so, too, but not SIGKILL. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Begins a file at `path`. If one is there, links to it are followed and its permissions are kept; `mode`:
 * those of a new one, 0666 minus the umask by default. Rejects like `open`.
 */
export async function beginFile(path: string, mode?: number): Promise<WholeFile> {
  const found = await stat(path).catch(() => undefined);
  const target = found ? await realpath(path) : path;
  const kept = found?.mode ?? mode;
  const permissions = kept === undefined ? undefined : kept & PERMISSIONS;
  const part = `${target}.${randomUUID().slice(0, 8)}.part`;
  const file = await open(part, "wx", permissions);
  const remove = () => rmSync(part, { force: true });
  process.on("exit", remove); // a signal may end the process at once
  await file.close();
  if (permissions !== undefined) await chmod(part, permissions); // whatever the umask
  return {
    part,
    finish: () => rename(part, target),
    [Symbol.asyncDispose]: async () => {
      process.off("exit", remove);
      await rm(part, { force: true });
    },
  };
}
