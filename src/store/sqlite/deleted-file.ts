/**
 * Notices that a store's file was deleted or replaced while it is open. The system still accepts writes to
 * such a file, but nobody would ever read them.
 */
import { statSync } from "node:fs";

/** It is noticed within this time, even without reads and writes. */
export const FILE_CHECK_MS = 2000;

export class OpenedFile {
  readonly #path: string;
  /** Undefined until the file was opened for the first time. */
  #id: string | undefined;

  /** `id`: of the file that an earlier thread of the service opened. */
  constructor(path: string, id: string | undefined) {
    this.#path = path;
    this.#id = id;
  }

  /** Whether the path still names the file that was opened. Throws if the system does not allow a look. */
  get isInPlace(): boolean {
    return this.#id === undefined || this.#id === fileIdOf(this.#path);
  }

  /** Remembers which file the path names. Returns its id if that was not known before. */
  remember(): string | undefined {
    if (this.#id !== undefined) return undefined;
    this.#id = fileIdOf(this.#path);
    return this.#id;
  }

  /** What to say once it is not in place. */
  get trouble(): string {
    return `store ${this.#path} was deleted or replaced while it was open: nothing more can be stored; restart the service`;
  }
}

/** Undefined if there is no such file. */
function fileIdOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
