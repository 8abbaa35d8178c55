/** A file that holds a cursor, so that a command can continue after any kind of end. */
import { open, readFile, rename } from "node:fs/promises";
import { parseVideoId } from "../../protocol/video-id.ts";
import { CommandError } from "./session.ts";

export class CursorFile {
  readonly path: string;
  #written = Promise.resolve();

  /**
   * Without a path, the file is named after the video. Throws `RelayError` if `video` is not a valid video id
   * or URL.
   */
  constructor(path: string | undefined, video: string) {
    this.path = path ?? `${parseVideoId(video)}.cursor`;
  }

  /** Undefined if there is no file. Rejects with `CommandError` if the file holds anything but a cursor. */
  async read(): Promise<number | undefined> {
    let text: string;
    try {
      text = (await readFile(this.path, "utf8")).trim();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    if (!/^\d{1,15}$/.test(text))
      throw new CommandError(
        1,
        `${this.path} contains no cursor: name another file with --cursor-file, or delete it`,
      );
    return Number(text);
  }

  /**
   * Replaces the cursor atomically: after a crash, the file holds the old cursor or the new one. Writes are
   * sequential.
   */
  write(cursor: number): Promise<void> {
    this.#written = this.#written.then(() => this.#replace(cursor));
    return this.#written;
  }

  async #replace(cursor: number): Promise<void> {
    const part = `${this.path}.part`;
    const file = await open(part, "w");
    try {
      await file.writeFile(`${cursor}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, this.path);
  }
}
