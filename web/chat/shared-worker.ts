/**
 * The shared worker: holds the streams of all pages of this service in this browser. The chats of videos come
 * over one connection, which begins again where it was when a chat is added or taken away; each channel has
 * a connection, too. A page that joins is sent the messages from now on.
 */
import { ChatError, type ChatOptions, chat, merged } from "../../client/index.ts";
import { ERRORS, type ErrorRow } from "../../src/protocol/errors.ts";
import { vectorOf } from "../../src/protocol/merged-id.ts";
import { watchfulFetch } from "./keepalive.ts";
import { BEAT_MS, type FromWorker, type SharedStreamName, type ToWorker } from "./shared-messages.ts";
import { streamFetch } from "./stream-fetch.ts";
import { waitAfter } from "./waits.ts";

const SERVICE = new URL("../../", location.href).href;
const TOKEN = (globalThis as { name?: string }).name || undefined;
const WATCHFUL = watchfulFetch(Number(new URLSearchParams(location.search).get("silentMs")));
const OF_VIDEOS = streamFetch("standing=on&featured=on", WATCHFUL);
const OF_CHANNEL = streamFetch("standing=on&featured=on&all=on", WATCHFUL);
const FACTS = ["featured", "standing"] as const;
/** The service's maximum of chats on one connection. */
const MAX_CHATS = 20;
/** Chats that are added together, as a scene's are, make one new connection. */
const TOGETHER_MS = 30;
/** How long the service waits, at least, before it tries again to open one of several chats. */
const OPENS_AGAIN_MS = 30_000;
/** A page that has not answered for this long is gone. */
const GONE_MS = 60_000;

interface Subscriber {
  page: Page;
  id: number;
}

/** One chat, and the pages that show it. */
class Line {
  readonly subscribers = new Set<Subscriber>();
  /** The newest; undefined before the chat is there. */
  init: { videoId: string; cursor: number } | undefined;
  /** The state of a channel. */
  news: unknown;
  /** What the chat said last of its featured message, and of whether it is off. */
  readonly #facts = new Map<string, unknown>();
  /** Whether the connection was lost, and the chat has not begun again. */
  #isCut = false;

  send(event: string, value: unknown): void {
    for (const { page, id } of this.subscribers) page.send({ id, event, value });
  }

  /** `cursor`: that of the last message, after which the newcomer's begin. */
  welcome({ page, id }: Subscriber): void {
    if (this.news !== undefined) page.send({ id, event: "channel", value: this.news });
    if (this.init) page.send({ id, event: "init", value: this.init });
    for (const [event, value] of this.#facts) page.send({ id, event, value });
  }

  begin(init: { videoId: string; cursor: number }): void {
    const isGoingOn = this.init?.videoId === init.videoId && this.init.cursor === init.cursor;
    this.init = init;
    this.#facts.clear(); // they follow
    if (!isGoingOn || this.#isCut) this.send("init", init);
    this.#isCut = false;
  }

  /** `waitMs`: until the next attempt. */
  cut(error: ChatError, waitMs: number | undefined): void {
    this.#isCut = true;
    this.send("trouble", { ...plain(error), ...(waitMs !== undefined && { retryAfterMs: waitMs }) });
  }

  say(event: "featured" | "standing", fact: object): void {
    this.#facts.set(event, fact);
    this.send(event, fact);
  }

  take(message: { cursor: number }): void {
    if (this.init) this.init.cursor = message.cursor;
    this.send("message", message);
  }
}

interface Page {
  send(message: FromWorker): void;
  readonly own: Map<number, { line: Line; subscriber: Subscriber; name: SharedStreamName }>;
  heardAt: number;
}

const pages = new Set<Page>();
const videos = new Map<string, Line>();
const channels = new Map<string, { line: Line; room: { close(): void } }>();
let room: { close(): void } | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Opens the connection of all videos again, soon. */
function reconnect(): void {
  clearTimeout(timer);
  timer = setTimeout(connect, TOGETHER_MS);
}

function connect(): void {
  room?.close();
  room = undefined;
  const asked = [...videos];
  if (asked.length === 0) return;
  const cursors = asked.map(([, { init }]) => init?.cursor);
  /** The last of several chats that has not begun: a refusal of all may be due to it. */
  const newcomer = () => (asked.length > 1 ? asked.findLast(([, { init }]) => !init) : undefined);
  const own = merged(SERVICE, {
    videoIds: asked.map(([videoId]) => videoId),
    cursor: cursors.some((cursor) => cursor !== undefined) ? vectorOf(cursors) : undefined,
    ...{ backfill: 0, details: true, token: TOKEN, fetch: OF_VIDEOS },
    retry: (error: ChatError, attempt: number) => {
      const waitMs = waitAfter(error, attempt);
      if (error.code === "CAPACITY" && newcomer() && asked.some(([, { init }]) => init)) return false;
      if (!error.isFinal) for (const [, line] of asked) line.cut(error, waitMs);
      return error.isFinal ? undefined : waitMs;
    },
  } as Parameters<typeof merged>[1]);
  room = own;
  const begun = new Set<string>(); // on this connection: the service does not open them again
  own.on("state", (state) => state === "open" && begun.clear());
  own.on("init", (init) => {
    begun.add(init.videoId);
    videos.get(init.videoId)?.begin({ ...init });
  });
  own.on("message", (message) => videos.get(message.videoId)?.take(message));
  for (const event of FACTS) own.on(event, (fact) => videos.get(fact.videoId)?.say(event, fact));
  own.on("end", (end) => drop(end.videoId, "end", end));
  own.on("error", (error) => {
    const { videoId, code, message } = error;
    const { status, retry = "never" }: Partial<ErrorRow> = ERRORS[code as keyof typeof ERRORS] ?? {};
    const [last] = newcomer() ?? [];
    if (!videoId && last) {
      drop(last, "alone", undefined);
      reconnect();
    } else if (videoId && !begun.has(videoId) && retry === "relay")
      videos.get(videoId)?.cut(new ChatError(code, message, { ...(status && { status }) }), OPENS_AGAIN_MS);
    else for (const [each] of asked) if (each === (videoId ?? each)) drop(each, "error", plain(error));
  });
}

/** The chat is over, or cannot be opened: its pages may ask again. */
function drop(videoId: string, event: string, value: unknown): void {
  const line = videos.get(videoId);
  videos.delete(videoId);
  line?.send(event, value);
}

function openChannel(channel: string): { line: Line; room: { close(): void } } {
  const line = new Line();
  const own = chat(SERVICE, {
    ...{ channel, backfill: 0, details: true, token: TOKEN, fetch: OF_CHANNEL },
    retry: (error: ChatError, attempt: number) => {
      const waitMs = waitAfter(error, attempt);
      if (!error.isFinal) line.cut(error, waitMs);
      return error.isFinal ? undefined : waitMs;
    },
  } as unknown as ChatOptions<true>) as unknown as {
    on(event: string, listener: (value: never) => void): void;
    close(): void;
  };
  own.on("channel", (news) => {
    line.news = news;
    line.send("channel", news);
  });
  own.on("init", (init: { videoId: string; cursor: number }) => line.begin({ ...init }));
  own.on("message", (message: { cursor: number }) => line.take(message));
  for (const event of FACTS) own.on(event, (fact: object) => line.say(event, fact));
  own.on("error", (error: ChatError) => {
    channels.delete(channel);
    line.send("error", plain(error));
  });
  return { line, room: own };
}

/** An error can be sent, but not with its own fields. */
function plain({ code, message, status, retryAfterMs }: ChatError): object {
  return { code, message, ...(status && { status }), ...(retryAfterMs && { retryAfterMs }) };
}

function open(page: Page, id: number, name: SharedStreamName): void {
  const subscriber = { page, id };
  let line: Line;
  if ("channel" in name) {
    const held = channels.get(name.channel) ?? openChannel(name.channel);
    channels.set(name.channel, held);
    line = held.line;
  } else {
    const known = videos.get(name.videoId);
    if (!known && videos.size === MAX_CHATS) {
      page.send({ id, event: "alone", value: undefined });
      return;
    }
    line = known ?? new Line();
    videos.set(name.videoId, line);
    if (!known?.init) reconnect(); // which also asks at once for one that the service opens later
  }
  line.subscribers.add(subscriber);
  page.own.set(id, { line, subscriber, name });
  line.welcome(subscriber);
}

function close(page: Page, id: number): void {
  const own = page.own.get(id);
  if (!own) return;
  const { line, subscriber, name } = own;
  page.own.delete(id);
  line.subscribers.delete(subscriber);
  if (line.subscribers.size > 0) return;
  if ("channel" in name) {
    const held = channels.get(name.channel);
    if (held?.line !== line) return;
    held.room.close();
    channels.delete(name.channel);
  } else if (videos.get(name.videoId) === line) {
    videos.delete(name.videoId);
    reconnect();
  }
}

function leave(page: Page): void {
  for (const id of [...page.own.keys()]) close(page, id);
  pages.delete(page);
}

globalThis.addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  const page: Page = {
    send: (message) => port.postMessage(message),
    own: new Map(),
    heardAt: performance.now(),
  };
  pages.add(page);
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    page.heardAt = performance.now();
    if (!pages.has(page)) page.send({ gone: true });
    else if ("open" in data) open(page, data.open, data.name);
    else if ("close" in data) close(page, data.close);
    else if ("leave" in data) leave(page);
  };
});

globalThis.addEventListener("online", reconnect);

setInterval(() => {
  for (const page of pages)
    if (performance.now() - page.heardAt > GONE_MS) leave(page);
    else page.send({ beat: true });
}, BEAT_MS);
