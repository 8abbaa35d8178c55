/**
 * Reads the lines of one open stream of the origin. A stream that is silent for three keepalive intervals
 * counts as broken; a pause of this process does not count as silence.
 */
import type { Clock } from "../base/clock.ts";
import { Deadline, unlessAborted } from "../base/deadline.ts";
import { messageOf } from "../base/error-message.ts";
import { LineReader } from "./line-reader.ts";
import { OriginAwayError } from "./origin-refusal.ts";

/** A stream is dead after this many keepalive intervals in which nothing has come. */
export const SILENT_INTERVALS = 3;

export class LineStream implements AsyncIterable<string[]>, Disposable {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #reader = new LineReader();
  readonly #clock: Clock;
  readonly #keepaliveMs: number;
  readonly #cut: () => void;

  /** `cut`: ends the connection. */
  constructor(body: AsyncIterable<Buffer>, clock: Clock, keepaliveMs: number, cut: () => void) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#clock = clock;
    this.#keepaliveMs = keepaliveMs;
    this.#cut = cut;
  }

  [Symbol.dispose](): void {
    this.#cut();
  }

  /**
   * The lines that came together, until the stream ends. A later iteration continues where the last one
   * stopped. Rejects with `OriginAwayError` if the connection breaks or is silent for three keepalive
   * intervals.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<string[], void, void> {
    for (let lines = await this.#next(); lines; lines = await this.#next()) yield lines;
  }

  async #next(): Promise<string[] | undefined> {
    try {
      const { value, done } = await this.#chunk();
      return done ? undefined : this.#reader.read(value);
    } catch (error) {
      if (error instanceof OriginAwayError) throw error;
      throw new OriginAwayError(messageOf(error), error);
    }
  }

  /**
   * It counts intervals instead of the time since the last bytes. So after a pause of this process (a
   * suspended machine), the connection does not count as silent.
   */
  async #chunk(): Promise<IteratorResult<Buffer, undefined>> {
    const chunk = this.#chunks.next();
    for (let intervals = 0; intervals < SILENT_INTERVALS; intervals++) {
      using interval = new Deadline(this.#clock, this.#keepaliveMs);
      try {
        return await unlessAborted(chunk, interval.signal);
      } catch (error) {
        if (!interval.signal.aborted) throw error;
      }
    }
    chunk.catch(() => {}); // the connection is cut, which rejects it
    throw new OriginAwayError(`nothing came for ${SILENT_INTERVALS} keepalive intervals`);
  }
}
