/**
 * Writes data to standard output or a file: in whole lines, many at once, and only as fast as its reader
 * takes them.
 */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { WriteStream } from "node:tty";
import { fileTrouble } from "../../file-trouble.ts";

const CHUNK_LENGTH = 65_536;
/** Time limit of the last write if its reader does not take it, in milliseconds. */
const LAST_WRITE_MS = 1000;

/** The reader of the pipe has left (EPIPE, on Windows also EOF); this is not a failure. */
export class ReaderLeft extends Error {
  override readonly name = "ReaderLeft";
}

export class Output {
  readonly #stream: Writable;
  readonly #path: string | undefined;
  readonly #failed = new AbortController();
  #waiting = "";
  #isFlushDue = false;

  /** `path`: the path of a file; undefined for standard output, which stays open. */
  constructor(stream: Writable, path?: string) {
    this.#stream = stream;
    this.#path = path;
    stream.on("error", (error) => this.#fail(error));
  }

  /** Text from a chat must not control a terminal. */
  get isTerminal(): boolean {
    return this.#stream instanceof WriteStream;
  }

  /** Aborts when writing becomes impossible. Its reason is `ReaderLeft`, or an error that says why. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /**
   * Resolves when there is room for more, or `stopped` aborts. Rejects with the reason of `failed`. `lines`
   * ends with a line break.
   */
  async add(lines: string, stopped?: AbortSignal): Promise<void> {
    this.#failed.signal.throwIfAborted();
    this.#waiting += lines;
    const isFull = this.#waiting.length >= CHUNK_LENGTH || this.#stream.writableNeedDrain;
    if (isFull) return this.#flush(stopped);
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    setImmediate(() => {
      this.#isFlushDue = false;
      this.#flush().catch(() => {}); // `failed` reports it
    });
  }

  /** Writes the rest, and closes a file. Rejects with the reason of `failed`. */
  async finish(): Promise<void> {
    await this.#flush();
    if (this.#path === undefined) {
      const written = new Promise<void>((resolve) => this.#stream.write("", () => resolve()));
      await Promise.race([
        written,
        aborted(AbortSignal.any([this.failed, AbortSignal.timeout(LAST_WRITE_MS)])),
      ]);
    } else {
      const closed = once(this.#stream, "close", { signal: this.failed }).catch(() => {});
      this.#stream.end();
      await closed;
    }
    this.#failed.signal.throwIfAborted();
  }

  async #flush(stopped = this.failed): Promise<void> {
    this.#failed.signal.throwIfAborted();
    if (this.#waiting === "") return;
    const lines = this.#waiting;
    this.#waiting = "";
    try {
      if (this.#stream.write(lines)) return;
    } catch (error) {
      this.#fail(error); // standard output to a file fails at once
    }
    const signal = AbortSignal.any([this.failed, stopped]);
    await once(this.#stream, "drain", { signal }).catch(() => {});
    this.#failed.signal.throwIfAborted();
  }

  #fail(error: unknown): void {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EPIPE" || code === "EOF") this.#failed.abort(new ReaderLeft());
    else {
      const place = this.#path ?? "standard output";
      const why = `${place} ${fileTrouble(place, "written", error)}`;
      this.#failed.abort(new Error(why, { cause: error }));
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
