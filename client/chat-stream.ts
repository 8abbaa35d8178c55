/**
 * One stream across all its connections, of one chat or several. Its events wait in one queue of about a
 * thousand entries at most, and leave it in the order of the stream: to the loop when it asks, or to
 * listeners at once if there is no loop.
 */

import { ChatError, FINAL_FOR_CHAT } from "./chat-error.ts";
import { foreignAnswer, orNetworkError, parseJson, Service, withQuery } from "./relay-service.ts";
import { Retries } from "./retries.ts";
import type { Clock } from "./sdk-clock.ts";
import { isWanted, knownNames } from "./selection.ts";
import { type Frame, FrameReader } from "./sse.ts";
import { type ChatCursor, type Cursors, moveTo, type Stream, VIDEO } from "./stream-table.ts";
import type {
  AnyEvents,
  AnyMessage,
  AnyOptions,
  Chat,
  DeadChat,
  Gap,
  InitOfSeveral,
  Message,
  State,
} from "./types.ts";

const READ_AHEAD = 1000;
/** A stream that was open for this long does not count as a failure, even if it brought nothing. */
const STABLE_MS = 5000;
/** By event, a field that its data have. A message of another service may lack one, but then has an id. */
const FIELDS: Record<string, string> = {
  init: "cursor",
  message: "type",
  channel: "state",
  end: "reason",
  error: "code",
};

type Emission = { [E in keyof AnyEvents]: [event: E, value: AnyEvents[E]] }[keyof AnyEvents];
/**
 * An entry of the queue. When it is handed out, the stream's cursor moves to its `place`. `passed`: all
 * messages since the last place were excluded by `types`. `dead`: one of several chats cannot be read any
 * more. `over`: the last chat is over.
 */
type Entry =
  | [...Emission, place?: ChatCursor]
  | ["passed", value: undefined, place: ChatCursor]
  | ["dead", value: ChatError, place?: ChatCursor]
  | ["over"];

export class ChatStream implements Chat<Message, number | string, AnyEvents> {
  state: State = "connecting";
  end: AnyEvents["end"] | undefined;
  readonly #stream: Stream;
  readonly #clock: Clock;
  readonly #service: Service;
  readonly #options: AnyOptions;
  readonly #retries: Retries;
  /** As `knownNames` returns them. */
  readonly #types: string[];
  readonly #listeners = new Set<[event: keyof AnyEvents, listener: (value: never) => void]>();
  /** Events that have arrived and were not yet handed out. */
  readonly #queue: Entry[] = [];
  /** Callers that wait for the queue to change or for the end. */
  #waiting: (() => void)[] = [];
  /** Aborts the current connection, or the wait before the next connection. */
  #connection: AbortController | undefined;
  #running: Promise<void> | undefined;
  /** Whether a loop has asked for messages. Then the loop sets the pace. */
  #isPulled = false;
  #wasOpen = false; // once it is true, the next connection is a reconnect
  /** The cursors up to which everything has arrived, and up to which everything was handed out. */
  readonly #received: Cursors = new Map();
  readonly #handed: Cursors;
  /** The chats that are over, and those that began on this connection: an error of theirs is final. */
  readonly #over = new Set<ChatCursor[0]>();
  readonly #begun = new Set<ChatCursor[0]>();
  /** The wait before a reconnect that the stream asks for (SSE `retry`), in milliseconds. */
  #retryMs: number | undefined;
  /** How many streams in a row were asked for and brought no byte within `idleMs`. */
  #silences = 0;
  /** The error that loops throw at the end. */
  #failure: { error: unknown } | undefined;

  /** Throws `TypeError` for an unusable URL or cursor, or if the stream's option lacks a usable name. */
  constructor(stream: Stream, clock: Clock, url: string | URL, options: AnyOptions) {
    this.#stream = stream;
    this.#clock = clock;
    this.#service = new Service(url, options, clock, stream);
    this.#options = options;
    this.#retries = new Retries(options, clock);
    this.#types = knownNames(options.types);
    const { names } = this.#service;
    const asked = `${options.cursor ?? ""}`;
    for (const place of stream.parse(asked, names)) if (hasCursor(place)) moveTo(this.#received, place);
    if (`${stream.format(this.#received, names) ?? ""}` !== asked)
      throw new TypeError(`cursor: ${asked} is invalid.`);
    for (const place of Object.entries(options.cursors ?? {})) {
      if (!hasCursor(place)) throw new TypeError(`cursors: ${place.join(": ")} is invalid.`);
      if (options.channels || names.includes(place[0])) moveTo(this.#received, place);
    }
    this.#handed = new Map(this.#received);
  }

  get cursor(): number | string | undefined {
    return this.#stream.format(this.#handed, this.#service.names);
  }

  get cursors(): Record<string, number> {
    return Object.fromEntries([...this.#handed].filter(hasCursor));
  }

  on<E extends keyof AnyEvents>(event: E, listener: (value: AnyEvents[E]) => void): () => void {
    const added: [E, typeof listener] = [event, listener]; // the same listener may be added twice
    this.#listeners.add(added);
    if (event === "message") this.#start();
    return () => {
      this.#listeners.delete(added);
    };
  }

  close(): void {
    this.#finish();
  }

  [Symbol.asyncIterator](): AsyncIterator<Message, undefined> {
    let isDone = false;
    return {
      next: async () => {
        this.#isPulled = true;
        this.#start();
        while (!isDone) {
          const waiting = this.#queue.shift();
          if (waiting) {
            this.#handOut(waiting);
            const [event, value] = waiting;
            if (event === "message") return { value, done: false };
            if (event === "dead" && !this.#listenersOf("error")[0])
              return { value: this.#messageOf(value) as never, done: false };
          } else if (!this.#isClosed()) {
            await this.#change();
          } else {
            isDone = true;
            if (this.#failure) throw this.#failure.error;
          }
        }
        return { value: undefined, done: true };
      },
      return: async () => {
        isDone = true;
        this.close();
        return { value: undefined, done: true };
      },
    };
  }

  /** The end of one of several chats as a message of the loop. */
  #messageOf(error: ChatError): DeadChat {
    const { videoId, message } = error;
    const cursor = this.#handed.get(videoId) ?? 0;
    return {
      id: "",
      timestamp: "",
      author: "",
      amount: "",
      color: "",
      parts: [],
      details: {},
      videoId: videoId as string,
      cursor,
      type: "error",
      message,
      error,
    };
  }

  /** Starts in a microtask, so that a caller that adds several listeners misses nothing. */
  #start(): void {
    queueMicrotask(() => {
      this.#push();
      this.#running ??= this.#run().catch((error) => this.#enqueue("error", error));
    });
  }

  async #run(): Promise<void> {
    if (this.#isClosed()) return;
    const { signal } = this.#options;
    signal?.addEventListener("abort", this.#abort);
    if (signal?.aborted) this.#abort();
    else this.#emit("state", this.state);
    while (!this.#isClosed()) {
      let waitMs: number;
      try {
        await this.#follow();
        return this.#enqueue("over");
      } catch (error) {
        if (this.#isClosed()) return;
        waitMs = this.#retries.fail(error, this.#retryMs);
      }
      if (this.#isClosed()) return;
      this.#connection = new AbortController(); // before the listeners, which may close the chat
      this.#setState(this.#wasOpen ? "reconnecting" : "connecting");
      await this.#clock.sleep(waitMs, this.#connection.signal).catch(() => {}); // closed meanwhile
    }
  }

  /** One connection: resolves at the end of the last chat, and rejects if it ends for any other reason. */
  async #follow(): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    const { signal } = connection;
    const { channels, cursors, transport, idleMs = 45_000, backfill, details, until, chat } = this.#options;
    const { path, option, format } = this.#stream;
    const names = this.#service.names.filter((name) => !this.#over.has(name));
    const id = format(this.#received, names);
    const query = {
      [option]: names.filter((name) => !channels?.includes(name)),
      channels: names.filter((name) => channels?.includes(name)),
      cursors: channels && JSON.stringify(cursors)?.replace(/[{"}]/g, ""),
      backfill,
      details,
      types: this.#types,
      until,
      chat,
    };
    const headers = { accept: "text/event-stream", "last-event-id": id as string };
    this.#begun.clear();
    // -1: this one is not silent.
    let silences = this.#silences;
    this.#silences = 0;
    this.#service.isSent = false;
    const whileNotIdle = <T>(work: Promise<T>): Promise<T> => {
      const read = new AbortController();
      this.#clock.sleep(idleMs, read.signal).then(
        () => {
          if (this.#service.isSent) this.#silences = silences + 1;
          connection.abort(new ChatError("NETWORK", `No byte for ${idleMs} ms.`));
        },
        () => {},
      );
      return work.finally(() => read.abort());
    };

    // After three silences, the log is read in place of the streams if the service is there.
    if (transport ? transport === "log" : silences > 2 && this.#stream === VIDEO) {
      silences = -1;
      await whileNotIdle(
        import("./log-stream.ts").then(
          (log) => log.useLog(this.#service, signal, transport),
          () => {}, // it is not there, and in a page neither is the service: the stream remains
        ),
      );
      silences = 0;
    }
    const response = await whileNotIdle(this.#service.request(withQuery(path, query), signal, headers));
    const openedAt = this.#clock.monotonic();
    const frames = new FrameReader();
    const body = response.body?.getReader();
    try {
      if (!/event-stream/i.test(response.headers.get("content-type") as string))
        throw foreignAnswer(response.status);
      this.#wasOpen = true;
      this.#setState("open");
      while (body) {
        const { done, value } = await whileNotIdle(
          orNetworkError(() => body.read(), signal, "The connection was cut."),
        );
        if (done) break;
        silences = -1;
        for (const frame of frames.read(value)) {
          if (this.#take(frame, names, `${id}`)) return;
          while (this.#queue.length >= READ_AHEAD && !signal.aborted) await this.#change();
          signal.throwIfAborted();
        }
      }
    } finally {
      connection.abort();
      body?.cancel().catch(() => {}); // it may have failed already
      this.#retryMs = frames.retryMs ?? this.#retryMs;
      if (this.#clock.monotonic() - openedAt >= STABLE_MS) this.#retries.succeed();
    }
    throw new ChatError("NETWORK", "The connection was cut.");
  }

  /** Queues the events of a frame. Returns true if no chat is left. `asked`: the id that was sent. */
  #take({ event, data, id }: Frame, names: readonly string[], asked: string): boolean {
    const field = FIELDS[event];
    const value = parseJson(data); // undefined if the id is alone
    const { channel, videoId = channel, code, message } = value ?? {};
    const isMessage = event === "message";
    const places = isMessage || !event ? this.#stream.parse(id, names).filter(hasCursor) : [];
    const isOdd = field && (value?.[field] ?? value?.id) === undefined;
    if (isOdd || (isMessage && !places.some((place) => place[0] === videoId)))
      throw new ChatError("NETWORK", "A frame cannot be read.");
    if (event === "init") this.#begin(value, asked);
    // Nobody listens to events that this version does not know.
    if (!isMessage && event && event !== "init" && event !== "error")
      this.#enqueue(event as "channel", value);
    if (event === "end") this.#over.add(videoId);
    if (event === "error") {
      const error = new ChatError(code, message, videoId && { videoId });
      if (!videoId) throw error;
      const isFinal = this.#begun.has(videoId) || FINAL_FOR_CHAT.includes(code);
      // A channel is asked for again if it is named in another form than the service's.
      if (!this.#over.has(videoId)) this.#enqueue(isFinal ? "dead" : event, error);
      if (isFinal) this.#over.add(videoId);
    }
    for (const place of places) this.#receive(place, place[0] === videoId ? value : undefined);
    return this.#over.size >= this.#service.names.length;
  }

  #begin(init: InitOfSeveral, asked: string): void {
    const videoId = this.#stream === VIDEO ? undefined : init.videoId;
    const known = this.#received.get(videoId);
    const isAsked = asked.includes(videoId ?? "") || this.#service.names.includes(init.videoId);
    // Another video of a channel may begin with messages that have arrived already.
    const cursor = isAsked ? init.cursor : Math.max(init.cursor, known ?? 0);
    this.#over.delete(videoId);
    this.#begun.add(videoId);
    const place = [videoId, cursor, init.channel] as const;
    // Without a cursor it would get another backfill.
    // Test: "resumes after its init if no message has come yet".
    moveTo(this.#received, place, true);
    this.#enqueue("init", init, place);
    if (known && known !== cursor) this.#reportGap(videoId, known, cursor);
  }

  /**
   * `message` is absent if the service sent the cursor alone: it has left out unwanted messages up to this
   * cursor.
   */
  #receive(place: ChatCursor, message?: AnyMessage): void {
    const [videoId, cursor] = place;
    if (!(cursor > (this.#received.get(videoId) ?? 0))) return;
    moveTo(this.#received, place);
    this.#retries.succeed();
    if (message?.type === "gap") this.#reportGap(videoId, cursor - 1, cursor, message.details);
    if (message && isWanted(message.type, this.#types))
      this.#enqueue("message", { cursor, ...message }, place);
    else this.#enqueue("passed", undefined, place);
  }

  #reportGap(videoId: ChatCursor[0], after: number, cursor: number, details?: Gap["details"]): void {
    this.#enqueue("gap", { ...(videoId && { videoId }), after, cursor, ...(details && { details }) });
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
      if (!waiting || (waiting[0] === "message" && !this.#listenersOf("message")[0])) return;
      this.#queue.shift();
      this.#handOut(waiting);
    }
  }

  #handOut([event, value, place]: Entry): void {
    if (place) moveTo(this.#handed, place, event === "init");
    if (event === "end") this.end = value;
    if (event === "over") this.#finish();
    // Nobody listens to "passed".
    else this.#emit((event === "dead" ? "error" : event) as never, value as never);
    const isFailure = event === "error" && !value.videoId;
    if ((isFailure || event === "dead") && !this.#isPulled && !this.#listenersOf("error")[0])
      reportUncaught(value);
    if (isFailure) this.#finish({ error: value });
    this.#wake();
  }

  #emit<E extends keyof AnyEvents>(event: E, value: AnyEvents[E]): void {
    for (const [, listener] of this.#listenersOf(event)) {
      try {
        listener(value as never);
      } catch (error) {
        reportUncaught(error);
      }
    }
  }

  #listenersOf(event: keyof AnyEvents) {
    return [...this.#listeners].filter(([name]) => name === event);
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
    this.#connection?.abort();
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

function hasCursor([, cursor]: ChatCursor): boolean {
  return Number.isSafeInteger(cursor) && cursor >= 0;
}

/** Throws the error where nobody can catch it. */
function reportUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
