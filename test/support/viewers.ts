/**
 * Viewers over all their connections: whatever breaks, they resume with the last cursor they have, one kind by
 * the test's hand, the other by the foreign client's own. What they are sent is judged as it comes.
 */
import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import type { Init } from "../../src/protocol/chat.ts";
import { Stream, type StreamOptions, streamUrl } from "./stream.ts";

/** How long a viewer may wait for what it is due. */
const PATIENCE_MS = 10_000;

/** All that one viewer was sent. Its first init says where it begins; from there on nothing may be missing. */
export class History {
  readonly messages: { cursor: number; id: string; data: string }[] = [];
  /** What was wrong, in words. */
  readonly faults: string[] = [];
  /** The cursor of the first init. */
  start: number | undefined;
  #cursor = -1;
  #waiters: (() => void)[] = [];

  /** The cursor of the last message, or of the init before it. */
  get cursor(): number {
    return this.#cursor;
  }

  /** `resumedFrom`: the `Last-Event-ID` that was sent; a client that has no message yet sends none and begins anew. */
  begin({ cursor }: Init, resumedFrom: number | undefined): void {
    const due = resumedFrom ?? (this.messages.length > 0 ? this.#cursor : cursor);
    if (cursor !== due) this.faults.push(`begins after ${cursor}, resumed from ${due}`);
    this.start ??= cursor;
    this.#cursor = cursor;
    this.#wake();
  }

  add(cursor: number, data: string): void {
    if (cursor !== this.#cursor + 1) this.faults.push(`${cursor} follows ${this.#cursor}`);
    this.#cursor = cursor;
    this.messages.push({ cursor, id: JSON.parse(data).id, data });
    this.#wake();
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const limit = AbortSignal.timeout(PATIENCE_MS);
    const onLimit = () => this.#wake();
    limit.addEventListener("abort", onLimit);
    while (!condition()) {
      assert.ok(
        !limit.aborted,
        `not in time: ${what}; at ${this.#cursor}, faults: ${this.faults.join(", ")}`,
      );
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
    limit.removeEventListener("abort", onLimit);
  }

  #wake(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }
}

/** A viewer whose connections come and go while it stays the same. */
export interface Viewer {
  readonly history: History;
  /** Resolves once it has everything up to the cursor. */
  reached(cursor: number): Promise<void>;
  /** Breaks the connection. */
  sleep(): Promise<void>;
  /** Connects again, with the last cursor. */
  wake(): Promise<void>;
  /** Goes for good. */
  leave(): Promise<void>;
}

type Query = Pick<StreamOptions, "videoId" | "backfill" | "details">;

/** Successive `Stream`s, each opened where the one before stood. One that ends unasked is a fault. */
export class StreamViewer implements Viewer {
  readonly history = new History();
  readonly #base: () => string;
  readonly #query: Query;
  #stream: Stream;
  #taken = 0;

  static async open(base: () => string, query: Query): Promise<StreamViewer> {
    const viewer = new StreamViewer(base, query, await Stream.open(base(), query));
    await viewer.#begun(undefined);
    return viewer;
  }

  private constructor(base: () => string, query: Query, stream: Stream) {
    this.#base = base;
    this.#query = query;
    this.#stream = stream;
  }

  async reached(cursor: number): Promise<void> {
    await this.#stream.until(() => {
      this.#take();
      return this.history.cursor >= cursor;
    }, `cursor ${cursor}`);
  }

  async sleep(): Promise<void> {
    this.#take();
    if (this.#stream.over) this.history.faults.push("the connection ended unasked");
    await this.#stream.close();
    this.#take();
  }

  async wake(): Promise<void> {
    const lastEventId = this.history.cursor;
    this.#taken = 0;
    this.#stream = await Stream.open(this.#base(), { ...this.#query, lastEventId });
    await this.#begun(lastEventId);
  }

  /** Waits for the server's end of the connection. */
  async ended(): Promise<void> {
    await this.#stream.ended();
    this.#take();
  }

  async leave(): Promise<void> {
    if (!this.#stream.over) await this.sleep();
  }

  async #begun(lastEventId: number | undefined): Promise<void> {
    await this.#stream.until(() => this.#stream.frames.length > 0, "init");
    this.history.begin(this.#stream.init, lastEventId);
    this.#take();
  }

  #take(): void {
    const { messages } = this.#stream;
    for (const { cursor, message } of messages.slice(this.#taken))
      this.history.add(cursor, JSON.stringify(message));
    this.#taken = messages.length;
  }
}

/** The foreign client: it reconnects by itself. Its waits are scaled down, on the wire, from 3000 ms to 1. */
export class EventSourceViewer implements Viewer {
  readonly history = new History();
  #connections = 0;
  /** Connections that the test has caused. */
  #due = 1;
  /** Connections on which an init has come. */
  #begun = 0;
  #sentId: number | undefined;
  #cut = new AbortController();
  #awake = Promise.withResolvers<void>();
  readonly #source: EventSource;

  /** `base` may keep a connection waiting. */
  constructor(base: () => string | Promise<string>, query: Query) {
    this.#awake.resolve();
    this.#source = new EventSource(streamUrl("http://relay.invalid", query), {
      fetch: async (_url, init) => {
        await this.#awake.promise;
        const url = streamUrl(await base(), query);
        this.#connections += 1;
        this.#cut = new AbortController();
        const sent = init.headers["Last-Event-ID"];
        this.#sentId = sent === undefined ? undefined : Number(sent);
        const signal = AbortSignal.any([init.signal, this.#cut.signal]);
        return hurried(await fetch(url, { headers: init.headers, signal }));
      },
    });
    this.#source.addEventListener("init", ({ data }) => {
      this.#begun += 1;
      this.history.begin(JSON.parse(data), this.#sentId);
    });
    this.#source.addEventListener("message", ({ data, lastEventId }) => {
      this.history.add(Number(lastEventId), data);
    });
    this.#source.addEventListener("end", ({ data }) => this.history.faults.push(`an end frame: ${data}`));
    this.#source.addEventListener("error", ({ code }) => {
      if (code !== undefined) this.history.faults.push(`the connection was refused with ${code}`);
    });
  }

  async reached(cursor: number): Promise<void> {
    await this.history.until(() => this.history.cursor >= cursor, `cursor ${cursor}`);
  }

  /** How often it has connected without the test's doing. */
  get strayConnections(): number {
    return this.#connections - this.#due;
  }

  /** Resolves once the connection that the test has caused is a stream. */
  async opened(): Promise<void> {
    await this.history.until(() => this.#begun >= this.#due, "init");
  }

  async sleep(): Promise<void> {
    await this.opened();
    this.#awake = Promise.withResolvers<void>();
    this.#cut.abort(new Error("cut by the test"));
  }

  async wake(): Promise<void> {
    this.#due += 1;
    this.#awake.resolve();
    await this.opened();
  }

  async leave(): Promise<void> {
    this.#source.close();
    this.#awake.resolve();
  }
}

/** The response with the reconnection time scaled down, without the cost of a stream in between. */
function hurried(response: Response) {
  const reader = response.body?.getReader();
  let isFirst = true;
  const read = async () => {
    const next = await (reader?.read() ?? { done: true as const });
    if (next.done || !isFirst) return next;
    isFirst = false;
    const text = Buffer.from(next.value).toString("latin1");
    assert.match(text, /^retry: 3000\n\n/);
    return { done: false as const, value: Buffer.from(text.replace("retry: 3000", "retry: 1"), "latin1") };
  };
  const cancel = async () => reader?.cancel();
  return {
    status: response.status,
    url: response.url,
    redirected: response.redirected,
    headers: response.headers,
    body: { getReader: () => ({ read, cancel }) },
  };
}

/**
 * Asserts that a viewer was sent exactly the room's sequence from where it began: `ids` are all that were ever said,
 * the first of them under the cursor after `base`. `texts` holds what others were sent under the same cursors.
 */
export function assertExact(
  { messages, faults }: History,
  base: number,
  ids: readonly string[],
  texts = new Map<number, string>(),
): void {
  assert.deepEqual(faults, []);
  const from = (messages[0]?.cursor ?? base + 1) - base - 1;
  assert.ok(from >= 0, "a cursor from before the room");
  assert.deepEqual(
    messages.map(({ id }) => id),
    ids.slice(from, from + messages.length),
  );
  for (const { cursor, data } of messages) {
    assert.equal(data, texts.get(cursor) ?? data, `cursor ${cursor} is not the same for all`);
    texts.set(cursor, data);
  }
}
