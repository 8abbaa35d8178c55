/**
 * One connection to `/v1/stream`, read by a foreign parser and judged as it is read: cursors grow by one, and
 * nothing follows a terminal frame. It never reconnects by itself: a connection that breaks when a test did
 * not expect it is a failure, not something to be hidden.
 */
import assert from "node:assert/strict";
import type { Init } from "../../src/protocol/chat.ts";
import type { Message } from "../../src/protocol/message.ts";
import { frameParser, type SseFrame, type StreamQuery, streamUrl } from "../harness/clients/sse.ts";
import { Sequence } from "../harness/sequence.ts";
import { Changes } from "./viewers.ts";

export { streamUrl };

export interface Frame {
  event: string;
  /** The `id:` line, unchanged. */
  id: string | undefined;
  data: unknown;
}

export interface Received {
  cursor: number;
  message: Omit<Message, "details"> & { details?: Message["details"] };
}

export interface StreamOptions extends StreamQuery {
  lastEventId?: number | string;
  /** By default what `fetch` accepts, which is gzip among others. */
  acceptEncoding?: string;
}

export class Stream implements AsyncDisposable {
  readonly response: Response;
  /** All frames so far, in order. */
  readonly frames: Frame[] = [];
  readonly comments: string[] = [];
  retryMs: number | undefined;
  /** Everything received, as it came. */
  raw = "";
  readonly #messages: Received[] = [];
  readonly #changes = new Changes();
  readonly #sequence = new Sequence();
  readonly #faults: string[] = [];
  #over = false;
  #failure: unknown;
  readonly #abort: AbortController;
  readonly #reading: Promise<void>;

  static async open(base: string, options: StreamOptions): Promise<Stream> {
    const abort = new AbortController();
    const response = await fetch(streamUrl(base, options), {
      headers: {
        accept: "text/event-stream",
        ...(options.acceptEncoding === undefined ? {} : { "accept-encoding": options.acceptEncoding }),
        ...(options.lastEventId === undefined ? {} : { "last-event-id": String(options.lastEventId) }),
      },
      signal: abort.signal,
    });
    if (response.status !== 200) assert.fail(`the stream did not open: ${await response.text()}`);
    return new Stream(response, abort);
  }

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#reading = this.#read();
  }

  get init(): Init {
    const frame = this.frames.find(({ event }) => event === "init");
    assert.ok(frame, "no init frame yet");
    return frame.data as Init;
  }

  get messages(): Received[] {
    return [...this.#messages];
  }

  get ids(): string[] {
    return this.#messages.map(({ message }) => message.id);
  }

  get cursors(): number[] {
    return this.#messages.map(({ cursor }) => cursor);
  }

  /** What broke the connection, or the reading of it. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Whether the connection has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** Resolves once the condition holds; fails when the connection ends before, or after twenty seconds. */
  async until(condition: () => boolean, what = condition.toString()): Promise<void> {
    let holds = false; // asked once: it may depend on what another process does
    const isSettled = () => {
      holds = condition();
      return holds || this.#over;
    };
    await this.#changes.until(isSettled, what);
    const end = this.#failure ?? JSON.stringify(this.frames.at(-1));
    assert.ok(holds, `the stream ended before: ${what} (${end})`);
    assert.deepEqual(this.#faults, []);
  }

  async untilMessages(count: number): Promise<Received[]> {
    await this.until(() => this.#messages.length >= count, `${count} messages`);
    return this.messages;
  }

  /** Waits for the connection's end, and gives the terminal frame if there was one. */
  async ended(): Promise<Frame | undefined> {
    await this.#reading;
    assert.deepEqual(this.#faults, []);
    const last = this.frames.at(-1);
    return last?.event === "end" || last?.event === "error" ? last : undefined;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#reading;
    assert.deepEqual(this.#faults, []);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #read(): Promise<void> {
    const parser = frameParser({
      frame: (frame) => this.#take(frame),
      comment: (comment) => this.comments.push(comment),
      retry: (retryMs) => {
        this.retryMs = retryMs;
      },
      malformed: (what) => this.#faults.push(what),
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.response.body ?? []) {
        const text = decoder.decode(chunk, { stream: true });
        this.raw += text;
        parser.feed(text);
        this.#changes.announce();
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failure = error;
    }
    this.#over = true;
    this.#changes.announce();
  }

  #take({ event, id, data }: SseFrame): void {
    const frame = { event, id, data: JSON.parse(data) };
    this.frames.push(frame);
    if (event === "message") this.#messages.push({ cursor: Number(id), message: frame.data });
    const fault =
      event === "init"
        ? this.#sequence.begin(frame.data.cursor, undefined)
        : event === "message"
          ? this.#sequence.next(Number(id))
          : this.#sequence.end(event);
    if (fault) this.#faults.push(fault);
  }
}

/** Asserts that cursors follow each other without gap or repeat, starting right after `after`. */
export function assertConsecutive(cursors: readonly number[], after: number): void {
  for (const [i, cursor] of cursors.entries()) assert.equal(cursor, after + 1 + i, `cursor number ${i}`);
}
