/**
 * Another instance of the service as an edge reads it: through the public API, like any client. Its messages
 * are read as NDJSON, which has one per line, so that their bytes can be kept as they are.
 */

import { text } from "node:stream/consumers";
import type { Clock } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import { certificateTrouble } from "../base/error-message.ts";
import { asArray, asNumber, asString, dig, parseJson } from "../base/json.ts";
import { ENDED, FACT_NAMES, type FactName, isChatType } from "../protocol/chat.ts";
import { type ChatKey, chatKey, chatNamed, chatOf } from "../protocol/chat-key.ts";
import { ChatAbsent } from "../protocol/chat-standing.ts";
import { ERRORS, isRefusal, RelayError } from "../protocol/errors.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import type { ChannelQuestion } from "../rooms/channels/video-channels.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import type { CursorRange } from "../serving/resume-or-backfill.ts";
import type { Fact, TypedPart } from "../store/port.ts";
import { type StoredMessage, typeOf } from "../store/stored-message.ts";
import { factIn, LineReader, messageIn } from "./line-reader.ts";
import { LineStream, SILENT_INTERVALS } from "./line-stream.ts";
import {
  OPENING_TIMEOUT_MS,
  type OriginAnswer,
  type OriginConnections,
  type OriginRequest,
  PAGE_TIMEOUT_MS,
  type RelayedRequest,
} from "./origin-connections.ts";
import { awayIfPassing, note, OriginAwayError, refusal } from "./origin-refusal.ts";
import { OriginStream } from "./origin-stream.ts";

const HEALTH_TIMEOUT_MS = 4000;
/**
 * Time limit for the beginning of a stream whose room or channel the origin usually has open. It is three
 * keepalive intervals, as for an open stream that is silent, but at least this.
 */
const LEAST_RESUMING_TIMEOUT_MS = 10_000;
/** Maximum messages that a page can have. */
const MAX_LIMIT = 1000;
/** Maximum size of a page of messages, in bytes. Usual ones have a megabyte at most. */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;
const UNAUTHORIZED = ERRORS.UNAUTHORIZED.status;

/** Parameters that ask for all facts. */
const ALL_FACTS = Object.fromEntries(FACT_NAMES.map((name) => [name, "on"]));

/** The reason of the signal of a request that is sent again at once. */
const ASK_AGAIN = "the origin is back";

/** The place where a stream begins: after a cursor, or at the head. */
export interface StreamStart {
  lastEventId?: number;
  /** The address of the client for whom it is opened; only for an origin that trusts this service. */
  address?: string;
}

/** A page of messages, the `after` of the next one, and the `before` of the previous one. */
interface Page {
  messages: StoredMessage[];
  next: number | undefined;
  prev: number | undefined;
}

export class Origin {
  readonly url: string;
  readonly #keepaliveMs: number;
  readonly #clock: Clock;
  #openStreams = 0;
  #isBlanking = false;
  /** One for each request for a stream, or of a client (`pass`), that has no answer yet. */
  readonly #waiting = new Set<AbortController>();
  readonly #connections: OriginConnections;

  /**
   * `url`: the base URL, without a trailing slash. `keepaliveMs`: the interval of keepalives; silence for
   * three of them ends a stream.
   */
  constructor(url: string, connections: OriginConnections, clock: Clock, keepaliveMs: number) {
    this.url = url;
    this.#keepaliveMs = keepaliveMs;
    this.#clock = clock;
    this.#connections = connections;
  }

  /** The number of streams that are open here: each is a viewer at the origin. */
  get openStreams(): number {
    return this.#openStreams;
  }

  /** Whether it blanks deleted messages, as it said last. */
  get isBlanking(): boolean {
    return this.#isBlanking;
  }

  /**
   * Rejects, with this error, all requests for streams, and of clients (`pass`), that have no answer yet: the
   * origin is away, and their connections may never say so.
   */
  giveUp(error: Error): void {
    for (const waiting of this.#waiting) waiting.abort(error);
  }

  /**
   * Repeats all requests for streams, and of clients (`pass`), that have no answer yet: the origin was away
   * meanwhile, and may not have received them.
   */
  askAgain(): void {
    for (const waiting of this.#waiting) waiting.abort(ASK_AGAIN);
  }

  /**
   * Opens a stream of a video, which opens its room at the origin. Rejects with the origin's `RelayError` or
   * `ChatAbsent`, or with `OriginAwayError`, also once the signal has aborted.
   */
  async stream(videoId: string, start: StreamStart, signal: AbortSignal): Promise<OriginStream> {
    const { lastEventId, address } = start;
    const query = { videoId, details: "true", backfill: "0", ...ALL_FACTS };
    const headers = address ? { "x-forwarded-for": address } : {};
    const limitMs = lastEventId === undefined ? OPENING_TIMEOUT_MS : this.#resumingTimeoutMs;
    return await this.#begun(limitMs, signal, async (over) =>
      OriginStream.begin(await this.#lines(query, lastEventId, over, headers)),
    );
  }

  /** What the origin knows of a video; undefined if nothing. Rejects as `stream` does. */
  async video(key: ChatKey, signal: AbortSignal): Promise<VideoFacts | undefined> {
    return await this.#now(key, {}, signal, async (lines) => (await OriginStream.begin(lines)).video);
  }

  /**
   * A fact of a chat; undefined if it does not say it, or nothing is stored of the chat. Rejects as `stream`
   * does.
   */
  async fact(key: ChatKey, name: FactName, signal: AbortSignal): Promise<Fact | undefined> {
    const found = this.#now(key, { [name]: "on" }, signal, async (lines) => {
      for await (const batch of lines) {
        const fact = batch.map(factIn).find((each) => each !== undefined);
        if (fact) return fact;
      }
      return undefined;
    });
    return await found.catch(nothingIfNotStored);
  }

  /** Reads a stream of a chat that is sent no messages, and ends by itself. Rejects as `stream` does. */
  #now<T>(
    key: ChatKey,
    wants: Record<string, string>,
    signal: AbortSignal,
    read: (lines: LineStream) => Promise<T>,
  ): Promise<T> {
    const { videoId, chat } = chatOf(key);
    const query = { videoId, chat, until: "now", backfill: "0", details: "true", ...wants };
    return this.#begun(this.#resumingTimeoutMs, signal, async (over) => {
      using lines = await this.#lines(query, undefined, over);
      return await read(lines);
    });
  }

  /**
   * Opens a stream of a channel. Its filter excludes all messages except gaps, because only the channel's
   * state is needed. Rejects as `stream` does.
   */
  async channel(channel: string, signal: AbortSignal): Promise<LineStream> {
    const query = { channel, types: "gap", backfill: "0", all: "on", standing: "on" };
    return await this.#begun(this.#resumingTimeoutMs, signal, (over) => this.#lines(query, undefined, over));
  }

  get #resumingTimeoutMs(): number {
    return Math.max(SILENT_INTERVALS * this.#keepaliveMs, LEAST_RESUMING_TIMEOUT_MS);
  }

  /**
   * What `begin` resolves to. Its signal aborts with `signal` and, only until then, after `limitMs` and when
   * the health check learns something.
   */
  async #begun<T>(
    limitMs: number,
    signal: AbortSignal,
    begin: (over: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const waiting = new AbortController();
      this.#waiting.add(waiting);
      using limit = new Deadline(this.#clock, limitMs);
      try {
        return await begin(AbortSignal.any([signal, limit.signal, waiting.signal]));
      } catch (error) {
        if (signal.aborted || waiting.signal.reason !== ASK_AGAIN) throw error;
      } finally {
        this.#waiting.delete(waiting);
      }
    }
  }

  async #lines(
    query: Record<string, string>,
    lastEventId: number | undefined,
    signal: AbortSignal,
    others: Record<string, string> = {},
  ): Promise<LineStream> {
    const headers = {
      ...others,
      accept: "application/x-ndjson",
      ...(lastEventId !== undefined && { "last-event-id": String(lastEventId) }),
    };
    const cut = new AbortController();
    const over = AbortSignal.any([signal, cut.signal]);
    const path = `/v1/stream?${new URLSearchParams(query)}`;
    const answer = await this.#reached(over, async () => {
      const begun = await this.#connections.stream({ path, headers }, over);
      if (begun.statusCode !== 200) throw await refusal(begun);
      return begun;
    });
    this.#openStreams += 1;
    cut.signal.addEventListener("abort", () => {
      this.#openStreams -= 1;
    });
    return new LineStream(answer.body, this.#clock, this.#keepaliveMs, () => cut.abort("done"));
  }

  /** At most `limit` messages after a cursor, in order. Rejects as `stream` does. */
  async messagesAfter(videoId: string, after: number, limit: number): Promise<StoredMessage[]> {
    return (await this.#messages({ videoId, after, limit })).messages;
  }

  /** The last messages, at most `limit`, up to a cursor. Rejects as `stream` does. */
  async messagesUpTo(videoId: string, last: number, limit: number): Promise<StoredMessage[]> {
    return (await this.#messages({ videoId, before: last + 1, limit })).messages;
  }

  /** As `Store.readTypes`. The origin's pages have the gaps, too. Rejects as `stream` does. */
  async messagesOf(videoId: string, { types, ...part }: TypedPart): Promise<StoredMessage[]> {
    const { limit, isNewest } = part;
    let { after, to } = part;
    let found: StoredMessage[] = [];
    for (; to > after && found.length < limit; ) {
      const bounds = isNewest ? { before: to + 1 } : { after, before: to + 1 };
      const query = { videoId, types: types.join(), ...bounds, limit: Math.min(limit, MAX_LIMIT) };
      const { messages, next, prev } = await this.#messages(query);
      const isWanted = (message: StoredMessage) => message.cursor > after && types.includes(typeOf(message));
      const wanted = messages.filter(isWanted);
      found = isNewest ? [...wanted, ...found].slice(-limit) : [...found, ...wanted].slice(0, limit);
      if (isNewest) to = Math.min(to - 1, prev === undefined ? after : prev - 1);
      else after = Math.max(after + 1, next ?? to);
    }
    return found;
  }

  async #messages(query: {
    videoId: string;
    limit: number;
    [bound: string]: string | number;
  }): Promise<Page> {
    const asked = { ...query, details: "true", format: "ndjson" };
    return await this.#page(asked, async (answer) => {
      const reader = new LineReader();
      const lines: string[] = [];
      for await (const chunk of bounded(answer)) {
        lines.push(...reader.read(chunk));
        if (lines.length > query.limit)
          throw new OriginAwayError("its page has more messages than were asked for");
      }
      const linked = (rel: string, bound: string) => {
        const url = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(`${answer.headers.link}`)?.[1];
        return asNumber(new URLSearchParams(url).get(bound) ?? undefined);
      };
      const messages = lines.map((line) => messageIn(line, '{"cursor":'));
      return { messages, next: linked("next", "after"), prev: linked("prev", "before") };
    });
  }

  /** The cursors of a chat at this moment; undefined if nothing is stored of it. Rejects as `stream` does. */
  async range(key: ChatKey): Promise<CursorRange | undefined> {
    const found = (await this.#chat(key))?.chat;
    return found?.key === key ? found : undefined;
  }

  /** The chats of a video that are stored, the live one first. Rejects as `stream` does. */
  async stored(videoId: string): Promise<StoredChat[]> {
    const first = await this.#chat(videoId);
    const hasOther = first !== undefined && first.chats.length > 1;
    const other = hasOther ? await this.#chat(chatKey(videoId, "replay")) : undefined;
    return [first?.chat, other?.chat].filter((chat) => chat !== undefined);
  }

  /** The first chat of a video that is stored, or its replay: of the two, the live one comes first. */
  async #chat(key: ChatKey): Promise<{ chat: StoredChat; chats: readonly unknown[] } | undefined> {
    const page = await this.#first(key);
    if (page === undefined) return undefined;
    const chatType = asString(dig(page, "chatType"));
    const found = isChatType(chatType) ? chatKey(chatOf(key).videoId, chatNamed(chatType)) : key;
    const is = dig(page, "state") === ENDED.state ? "ended" : "left";
    const stored: StoredChat = { ...rangeIn(page), key: found, is, endedAgoMs: null };
    return { chat: stored, chats: asArray(dig(page, "chats")) ?? [] };
  }

  /** As `Store.cursorAt`. `time`: wall milliseconds. Rejects as `stream` does. */
  async cursorAt(key: ChatKey, time: number): Promise<number | undefined> {
    const page = await this.#first(key, { from: time });
    if (page === undefined) return undefined;
    const first = asNumber(dig(page, "messages", 0, "cursor"));
    return first === undefined ? rangeIn(page).head : first - 1;
  }

  /**
   * A page of a chat's history as JSON, with at most one message; undefined if nothing is stored. If `key` is
   * the live chat's and only the replay is stored, it is the replay's.
   */
  async #first(key: ChatKey, bounds: { from?: number } = {}): Promise<unknown> {
    const { videoId, chat } = chatOf(key);
    const query = { videoId, ...(chat === "replay" && { chat }), ...bounds, limit: 1, format: "json" };
    const read = async (answer: OriginAnswer) => parseJson(await text(bounded(answer))) ?? {};
    return await this.#page(query, read).catch(nothingIfNotStored);
  }

  /**
   * The names of the channel of a video; none if the origin does not know it, or may not say. `address`: of
   * the client that asks. Rejects as `stream` does.
   */
  async channelsOf(
    { videoId, channels }: ChannelQuestion,
    address: string,
    signal: AbortSignal,
  ): Promise<string[]> {
    const query = channels ? `?${new URLSearchParams({ channels: channels.join() })}` : "";
    using limit = new Deadline(this.#clock, OPENING_TIMEOUT_MS);
    return await this.#reached(limit.or(signal), async () => {
      const headers = address ? { "x-forwarded-for": address } : {};
      const request = { path: `/v1/videos/${videoId}${query}`, headers, timeoutMs: OPENING_TIMEOUT_MS };
      const answer = await this.#connections.page(request, limit.signal);
      if (answer.statusCode !== 200) {
        const error = await refusal(answer);
        if (isRefusal(error, "FORBIDDEN")) return [];
        throw error;
      }
      const names = asArray(dig(parseJson(await note(answer)), "channels")) ?? [];
      return names.filter((name) => typeof name === "string");
    });
  }

  async #page<T>(
    query: Record<string, string | number>,
    read: (answer: OriginAnswer) => Promise<T>,
  ): Promise<T> {
    const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]));
    using limit = new Deadline(this.#clock, PAGE_TIMEOUT_MS);
    return await this.#reached(limit.signal, async () => {
      const path = `/v1/messages?${asked}`;
      const answer = await this.#connections.page({ path, headers: {} }, limit.signal);
      if (answer.statusCode !== 200) throw awayIfPassing(await refusal(answer));
      return await read(answer);
    });
  }

  /**
   * Forwards a client's GET to the origin, with its path, query and headers. Safe to repeat. Rejects with
   * `OriginAwayError`, or with the origin's `RelayError` of status 5xx.
   */
  pass(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    const { timeoutMs = PAGE_TIMEOUT_MS } = request;
    const begin = async (over: AbortSignal) => {
      const answer = await this.#connections.page({ ...request, isForClient: true }, over);
      if (answer.statusCode === UNAUTHORIZED || answer.statusCode >= 500) throw await refusal(answer);
      return answer;
    };
    return this.#reached(signal, () => this.#begun(timeoutMs, signal, begin));
  }

  /** Sends a request of a client on. Rejects with `OriginAwayError`. */
  relay(request: RelayedRequest, signal: AbortSignal): Promise<OriginAnswer> {
    return this.#reached(signal, () => this.#connections.relay(request, signal));
  }

  /**
   * Asks whether the origin is alive. Resolves to false if it answers, but not as this service does. Rejects
   * with `OriginAwayError`, even if a proxy answers in its place. `isApart`: on a connection of its own.
   */
  async isRelay(signal?: AbortSignal, isApart = false): Promise<boolean> {
    using limit = new Deadline(this.#clock, HEALTH_TIMEOUT_MS);
    const over = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
    return await this.#reached(over, async () => {
      const answer = await this.#connections.page({ path: "/healthz", headers: {}, isApart }, over);
      const said = await note(answer);
      if (answer.statusCode >= 500) throw new OriginAwayError(`it answers ${answer.statusCode}`);
      const health = parseJson(said);
      if (answer.statusCode !== 200 || asString(dig(health, "status")) !== "alive") return false;
      this.#isBlanking = dig(health, "deleted") === "blank";
      return true;
    });
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  /** Turns failures of the connection into `OriginAwayError`. */
  async #reached<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof RelayError || error instanceof ChatAbsent || error instanceof OriginAwayError)
        throw error;
      const reason = signal.aborted ? signal.reason : error;
      const { code, message = String(reason) } = (reason ?? {}) as NodeJS.ErrnoException;
      throw new OriginAwayError(certificateTrouble(code) ?? message, reason);
    }
  }
}

/** Undefined if nothing is stored; else throws the error. */
function nothingIfNotStored(error: unknown): undefined {
  if (isRefusal(error, "NOT_STORED")) return undefined;
  throw error;
}

/** The body of a page. Throws `OriginAwayError` if it is too long. */
async function* bounded({ body }: OriginAnswer): AsyncGenerator<Buffer, void, void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_PAGE_BYTES) throw new OriginAwayError("its page of messages is too long");
    yield chunk;
  }
}

/** Throws `OriginAwayError` if the page is not one of this service. */
function rangeIn(page: unknown): CursorRange {
  const [base, floor, head] = ["base", "floor", "head"].map((name) => asNumber(dig(page, name)));
  if (base === undefined || floor === undefined || head === undefined)
    throw new OriginAwayError("its page of messages names no cursors");
  return { base, floor, head };
}
