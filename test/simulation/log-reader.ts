/**
 * One reader of a chat's log, in one of the ways to read it. It goes on from the offset of its last answer,
 * begins again from time to time, and sometimes invents an offset. Its answers are judged as the frames of a
 * viewer are.
 */
import { buffer } from "node:stream/consumers";
import { parseObject } from "../../simulator/plain-json.ts";
import type { Random } from "../../simulator/random.ts";
import { unlessAborted } from "../../src/base/deadline.ts";
import type { Chat } from "../../src/protocol/chat.ts";
import { ChatAbsent } from "../../src/protocol/chat-standing.ts";
import { offsetOf, parseLogOffset } from "../../src/serving/log-position.ts";
import { EVERYTHING } from "../harness/filters.ts";
import type { Journal } from "../harness/journal.ts";
import { requestLog, requestLogEvents } from "../harness/origin-api.ts";
import type { Promised } from "../harness/promises.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import { SimulatedSink } from "../harness/sink.ts";
import { ChatJudge } from "./chat-judge.ts";
import type { Host } from "./host.ts";
import { Instance } from "./instance.ts";
import { LogCache } from "./log-cache.ts";
import type { RoomJudge } from "./room-judge.ts";
import { codeOf, type Viewer } from "./viewer.ts";

/** `cached`: pages until the end, then long polls, all through a cache. */
export const WAYS = ["pages", "long-poll", "sse", "cached"] as const;
export type Way = (typeof WAYS)[number];

/** What the world knows of everybody who watches. */
export type Watcher = Pick<
  Viewer,
  "name" | "host" | "sink" | "isCalm" | "rooms" | "watching" | "live" | "judge" | "lag" | "retriedInMs"
>;

/** The waits after refusals, as clients of the protocol wait ever longer. */
const FIRST_WAIT_MS = 3000;
const MAX_WAIT_MS = 30_000;
/** The longest wait for an answer: a room is opened, and a long poll waits. */
const PATIENCE_MS = 120_000;
/** Maximum time from a page to the next request for one. */
const MAX_PAUSE_MS = 5000;

/** An answer, or an event `control` with the data before it. */
export interface LogReply {
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  text: string;
  isCached?: boolean;
}

export interface LogReaderParts {
  scheduler: Scheduler;
  random: Random;
  journal: Journal;
  room: RoomJudge;
  /** The chat that it names; undefined if it reads the video's log. */
  named?: Chat | undefined;
  way: Way;
  /** Whether it may be refused these videos for want of capacity, by this process in these words. */
  mayRefuse(videoIds: readonly string[], host: Host | undefined, message: unknown): boolean;
  /** A process that takes it, if there is one. */
  host(): Host | undefined;
  /** Called when there is something to judge. */
  onFrames(reader: Watcher): void;
}

/** An answer with its request. */
interface Answered {
  offset: string;
  reply: LogReply;
  host: Host | undefined;
  /** If the offset was invented, the room's head at that time: the log may have come to have it since. */
  headThen: number | undefined;
}

export class LogReader implements Watcher {
  readonly name: string;
  readonly retriedInMs = 0;
  isCalm = false;
  sink: SimulatedSink | undefined;
  host: Host | undefined;
  readonly #parts: LogReaderParts;
  readonly #chat: ChatJudge;
  readonly #cache: LogCache;
  #taken: Answered[] = [];
  /** The offset of the next request; undefined to begin again. */
  #next: string | undefined;
  #cursor: string | undefined;
  /** As in `Answered`, of the request under way. */
  #headThen: number | undefined;
  #isUpToDate = false;
  #hasEnded = false;
  /** The code with which it was refused last. */
  #refusal = "";
  /** When it was last answered up to the head that its room had when it asked. */
  #reachedAt = Number.NEGATIVE_INFINITY;
  /** Where the log was closed, and the base of the store that said so. */
  #closed: { next: string; base: number | undefined } | undefined;

  constructor(name: string, parts: LogReaderParts) {
    const { scheduler, journal, room } = parts;
    this.name = name;
    this.#parts = parts;
    const mayRefuse = (message: unknown) => parts.mayRefuse([room.videoId], this.host, message);
    const judging = { viewer: name, filter: EVERYTHING, isDetailed: true, mayRefuse, scheduler, journal };
    this.#chat = new ChatJudge(room, judging);
    this.#cache = new LogCache(scheduler);
  }

  get rooms(): readonly RoomJudge[] {
    return this.#chat.rooms;
  }

  /** Between two answers it is in no room. */
  get watching(): readonly RoomJudge[] {
    return [];
  }

  async live(): Promise<never> {
    const { scheduler, random, journal, way } = this.#parts;
    await scheduler.sleep(random.next() * 30_000);
    for (let waitMs = FIRST_WAIT_MS; ; ) {
      const offset = this.#offset();
      this.host = this.#parts.host();
      journal.count(`log requests by ${way}`);
      const { head = 0 } = this.#parts.room;
      const isAnswered = this.host?.life !== undefined && (await this.#read(offset, way));
      if (isAnswered && Number(this.#next) >= head) this.#reachedAt = scheduler.monotonic();
      if (isAnswered) {
        const pauseMs = way === "pages" ? 1000 + (MAX_PAUSE_MS - 1000) * random.next() : 1;
        await scheduler.sleep(this.#hasEnded ? random.next() * 120_000 : pauseMs);
      } else await scheduler.sleep(waitMs * (0.5 + random.next()));
      waitMs = isAnswered ? FIRST_WAIT_MS : Math.min(MAX_WAIT_MS, 2 * waitMs);
      // What caches keep is asked for again from the beginning.
      const isRestless = !this.isCalm && random.chance(way === "cached" ? 0.2 : 0.02);
      if (this.#hasEnded || isRestless) this.#beginAnew();
    }
  }

  #beginAnew(): void {
    if (this.#hasEnded && this.isCalm) return; // it stays where it is, and asks again
    this.#next = undefined;
    this.#hasEnded = false;
    this.#isUpToDate = false;
  }

  #offset(): string {
    const { random, journal, room } = this.#parts;
    this.#headThen = undefined;
    if (!this.isCalm && random.chance(0.02)) {
      journal.count("log offsets forged");
      this.#headThen = room.head ?? 0;
      return offsetOf(this.#chat.forged(random));
    }
    return this.#next ?? random.pick(["-1", "-1", "now"]);
  }

  /** One request. Returns whether it was answered, and not refused. */
  async #read(offset: string, way: Way): Promise<boolean> {
    const isLive = way === "long-poll" || (way === "cached" && this.#isUpToDate);
    const live = isLive ? `&live=long-poll${this.#cursor ? `&cursor=${this.#cursor}` : ""}` : "";
    const { room, named } = this.#parts;
    const path = `/v1/log/${room.videoId}?offset=${offset}${named ? `&chat=${named}` : ""}`;
    if (way === "sse") return await this.#watch(offset, `${path}&live=sse`);
    const ask = () => this.#ask(path + live);
    const reply = await (way === "cached" ? this.#cache.get(path + live, ask) : ask()).catch(() => undefined);
    return reply !== undefined && this.#took(offset, reply);
  }

  /** Rejects if the service dies, or takes longer than the reader waits. */
  async #ask(path: string): Promise<LogReply> {
    const { scheduler, random } = this.#parts;
    const service = this.host?.life;
    if (!service) throw new Error("no service");
    const gone = new AbortController();
    const isImpatient = !this.isCalm && random.chance(0.05);
    void scheduler
      .sleep(isImpatient ? random.next() * 10_000 : PATIENCE_MS)
      .then(() => gone.abort(new Error("the reader left")));
    const over = AbortSignal.any([gone.signal, service.clock.death]);
    const asked = requestLog(service, { path, headers: {} }, this.name, gone.signal);
    asked.catch(() => {});
    const { statusCode, headers, body } = await unlessAborted(asked, over);
    const text = (await unlessAborted(buffer(body), over)).toString();
    return { status: statusCode, headers: headers as LogReply["headers"], text };
  }

  /** A connection with events, from its request to its end. Returns whether it has brought something. */
  async #watch(offset: string, path: string): Promise<boolean> {
    const { scheduler } = this.#parts;
    const service = this.host?.life;
    if (!service) return false;
    let [asked, hasCome, rest] = [offset, false, ""];
    let data = "[]";
    const take = (bytes: Buffer) => {
      const blocks = (rest + bytes).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, event, text = ""] = /^event: ?(\w+)\ndata: ?(.*)$/.exec(block) ?? [];
        if (event === "data") data = text;
        if (event !== "control") continue;
        hasCome = true;
        this.#took(asked, { status: 200, headers: headersOf(text), text: data });
        asked = this.#next ?? asked;
        data = "[]";
      }
    };
    const gone = new AbortController();
    const open = (form: SimulatedSink["form"]) => {
      this.sink = new SimulatedSink(form, take);
      return this.sink;
    };
    const patience = scheduler.sleep(PATIENCE_MS).then(() => gone.abort(new Error("the reader left")));
    const entered = requestLogEvents(service, path, this.name, open, gone.signal).then(
      () => this.sink?.closed,
      (error) => this.#refused(offset, error),
    );
    await Promise.race([entered, patience, diesWith(service.clock.death)]);
    this.sink?.leave();
    this.sink = undefined;
    return hasCome;
  }

  #refused(offset: string, error: unknown): void {
    const code = codeOf(error);
    if (code === "OFFSET_GONE") this.#took(offset, { status: 410, headers: {}, text: "" });
    else this.#refusal = code;
    const isSure = error instanceof ChatAbsent && error.absence.is !== "unknown";
    if (isSure && this.#parts.room.isStored(Number(offset)))
      this.#violate(`is refused at ${offset} as if nothing were stored: ${error.message}`);
  }

  /** Takes an answer; it is judged later. Returns whether the reader can go on. */
  #took(offset: string, reply: LogReply): boolean {
    const { journal, onFrames, way } = this.#parts;
    const { status, headers } = reply;
    if (status === 200 || status === 204) {
      this.#refusal = "";
      this.#next = headers["stream-next-offset"];
      this.#isUpToDate = headers["stream-up-to-date"] === "true";
      this.#hasEnded = headers["stream-closed"] === "true";
      this.#cursor = headers["stream-cursor"] ?? this.#cursor;
      journal.count(`log answers by ${way}${reply.isCached ? " from its cache" : ""}`);
      if (this.#hasEnded) journal.count("logs closed");
    } else if (status === 410) {
      journal.count("log offsets gone");
      this.#next = undefined;
      this.#isUpToDate = false;
    } else {
      this.#refusal = String(parseObject(reply.text)?.code);
      journal.count(`log refused ${this.#refusal}`);
    }
    this.#taken.push({ offset, reply, host: this.host, headThen: this.#headThen });
    onFrames(this);
    return status < 300;
  }

  judge(): void {
    for (const answered of this.#taken.splice(0)) this.#judge(answered);
  }

  #judge({ offset, reply, host, headThen }: Answered): void {
    const { room, mayRefuse } = this.#parts;
    const { status, headers, text, isCached = false } = reply;
    const asked = parseLogOffset(offset);
    if (status === 410) {
      const { base = Number.NaN, head = 0 } = room;
      const isThere = typeof asked === "number" && asked >= base && asked <= (headThen ?? head);
      if (isThere) this.#violate(`is told that ${asked} is gone, from ${room.base} to ${room.head}`);
      return;
    }
    if (status !== 200 && status !== 204) {
      const { code, message } = parseObject(text) ?? {};
      if (code === "INTERNAL" || code === "INVALID_REQUEST")
        this.#violate(`is refused with ${text}`, "health");
      if (code === "CAPACITY" && !mayRefuse([room.videoId], host, message))
        this.#violate(`is refused, with trouble of other chats alone: ${message}`, "neighbours");
      return;
    }
    const next = parseLogOffset(headers["stream-next-offset"]);
    if (typeof next !== "number") {
      this.#violate(`is told no offset: ${headers["stream-next-offset"]}`);
      return;
    }
    const items = status === 204 ? [] : itemsIn(text);
    const first = items[0]?.cursor;
    const start = typeof asked === "number" ? asked : first === undefined ? next : first - 1;
    // A cache, or an edge that does not know of a loss yet, may begin in the log of a store that is lost.
    const isOfThisStore = !isCached && start >= (room.base ?? 0);
    this.#chat.asks(typeof asked === "number" ? asked : asked === "begin" && isOfThisStore ? 0 : undefined);
    this.#chat.begin({ cursor: start });
    for (const { cursor, data } of items) this.#chat.message(cursor, data);
    if (this.#chat.cursor !== next) this.#violate(`is told ${next} behind ${this.#chat.cursor}`);
    const isClosed = headers["stream-closed"] === "true";
    const isAtEnd = headers["stream-up-to-date"] === "true";
    if (status === 204 && !isAtEnd) this.#violate("is answered 204, and not told that it is up to date");
    // A replay that is opened again may go on, behind the end of its log.
    if (isClosed && !this.#chat.room.isReplay) this.#chat.end(text);
    this.#judgeClosure({ isClosed, isOwn: host instanceof Instance && !isCached, isAtEnd }, offsetOf(next));
  }

  /** A log that was closed stays closed, as the page of the instance that has it says. */
  #judgeClosure(answer: { isClosed: boolean; isOwn: boolean; isAtEnd: boolean }, next: string): void {
    const { base } = this.#parts.room;
    if (answer.isClosed) this.#closed = { next, base };
    const isSame = this.#closed?.next === next && this.#closed.base === base;
    if (isSame && answer.isOwn && answer.isAtEnd && !answer.isClosed && this.#parts.way === "pages")
      this.#violate(`is told that its log is open at ${next}, where it was closed`);
  }

  /** What it lacks, in calm; undefined if it has everything. */
  lag(): { room: RoomJudge; what: string } | undefined {
    const { room, way, named } = this.#parts;
    const isOver = room.overSince < Number.POSITIVE_INFINITY;
    // Pages alone do not ask whether a chat is over that nobody has read to its end.
    const isRefused = this.#refusal === "NO_LIVE_CHAT" || (named && this.#refusal === "NOT_STORED");
    const isTold = this.#hasEnded || way === "pages" || isRefused;
    if (isOver) return isTold ? undefined : { room, what: `is not told the end: ${this.#refusal}` };
    if (this.#chat.isUpToDate || this.#pauses) return undefined;
    return {
      room,
      what: `reads the log by ${way} at ${this.#chat.cursor} of ${room.head}: ${this.#refusal}`,
    };
  }

  /** Whether it had everything when it last asked for a page, and a chat that goes on has more by now. */
  get #pauses(): boolean {
    const { way, scheduler } = this.#parts;
    return way === "pages" && scheduler.monotonic() - this.#reachedAt <= MAX_PAUSE_MS;
  }

  #violate(what: string, promise: Promised = "stream"): void {
    this.#parts.journal.violate(promise, this.#parts.room.videoId, `reader ${this.name} ${what}`);
  }
}

/** The headers that say the same as the data of an event `control`. */
function headersOf(control: string): LogReply["headers"] {
  const { streamNextOffset, streamCursor, upToDate, streamClosed } = parseObject(control) ?? {};
  return {
    "stream-next-offset": String(streamNextOffset),
    ...(streamCursor !== undefined && { "stream-cursor": String(streamCursor) }),
    ...(upToDate === true && { "stream-up-to-date": "true" }),
    ...(streamClosed === true && { "stream-closed": "true" }),
  };
}

/** The items of a body with their cursors, and the rest of each as it was sent. */
function itemsIn(text: string): { cursor: number; data: string }[] {
  JSON.parse(text); // throws unless it is JSON
  if (text === "[]") return [];
  return text
    .slice(1, -1)
    .split(/(?<=\}),(?=\{"cursor":)/)
    .map((item) => {
      const [, cursor, rest] = /^\{"cursor":(\d+),(.*)$/s.exec(item) ?? [];
      return { cursor: Number(cursor), data: `{${rest}` };
    });
}

function diesWith(death: AbortSignal): Promise<void> {
  return new Promise((resolve) => death.addEventListener("abort", () => resolve(), { once: true }));
}
