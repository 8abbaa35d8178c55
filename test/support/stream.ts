/**
 * One connection to `/v1/stream`, read by a foreign parser. It never reconnects by itself: a connection that breaks
 * when a test did not expect it is a failure, not something to be hidden.
 */
import assert from "node:assert/strict";
import { createParser } from "eventsource-parser";
import type { Init } from "../../src/protocol/chat.ts";
import type { Message } from "../../src/protocol/message.ts";

export interface Frame {
  event: string;
  /** The `id:` line as it stood. */
  id: string | undefined;
  data: unknown;
}

export interface Received {
  cursor: number;
  message: Omit<Message, "details"> & { details?: Message["details"] };
}

export interface StreamOptions {
  videoId: string;
  backfill?: number | string;
  lastEventId?: number | string;
  details?: boolean;
  /** `lastEventId` of the query. */
  inQuery?: number;
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
  #waiters = new Set<() => void>();
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
    assert.equal(response.status, 200, `the stream did not open: ${response.status}`);
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
    return this.frames
      .filter(({ event }) => event === "message")
      .map(({ id, data }) => ({ cursor: Number(id), message: data as Received["message"] }));
  }

  get ids(): string[] {
    return this.messages.map(({ message }) => message.id);
  }

  get cursors(): number[] {
    return this.messages.map(({ cursor }) => cursor);
  }

  /** What broke the connection, or the reading of it. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Whether the connection has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** Resolves once the condition holds; fails when the connection ends before, or after ten seconds. */
  async until(condition: () => boolean, what = condition.toString()): Promise<void> {
    const limit = AbortSignal.timeout(10_000);
    while (!condition()) {
      assert.ok(!this.#over, `the stream ended before: ${what}${this.#failure ? ` (${this.#failure})` : ""}`);
      assert.ok(!limit.aborted, `not within ten seconds: ${what}; received ${this.frames.length} frames`);
      await new Promise<void>((resolve) => {
        this.#waiters.add(resolve);
        limit.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  async untilMessages(count: number): Promise<Received[]> {
    await this.until(() => this.messages.length >= count, `${count} messages`);
    return this.messages;
  }

  /** Waits for the connection's end, and gives the terminal frame if there was one. */
  async ended(): Promise<Frame | undefined> {
    await this.#reading;
    const last = this.frames.at(-1);
    return last?.event === "end" || last?.event === "error" ? last : undefined;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#reading;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #read(): Promise<void> {
    const parser = createParser({
      onEvent: ({ event = "message", id, data }) => this.frames.push({ event, id, data: JSON.parse(data) }),
      onComment: (comment) => this.comments.push(comment),
      onRetry: (retryMs) => {
        this.retryMs = retryMs;
      },
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.response.body ?? []) {
        const text = decoder.decode(chunk, { stream: true });
        this.raw += text;
        parser.feed(text);
        this.#wake();
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failure = error;
    }
    this.#over = true;
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
  }
}

export function streamUrl(base: string, { videoId, backfill, details, inQuery }: StreamOptions): string {
  const url = new URL("/v1/stream", base);
  url.searchParams.set("videoId", videoId);
  if (backfill !== undefined) url.searchParams.set("backfill", String(backfill));
  if (inQuery !== undefined) url.searchParams.set("lastEventId", String(inQuery));
  if (details) url.searchParams.set("details", "true");
  return url.href;
}

/** Asserts that cursors follow each other without gap or repeat, starting right after `after`. */
export function assertConsecutive(cursors: readonly number[], after: number): void {
  for (const [i, cursor] of cursors.entries()) assert.equal(cursor, after + 1 + i, `cursor number ${i}`);
}
