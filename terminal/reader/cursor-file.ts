/** A file that holds a cursor, so that a command can continue after any kind of end. */
import { readFile, writeFile } from "node:fs/promises";
import { fileTrouble } from "../../src/base/file-trouble.ts";
import { beginFile } from "../../src/base/whole-file.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import { parseVideoOrChannel } from "../../src/protocol/channel.ts";
import { FileLock } from "../../src/store/sqlite/file-lock.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { CommandError } from "./session.ts";
import { type Cursor, isCursorOf, parseCursor } from "./subject.ts";

export class CursorFile {
  readonly path: string;
  readonly #name: string;
  #written = Promise.resolve();

  /**
   * Without a path, the file is named after the video or channel. Throws `RelayError` if the name is of
   * neither.
   */
  constructor(path: string | undefined, name: string) {
    this.path = path ?? `${parseVideoOrChannel(name).replace("/", "-")}.cursor`;
    this.#name = name;
  }

  /** Keeps other processes from the file until it is disposed of. Rejects with `CommandError`. */
  async lock(): Promise<Disposable> {
    try {
      const lock = new FileLock(this.path);
      return { [Symbol.dispose]: () => lock.release() };
    } catch (error) {
      if (error instanceof StoreError && error.trouble === "it is locked")
        throw new CommandError(EXIT.failed, `${error.message} with --cursor-file`);
      await this.assertWritable();
      throw error;
    }
  }

  /**
   * Undefined if there is no file. Rejects with `CommandError` if the file cannot be read or holds anything
   * but a cursor.
   */
  async read(): Promise<Cursor | undefined> {
    let text: string;
    try {
      text = (await readFile(this.path, "utf8")).trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#trouble("read", error);
    }
    const cursor = parseCursor(text);
    if (cursor !== undefined && isCursorOf(this.#name, cursor)) return cursor;
    throw new CommandError(
      EXIT.failed,
      `${this.path} contains no cursor of ${this.#name}: name another file with --cursor-file, or delete it`,
    );
  }

  /** Rejects with `CommandError` if the file cannot be written. */
  async assertWritable(): Promise<void> {
    try {
      await using _file = await beginFile(this.path);
    } catch (error) {
      throw this.#trouble("written", error);
    }
  }

  /**
   * Replaces the cursor atomically: after a crash, the file holds the old cursor or the new one. Writes are
   * sequential. Rejects with `CommandError`.
   */
  write(cursor: Cursor): Promise<void> {
    this.#written = this.#written.then(() => this.#replace(cursor));
    return this.#written;
  }

  /** Resolves when no write is in progress, whatever became of the last. */
  async settled(): Promise<void> {
    await this.#written.catch(() => {});
  }

  async #replace(cursor: Cursor): Promise<void> {
    try {
      await using file = await beginFile(this.path);
      await writeFile(file.part, `${cursor}\n`, { flush: true });
      await file.finish();
    } catch (error) {
      throw this.#trouble("written", error);
    }
  }

  #trouble(what: "read" | "written", error: unknown): CommandError {
    return new CommandError(EXIT.failed, `${this.path} ${fileTrouble(this.path, what, error)}`);
  }
}
