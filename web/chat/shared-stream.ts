/**
 * A page's side of the shared stream: it asks the worker for chats, and reads what a chat said before by a
 * short request of its own. So a page that joins gets the same messages, in the same order, as over a stream
 * of its own.
 */
import { ChatError, type ChatOptions, chat, type Init, type MergedChats } from "../../client/index.ts";
import { parseVideoId } from "../../src/protocol/video-id.ts";
import { silentMs } from "./keepalive.ts";
import { typesOf } from "./parameters.ts";
import type { FromWorker, SharedStreamName, ToWorker } from "./shared-messages.ts";
import { BEAT_MS } from "./shared-messages.ts";
import type { ShownMessage } from "./shown-message.ts";
import type { SourceChat, SourceOptions } from "./source-chat.ts";
import type { Source } from "./source-name.ts";
import { chatIn } from "./stored.ts";

/** A worker that is silent for this long is dead. */
const SILENT_MS = 2.5 * BEAT_MS;
/** As the service's, which gives all of a replay. */
const USUAL_BACKFILL = 50;
/** If more messages than this wait for the past, it is given up. */
const MAX_WAITING = 5000;

/** `trouble` hears of a lost connection, in place of `retry`. */
type SharedOptions = SourceOptions & { trouble?: (error: ChatError, attempt: number) => void };
type Item = { cursor: number; type: string };
type Emit = (event: string, value: unknown) => void;

export class SharedStream {
  readonly service: string;
  readonly token: string | undefined;
  readonly #lost: () => void;
  readonly #chats = new Map<number, SharedChat>();
  #port: MessagePort | undefined;
  #heardAt = 0;
  #ids = 0;

  /** `lost` is called if no worker can be had. */
  constructor(service: string, token: string | undefined, lost: () => void) {
    this.service = service;
    this.token = token;
    this.#lost = lost;
    this.#start();
    setInterval(() => this.#check(), BEAT_MS);
    addEventListener("pagehide", () => this.#send({ leave: true }));
    addEventListener("pageshow", ({ persisted }) => persisted && this.#restart());
  }

  /** Undefined if the source cannot be shared. */
  open(source: Source, options: SourceOptions): SourceChat | undefined {
    try {
      const name: SharedStreamName =
        source.videoId === "" ? { channel: source.channel } : { videoId: parseVideoId(source.videoId) };
      return new SharedChat(this, name, options) as unknown as SourceChat;
    } catch {
      return undefined; // the service will say why
    }
  }

  /** Several chats as `merged` of the SDK has them, each after its cursor. */
  openSeveral(
    videoIds: readonly string[],
    cursors: readonly (number | undefined)[],
    options: SourceOptions & { trouble: (error: ChatError, attempt: number) => void },
  ): MergedChats<ShownMessage> {
    const chats = videoIds.map((videoId, at) => {
      const cursor = cursors[at];
      const own = { ...options, retry: () => false as const, ...(cursor !== undefined && { cursor }) };
      return new SharedChat(this, { videoId }, own);
    });
    const on = (event: string, listener: (value: object) => void): void => {
      if (event === "state") return;
      for (const [at, each] of chats.entries())
        each.on(event, (value: object) => listener(Object.assign(value, { videoId: videoIds[at] })));
    };
    const close = (): void => {
      for (const each of chats) each.close();
    };
    return { on, close } as unknown as MergedChats<ShownMessage>;
  }

  /** Returns the number under which the worker knows the chat. */
  add(chat: SharedChat): number {
    this.#ids += 1;
    this.#chats.set(this.#ids, chat);
    this.#send({ open: this.#ids, name: chat.name });
    return this.#ids;
  }

  remove(id: number): void {
    if (this.#chats.delete(id)) this.#send({ close: id });
  }

  #send(message: ToWorker): void {
    this.#port?.postMessage(message);
  }

  #start(): void {
    this.#heardAt = performance.now();
    const url = new URL(`web/chat/shared-worker.js?silentMs=${silentMs()}`, this.service).href;
    const worker = new SharedWorker(trusted(url), { name: this.token ?? "" });
    worker.addEventListener("error", () => this.#lost());
    this.#port = worker.port;
    worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      this.#heardAt = performance.now();
      if ("beat" in data) this.#send({ alive: true });
      else if ("gone" in data) this.#restart();
      else if (data.event === "alone") this.#lost();
      else this.#chats.get(data.id)?.hear(data.event, data.value);
    };
  }

  /** A new worker, or one that took the page for gone, knows nothing of the page's chats. */
  #restart(): void {
    this.#port?.close();
    this.#start();
    for (const [id, { name }] of this.#chats) this.#send({ open: id, name });
  }

  #check(): void {
    if (this.#chats.size > 0 && performance.now() - this.#heardAt > SILENT_MS) this.#restart();
  }
}

export function openShared(
  service: string,
  token: string | undefined,
  lost: () => void,
): SharedStream | undefined {
  try {
    return new SharedStream(service, token, lost);
  } catch (error) {
    console.warn("each page has a stream of its own:", error);
    return undefined;
  }
}

/** The viewer page's policy asks for it. The URL is one of ours. */
function trusted(url: string): string {
  const { trustedTypes } = globalThis as unknown as {
    trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } };
  };
  return (
    trustedTypes
      ?.createPolicy("shared-worker", { createScriptURL: (own: string) => own })
      .createScriptURL(url) ?? url
  );
}

/** One chat, as the SDK's are: the events that the pages use. */
class SharedChat {
  readonly name: SharedStreamName;
  state = "connecting";
  cursor: number | string | undefined;
  readonly #stream: SharedStream;
  readonly #options: SharedOptions;
  readonly #listeners = new Map<string, Set<(value: unknown) => void>>();
  readonly #types: ReadonlySet<string> | undefined;
  /** The video and the cursor up to which everything was handed out. */
  #videoId: string | undefined;
  #at: number | undefined;
  #id: number | undefined;
  #past: { close(): void } | undefined;
  #giveUpPast: (() => void) | undefined;
  /** What the worker says while the past is read: the messages, and how the chat ends. */
  #waiting: [event: string, value: unknown][] | undefined;
  /** The chat's latest standing; it is handed out after `init`, which may wait for the past. */
  #standing: unknown;
  #attempts = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(stream: SharedStream, name: SharedStreamName, options: SharedOptions) {
    this.name = name;
    this.#stream = stream;
    this.#options = options;
    this.#types = options.types && new Set(["gap", ...options.types.flatMap(typesOf)]);
    const [videoId, at] =
      "videoId" in name ? [name.videoId, options.cursor] : String(options.cursor ?? "").split(".");
    if (options.cursor !== undefined) this.#move(videoId, Number(at));
    queueMicrotask(() => this.#ask()); // so that listeners miss nothing
  }

  on(event: string, listener: (value: never) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener as (value: unknown) => void);
    return () => listeners.delete(listener as (value: unknown) => void);
  }

  close(): void {
    if (this.state === "closed") return;
    this.#past?.close();
    clearTimeout(this.#timer);
    if (this.#id !== undefined) this.#stream.remove(this.#id);
    this.state = "closed";
  }

  /** An event of the worker's line. */
  hear(event: string, value: unknown): void {
    if (this.state === "closed") return;
    if (event === "init") this.#begin(value as Init);
    else if (this.#waiting && ["message", "error", "end"].includes(event)) {
      this.#waiting.push([event, value]);
      if (this.#waiting.length > MAX_WAITING) this.#giveUpPast?.();
    } else if (event === "message") this.#hand(value as Item);
    else if (event === "trouble") {
      const error = toError(value);
      if (this.#options.trouble) this.#options.trouble(error, this.#attempts);
      else this.#options.retry?.(error, this.#attempts);
      this.#set(this.#at === undefined ? "connecting" : "reconnecting");
    } else if (event === "error") this.#fail(toError(value));
    else if (event === "end") this.#finish("end", value);
    else {
      if (event === "standing") this.#standing = value;
      if (event !== "standing" || this.state === "open") this.#emit(event, value);
    }
  }

  #ask(): void {
    if (this.state !== "closed") this.#id = this.#stream.add(this);
  }

  /** The line goes on after the cursor of `init`: earlier messages come from the store. */
  #begin(init: Init): void {
    const { videoId, cursor } = init;
    this.#attempts = 0;
    this.#past?.close();
    this.#waiting = undefined;
    this.#standing = undefined;
    const known = videoId === this.#videoId ? this.#at : undefined;
    const isReplay = chatIn(init) === "replay";
    const { backfill = isReplay ? undefined : USUAL_BACKFILL, types } = this.#options;
    if (known === undefined && backfill === 0) {
      this.#open(init, cursor);
      return;
    }
    if (known === cursor) {
      this.#open(init, cursor);
      return;
    }
    const waiting: [string, unknown][] = [];
    this.#waiting = waiting;
    const past = chat(this.#stream.service, {
      ...{ videoId, types, details: true, until: "now", token: this.#stream.token },
      ...(known === undefined ? { backfill } : { cursor: known }),
      chat: isReplay ? "replay" : "live",
      // It takes the place of a viewer for a moment, and there may be none.
      retry: ({ code }) => code !== "CAPACITY" && undefined,
    } as ChatOptions<true>);
    this.#past = past;
    const goOn = (): void => {
      if (this.#waiting !== waiting) return;
      this.#waiting = undefined;
      for (const [event, value] of waiting) this.hear(event, value);
    };
    past.on("init", (begun) => this.#open({ ...init, cursor: begun.cursor }, begun.cursor));
    past.on("gap", (gap) => this.#emit("gap", gap));
    past.on("end", () => {
      const { cursor: reached } = past;
      if (reached !== undefined) this.#move(videoId, Number(reached));
      goOn();
    });
    this.#giveUpPast = () => {
      past.close();
      const after = videoId === this.#videoId ? this.#at : undefined;
      if (after !== undefined && after >= cursor) this.#open({ ...init, cursor: after }, after);
      else {
        this.#open(init, cursor);
        if (after !== undefined) this.#emit("gap", { after, cursor });
      }
      goOn();
    };
    past.on("error", this.#giveUpPast); // or nothing is stored
    past.on("message", (message) => this.#hand(message));
  }

  #open(init: Init, cursor: number): void {
    this.#move(init.videoId, cursor);
    this.#set("open");
    this.#emit("init", init);
    if (this.#standing) this.#emit("standing", this.#standing);
  }

  #hand(item: Item): void {
    if (item.cursor <= (this.#at ?? 0)) return;
    this.#move(this.#videoId, item.cursor);
    if (!this.#types || this.#types.has(item.type)) this.#emit("message", item);
  }

  #move(videoId: string | undefined, cursor: number): void {
    this.#videoId = videoId;
    this.#at = cursor;
    this.cursor = "videoId" in this.name ? cursor : `${videoId}.${cursor}`;
  }

  #fail(error: ChatError): void {
    const waitMs = this.#options.retry?.(error, this.#attempts);
    if (typeof waitMs !== "number") {
      this.#finish("error", error);
      return;
    }
    this.#attempts += 1;
    this.#set(this.#at === undefined ? "connecting" : "reconnecting");
    this.#timer = setTimeout(() => {
      if (this.#id !== undefined) this.#stream.remove(this.#id);
      this.#ask();
    }, waitMs);
  }

  #finish(event: "end" | "error", value: unknown): void {
    this.close();
    this.#emit(event, value);
    this.#emit("state", "closed");
  }

  #set(state: string): void {
    if (this.state === state) return;
    this.state = state;
    this.#emit("state", state);
  }

  readonly #emit: Emit = (event, value) => {
    for (const listener of this.#listeners.get(event) ?? []) listener(value);
  };
}

function toError(value: unknown): ChatError {
  const { code, message, ...options } = value as ChatError;
  return new ChatError(code, message, options);
}
