/**
 * One chat across all its connections. Its events wait in one queue of about a thousand entries at most, and
 * leave it in the order of the stream: to the loop when it asks, or to listeners at once if there is no loop.
 */
import type { MessageType } from "../src/protocol/kinds.ts";
import { type Clock, systemClock } from "./clock.ts";
import { ChatError } from "./error.ts";
import { selectTypes } from "./selection.ts";
import { chunksOf, orNetworkError, Service, withQuery } from "./service.ts";
import { type Frame, FrameReader } from "./sse.ts";
import type {
  BareMessageOf,
  Chat,
  ChatEvents,
  ChatOptions,
  End,
  Gap,
  Init,
  Message,
  MessageOf,
  State,
  TypeOrGroup,
  TypesIn,
} from "./types.ts";
import { Retries } from "./waiting.ts";

const READ_AHEAD = 1000;
const DEFAULT_IDLE_MS = 45_000;
/** A stream that was open for this long does not count as a failure, even if it brought nothing. */
const STABLE_MS = 5000;

/**
 * The chat of a video, not connected yet. Throws `TypeError` for an unusable URL or a missing `videoId`. The
 * loop throws `ChatError` if the service refuses the chat or the chat fails, and the signal's reason.
 */
export function chat<D extends boolean = false, T extends TypeOrGroup = MessageType>(
  url: string | URL,
  options: ChatOptions<D, T>,
): Chat<MessageOf<TypesIn<T> | "gap", D>> {
  return chatBy(systemClock, url, options) as Chat<never>;
}

/** `chat` with an injected clock. */
export function chatBy(clock: Clock, url: string | URL, options: ChatOptions): Chat {
  return new Room(new Service(url, options, clock), options, clock);
}

type Listeners = { [E in keyof ChatEvents]: Set<(value: ChatEvents[E]) => void> };
type Emission = { [E in keyof ChatEvents]: [event: E, value: ChatEvents[E]] }[keyof ChatEvents];
/** `passed`: all messages up to this cursor are unwanted; when its turn comes, it moves the room's cursor. */
type Entry = Emission | ["passed", cursor: number];

class Room implements Chat {
  cursor: number | undefined;
  state: State = "connecting";
  end: End | undefined;
  readonly #service: Service;
  readonly #options: ChatOptions;
  readonly #clock: Clock;
  readonly #retries: Retries;
  readonly #isWanted: (type: string) => boolean;
  readonly #listeners: Listeners = {
    message: new Set(),
    init: new Set(),
    gap: new Set(),
    state: new Set(),
    end: new Set(),
    error: new Set(),
  };
  /** Events that have arrived and were not yet handed out. */
  readonly #queue: Entry[] = [];
  /** Callers that wait for the queue to change or for the end. */
  #waiting: (() => void)[] = [];
  /** Aborts the current connection, or the wait before the next one. */
  #connection = new AbortController();
  #isStarted = false;
  /** A loop has asked for messages, so the loop sets the pace. */
  #isPulled = false;
  #wasOpen = false;
  /** The cursor up to which everything has arrived. */
  #received: number | undefined;
  /** The wait before a reconnect that the stream asks for (SSE `retry`), in milliseconds. */
  #retryMs: number | undefined;
  /** The error that loops throw at the end. */
  #failure: { error: unknown } | undefined;

  constructor(service: Service, options: ChatOptions, clock: Clock) {
    this.#service = service;
    this.#options = options;
    this.#clock = clock;
    this.#retries = new Retries(options, clock);
    this.#isWanted = selectTypes(options.types);
    if (Number.isSafeInteger(options.cursor)) this.cursor = this.#received = options.cursor;
  }

  on<E extends keyof ChatEvents>(event: E, listener: (value: ChatEvents[E]) => void): () => void {
    const added = (value: ChatEvents[E]) => listener(value); // the same listener may be added twice
    this.#listeners[event].add(added);
    if (event === "message") this.#start();
    return () => {
      this.#listeners[event].delete(added);
    };
  }

  close(): void {
    this.#finish();
  }

  [Symbol.asyncIterator](): AsyncIterator<Message, undefined> {
    let isDone = false;
    const next = async (): Promise<IteratorResult<Message, undefined>> => {
      this.#isPulled = true;
      this.#start();
      while (!isDone) {
        const waiting = this.#queue.shift();
        if (waiting) {
          this.#handOut(waiting);
          if (waiting[0] === "message") return { value: waiting[1], done: false };
        } else if (this.state !== "closed") {
          await this.#change();
        } else {
          isDone = true;
          if (this.#failure) throw this.#failure.error;
        }
      }
      return { value: undefined, done: true };
    };
    const leave = async (): Promise<IteratorResult<Message, undefined>> => {
      isDone = true;
      this.close();
      return { value: undefined, done: true };
    };
    return { next, return: leave };
  }

  /** Starts in a microtask, so that a caller that adds several listeners misses nothing. */
  #start(): void {
    queueMicrotask(() => {
      this.#push();
      if (this.#isStarted) return;
      this.#isStarted = true;
      this.#run().catch((error) => this.#enqueue("error", error));
    });
  }

  async #run(): Promise<void> {
    if (this.#isClosed()) return;
    const { signal } = this.#options;
    signal?.addEventListener("abort", this.#abort);
    if (signal?.aborted) this.#abort();
    else this.#emit("state", this.state);
    while (!this.#isClosed()) {
      const connection = new AbortController();
      this.#connection = connection;
      const failure = await this.#follow(connection).catch((error: unknown) => ({ error }));
      if (!failure || this.#isClosed()) return;
      const { error } = failure;
      const waitMs = error instanceof ChatError ? this.#retries.fail(error, this.#retryMs) : undefined;
      if (waitMs === undefined) throw error;
      if (this.#isClosed()) return;
      this.#setState(this.#wasOpen ? "reconnecting" : "connecting");
      this.#connection = new AbortController();
      await this.#clock.sleep(waitMs, this.#connection.signal).catch(() => {}); // the chat was closed during the wait
    }
  }

  /** One connection: resolves at the end of the chat, and rejects with any other reason for which it ends. */
  async #follow(connection: AbortController): Promise<void> {
    const { backfill, details, types, until, idleMs = DEFAULT_IDLE_MS } = this.#options;
    const { signal } = connection;
    const asked = this.#received;
    const { videoId } = this.#service;
    const path = withQuery("v1/stream", { videoId, backfill, details, types, until });
    const headers = {
      accept: "text/event-stream",
      ...(asked !== undefined && { "last-event-id": `${asked}` }),
    };
    const idle = new ChatError("NETWORK", `No byte has come for ${idleMs} ms.`);
    const whileNotIdle = <T>(work: Promise<T>): Promise<T> => {
      const read = new AbortController();
      this.#clock.sleep(idleMs, read.signal).then(
        () => connection.abort(idle),
        () => {},
      );
      return orNetworkError(() => work, signal, "The connection was cut.").finally(() => read.abort("done"));
    };

    const response = await whileNotIdle(this.#service.request(path, { headers }, signal));
    const openedAt = this.#clock.monotonic();
    const frames = new FrameReader();
    try {
      if (!/^text\/event-stream\b/i.test(response.headers.get("content-type") ?? ""))
        throw new ChatError("HTTP", "The answer is not an event stream.", { status: response.status });
      this.#wasOpen = true;
      this.#setState("open");
      for await (const bytes of chunksOf(response, whileNotIdle)) {
        for (const frame of frames.read(bytes)) {
          if (this.#take(frame, asked)) return;
          while (this.#queue.length >= READ_AHEAD && !signal.aborted) await this.#change();
          signal.throwIfAborted();
        }
      }
    } finally {
      connection.abort();
      this.#retryMs = frames.retryMs ?? this.#retryMs;
      if (this.#wasOpen && this.#clock.monotonic() - openedAt >= STABLE_MS) this.#retries.succeed();
    }
    throw new ChatError("NETWORK", "The connection was cut.");
  }

  /** Queues the events of a frame. Returns true if it is the last frame. */
  #take({ event, data, id }: Frame, asked: number | undefined): boolean {
    if (event === "init") {
      const init: Init = parse(data, "cursor", "number");
      this.#received = init.cursor;
      this.#enqueue("init", init);
      if (asked && asked !== init.cursor) this.#enqueue("gap", { after: asked, cursor: init.cursor });
    } else if (event === "message") {
      this.#receive(Number(id), parse(data, "type", "string"));
    } else if (event === "") {
      this.#receive(Number(id));
    } else if (event === "end") {
      this.#enqueue("end", parse(data, "reason", "string"));
      return true;
    } else if (event === "error") {
      const { code, message } = parse(data, "code", "string");
      throw new ChatError(code, message);
    }
    return false;
  }

  /** `message` is absent if the service sent the cursor alone: it has left out unwanted messages up to it. */
  #receive(cursor: number, message?: BareMessageOf<MessageType> & { details?: Gap["details"] }): void {
    if (!(cursor > (this.#received ?? 0))) return;
    this.#received = cursor;
    this.#retries.succeed();
    if (message?.type === "gap") {
      const { details } = message;
      this.#enqueue("gap", { after: cursor - 1, cursor, ...(details && { details }) });
    }
    if (message && this.#isWanted(message.type)) this.#enqueue("message", { cursor, ...message });
    else this.#pass(cursor);
  }

  #pass(cursor: number): void {
    const last = this.#queue.at(-1);
    if (last?.[0] === "passed") last[1] = cursor;
    else this.#enqueue("passed", cursor);
  }

  #enqueue(...entry: Entry): void {
    if (this.#isClosed()) return;
    this.#queue.push(entry);
    this.#wake();
    this.#push();
  }

  /** Without a loop, hands the queue to the listeners; messages wait until there is a `message` listener. */
  #push(): void {
    while (!this.#isPulled) {
      const [waiting] = this.#queue;
      if (!waiting || (waiting[0] === "message" && this.#listeners.message.size === 0)) return;
      this.#queue.shift();
      this.#handOut(waiting);
    }
  }

  #handOut(entry: Entry): void {
    if (entry[0] === "passed") this.cursor = entry[1];
    else this.#tell(entry);
    this.#wake();
  }

  #tell(emission: Emission): void {
    const [event, value] = emission;
    if (event === "message" || event === "init") this.cursor = value.cursor;
    if (event === "end") this.end = value;
    this.#emit(...emission);
    if (event === "error") {
      if (!this.#isPulled && this.#listeners.error.size === 0) reportUncaught(value);
      this.#finish({ error: value });
    }
    if (event === "end") this.#finish();
  }

  #emit(...[event, value]: Emission): void {
    for (const listener of [...this.#listeners[event]] as ((value: unknown) => void)[]) {
      try {
        listener(value);
      } catch (error) {
        reportUncaught(error);
      }
    }
  }

  #setState(state: State): void {
    if (this.state === state) return;
    this.state = state;
    this.#emit("state", state);
  }

  #isClosed(): boolean {
    return this.state === "closed";
  }

  readonly #abort = (): void => this.#finish({ error: this.#options.signal?.reason });

  /** Frees every timer, socket and listener, and drops all that is still queued. */
  #finish(failure?: { error: unknown }): void {
    if (this.#isClosed()) return;
    this.#failure = failure;
    this.#queue.length = 0;
    this.#options.signal?.removeEventListener("abort", this.#abort);
    this.#setState("closed");
    this.#connection.abort();
    this.#wake();
  }

  /** Resolves when the queue has grown or shrunk, or the chat is closed. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** The frame's data: an object with a field `name` of this type. Anything else is not the service's. */
function parse(data: string, name: string, type: "number" | "string") {
  let cause: unknown;
  try {
    const value = JSON.parse(data);
    if (typeof value?.[name] === type) return value;
  } catch (error) {
    cause = error;
  }
  throw new ChatError("NETWORK", "A frame could not be read.", { cause });
}

/** Throws the error where nobody can catch it. */
function reportUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
