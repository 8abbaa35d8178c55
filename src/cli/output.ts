/**
 * Writes data to standard output or a file: in whole lines, many at once, and only as fast as its reader
 * takes them.
 */
import { once } from "node:events";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { WriteStream } from "node:tty";
import { fileTrouble } from "../base/file-trouble.ts";

const CHUNK_LENGTH = 65_536;
/** A reader that takes nothing for this long has stalled, in milliseconds. */
const STALLED_MS = 1000;

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

  /** Whether it is a terminal, which text from a chat must not control. */
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

  /**
   * Writes the rest, and closes a file. Does not wait for a reader of standard output that has stalled, and
   * after `stopped` aborts, for none of a named pipe. Rejects with the reason of `failed`.
   */
  async finish(stopped?: AbortSignal): Promise<void> {
    await this.#flush(stopped);
    if (this.#path === undefined) {
      const written = new Promise<void>((resolve) => this.#stream.write("", () => resolve()));
      await Promise.race([written, aborted(this.failed), this.#stalled()]);
    } else {
      const closed = once(this.#stream, "close", { signal: this.failed }).catch(() => {});
      this.#stream.end();
      const isPipe = this.#stream instanceof Socket;
      await Promise.race([
        closed,
        ...(isPipe && stopped ? [aborted(stopped).then(() => this.#stalled())] : []),
      ]);
    }
    this.#failed.signal.throwIfAborted();
  }

  /** Resolves when the reader has taken nothing for a while. */
  async #stalled(): Promise<void> {
    for (let before = ""; before !== this.#left; await aborted(AbortSignal.timeout(STALLED_MS)))
      before = this.#left;
  }

  /** What the reader has not taken yet: a write of Node's can be taken in parts. */
  get #left(): string {
    const { _handle: handle } = this.#stream as { _handle?: { writeQueueSize?: number } | null };
    return `${handle?.writeQueueSize} of ${this.#stream.writableLength}`;
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

/** Writes a text to standard output, unless its reader has left. Rejects with an error that says why. */
export async function print(text: string, stdout: Writable): Promise<void> {
  const output = new Output(stdout);
  try {
    await output.add(text);
    await output.finish();
  } catch (error) {
    if (!(error instanceof ReaderLeft)) throw error;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
