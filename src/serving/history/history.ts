/**
 * The stored messages of a chat, in pages or as a whole. They come from the store alone, so no room is
 * opened. All requests together look at few messages at a time, and let the event loop run in between: the
 * live streams come first.
 */
import type { Clock } from "../../base/clock.ts";
import { Semaphore } from "../../base/semaphore.ts";
import type { Chat } from "../../protocol/chat.ts";
import { type ChatKey, chatOf } from "../../protocol/chat-key.ts";
import { RelayError } from "../../protocol/errors.ts";
import { type ReadPart, readPart } from "../../store/log-reader.ts";
import {
  EXAMINED_MESSAGES,
  READ_MESSAGES,
  type RoomRecord,
  type Store,
  type TypedPart,
} from "../../store/port.ts";
import { retryRead } from "../../store/store-error.ts";
import { type StoredMessage, saidTimes } from "../../store/stored-message.ts";
import { chatForQuery, storedChats } from "../chat-choice.ts";
import { Slices } from "../slices.ts";
import { refuseUnavailable } from "../store-refusal.ts";
import { ALL, rareTypesOf } from "../type-filter.ts";
import { type HistoryFilter, isFoundAtOnce, testOf } from "./history-filter.ts";

/** How many messages a download reads first, and the length of text that it keeps its batches near. */
const FIRST_MESSAGES = 50;
const BATCH_LENGTH = 16_384;
/** Reads at a time, of all requests: one is processed while the next one is read. */
const READS_AT_ONCE = 2;
/** How many messages at either end of a room are looked at for one that has a time of the chat's own. */
const EDGE_MESSAGES = 100;

/** A part of a chat's history. Cursors are exclusive, times are wall milliseconds. */
export interface HistoryRequest {
  videoId: string;
  /** Undefined: the chat that has the cursor `after` or `before`, else the live one if it is stored. */
  chat?: Chat | undefined;
  after?: number | undefined;
  before?: number | undefined;
  /** Whether it reads the chat as a log. An offset does not name its chat, so it may be the other chat's. */
  isLog?: boolean;
  /** Only messages stored at this time or later. */
  from?: number | undefined;
  /** Only messages stored earlier than this. */
  to?: number | undefined;
  /** The same by the chat's own time, compared with its running maximum. */
  saidFrom?: SaidTime | undefined;
  saidTo?: SaidTime | undefined;
  filter: HistoryFilter;
}

/** A time of the chat's own, in milliseconds: wall time, or a place in the video. */
export interface SaidTime {
  kind: "said" | "offset";
  ms: number;
}

/** The times of the first and the last stored message; of the chat's own, where messages have any. */
export interface StoredTimes {
  stored: Span;
  said?: Span | undefined;
  offset?: Span | undefined;
}

/** In milliseconds. */
type Span = readonly [first: number, last: number];

/** A message of a page. */
export type HistoryMessage = StoredMessage;

export interface HistoryPage {
  room: RoomRecord;
  /** The chats of the video that are stored. */
  chats: readonly Chat[];
  messages: HistoryMessage[];
  /** The `after` of the next page; null at the upper bound: the head, `before`, `to` or `saidTo`. */
  next: number | null;
  /**
   * The `before` of the previous page; null at the lower bound: the floor, `from` or `saidFrom`, or `after`
   * if the request has a `before`, too.
   */
  prev: number | null;
  /** Where the messages are, if the times asked for leave all of them out. */
  outside?: StoredTimes | undefined;
}

/** The next messages of a download: those after a cursor, up to another one, of at most `limit`. */
interface DownloadPart {
  after: number;
  to: number;
  limit: number;
}

interface Batch {
  messages: StoredMessage[];
  /** The last cursor that was read. */
  to: number;
  /** The `limit` of the next part. */
  limit: number;
}

/** Everything that a request asks for, in batches that are read when they are asked for. */
export interface WholeHistory {
  room: RoomRecord;
  /** The part's first cursor, exclusive, and its last one. */
  after: number;
  last: number;
  /** Equal for requests for which the same part has the same messages. */
  key: string;
  /** The part after a batch, or the first one; undefined if there is none. */
  next(after?: Pick<Batch, "to" | "limit">): DownloadPart | undefined;
  /** Reads a part. Waits while the store is unavailable. Rejects with the signal's reason. */
  read(part: DownloadPart, signal: AbortSignal): Promise<Batch>;
}

/** A part that is read: the messages in it that pass the filter, and the number of all that were read. */
interface FoundPart extends ReadPart {
  examined: number;
}

/** The cursors of a request: those after `after`, up to `last`. */
interface HistoryRange {
  room: RoomRecord;
  chats: readonly Chat[];
  after: number;
  last: number;
  /** The cursor at which paging backwards ends. */
  floor: number;
}

export class History {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #reads = new Semaphore(READS_AT_ONCE);
  /** The time budget that all requests share. */
  readonly slices: Slices;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.slices = new Slices(clock);
  }

  /**
   * One page of at most `limit` messages, in order: the first ones after `after`, or the last ones before
   * `before` if the request has no `after`. Rejects with `RelayError` NOT_STORED or STORE_UNAVAILABLE, with
   * INVALID_REQUEST as `chatForQuery` does or for a place in the video of a live chat, or with the signal's
   * reason.
   */
  async page(request: HistoryRequest, limit: number, signal: AbortSignal): Promise<HistoryPage> {
    const { room, chats, after, last, floor } = await this.#part(request).catch(refuseUnavailable);
    const { filter } = request;
    const isBackwards = request.before !== undefined && request.after === undefined;
    // The examined cursors are those after `start`, up to `end`.
    let [start, end] = isBackwards ? [last, last] : [Math.min(after, room.head), after];
    let found: StoredMessage[] = [];
    let left = EXAMINED_MESSAGES;
    while (found.length < limit && left > 0 && (isBackwards ? start > after : end < last)) {
      const wanted = isFoundAtOnce(filter) ? limit - found.length : left;
      const range = {
        after: isBackwards ? after : end,
        to: isBackwards ? start : last,
        limit: Math.min(READ_MESSAGES, wanted),
        isNewest: isBackwards,
      };
      const part = await this.#read(room.key, range, filter, signal).catch(refuseUnavailable);
      found = isBackwards ? [...part.messages, ...found] : [...found, ...part.messages];
      if (isBackwards) start = part.after;
      else end = part.to;
      left -= part.examined;
    }
    const spare = found.length - limit;
    if (spare > 0) {
      found = isBackwards ? found.slice(spare) : found.slice(0, limit);
      if (isBackwards) start = (found[0]?.cursor ?? 0) - 1;
      else end = found.at(-1)?.cursor ?? 0;
    }
    return {
      room,
      chats,
      messages: found,
      next: end < last ? end : null,
      prev: start > floor ? start + 1 : null,
      outside: await this.#outside(request, room, { after, last }).catch(refuseUnavailable),
    };
  }

  /** Everything up to the head at the moment of the call. Rejects as `page` does. */
  async whole(request: HistoryRequest): Promise<WholeHistory> {
    const { room, after, last } = await this.#part(request).catch(refuseUnavailable);
    const { filter } = request;
    const hasAll = rareTypesOf(filter.types ?? ALL) === undefined && filter.authorId === undefined;
    return {
      room,
      after,
      last,
      key: JSON.stringify([room.key, filter]),
      next: ({ to, limit } = { to: after, limit: FIRST_MESSAGES }) =>
        to < last ? { after: to, to: hasAll ? Math.min(last, to + limit) : last, limit } : undefined,
      read: (part, signal) => this.#batch(room.key, filter, part, signal),
    };
  }

  async #batch(key: ChatKey, filter: HistoryFilter, part: DownloadPart, signal: AbortSignal): Promise<Batch> {
    const { limit } = part;
    const read = () => this.#read(key, { ...part, isNewest: false }, filter, signal);
    const { messages, to } = await retryRead(this.#clock, signal, read);
    const isLong = lengthOf(messages) > BATCH_LENGTH;
    return { messages, to, limit: isLong ? Math.ceil(limit / 2) : Math.min(2 * limit, READ_MESSAGES) };
  }

  async #part(request: HistoryRequest): Promise<HistoryRange> {
    const { videoId, chat, isLog, after = 0, before, from, to, saidFrom, saidTo } = request;
    const stored = await storedChats(this.#store, videoId);
    const room = chatForQuery(stored, videoId, isLog ? { chat } : { chat, after, before });
    if (chatOf(room.key).chat === "live") refuseOffsets({ saidFrom, saidTo });
    const cursorOf = async (time: number | undefined, none: number, kind?: SaidTime["kind"]) =>
      time === undefined ? none : ((await this.#store.cursorAt(room.key, time, kind)) ?? none);
    const [floor, end, saidFloor, saidEnd] = await Promise.all([
      cursorOf(from, room.floor),
      cursorOf(to, room.head),
      cursorOf(saidFrom?.ms, room.floor, saidFrom?.kind),
      cursorOf(saidTo?.ms, room.head, saidTo?.kind),
    ]);
    const last = Math.min(room.head, end, saidEnd, (before ?? Number.POSITIVE_INFINITY) - 1);
    const lowest = Math.max(room.floor, floor, saidFloor);
    const first = Math.max(lowest, after);
    const chats = stored.map(({ key }) => chatOf(key).chat);
    return { room, chats, after: first, last, floor: before === undefined ? lowest : first };
  }

  async #outside(
    { from, to, saidFrom, saidTo }: HistoryRequest,
    { key, floor, head }: RoomRecord,
    { after, last }: Pick<HistoryRange, "after" | "last">,
  ): Promise<StoredTimes | undefined> {
    const isBounded = [from, to, saidFrom, saidTo].some((bound) => bound !== undefined);
    if (!isBounded || last > after || head === floor) return undefined;
    const first = await this.#store.read(key, floor, EDGE_MESSAGES);
    const newest = await this.#store.read(key, Math.max(floor, head - EDGE_MESSAGES), EDGE_MESSAGES);
    const spanOf = (time: (message: StoredMessage) => number | undefined): Span | undefined => {
      const begin = first.map(time).find((ms) => ms !== undefined);
      const end = newest.map(time).findLast((ms) => ms !== undefined);
      return begin === undefined || end === undefined ? undefined : [begin, end];
    };
    const stored = spanOf(({ storedAt }) => storedAt);
    const said = spanOf((message) => saidTimes(message).said);
    return stored && { stored, said, offset: spanOf((message) => saidTimes(message).offset) };
  }

  /** A part of the range, of which only the messages that pass the filter are kept. */
  #read(
    key: ChatKey,
    range: Omit<TypedPart, "types">,
    filter: HistoryFilter,
    signal: AbortSignal,
  ): Promise<FoundPart> {
    const test = testOf(filter);
    const types = rareTypesOf(filter.types ?? ALL);
    return this.#reads.run(async () => {
      const { authorId } = filter;
      const isByAuthor = authorId !== undefined && types === undefined;
      const place = isByAuthor ? await this.#store.placeOfAuthor(key, { authorId, ...range }) : range;
      if (place.after === place.to) return { ...place, messages: [], examined: 0 };
      const part = await readPart(this.#store, key, { types, ...range, ...place });
      const messages: StoredMessage[] = [];
      await this.slices.each(part.messages, (message) => {
        if (!test || test(message)) messages.push(message);
      });
      return { ...part, messages, examined: part.messages.length };
    }, signal);
  }
}

/** Throws `RelayError` INVALID_REQUEST for a place in the video: messages of a live chat have none. */
function refuseOffsets(bounds: Partial<Record<"saidFrom" | "saidTo", SaidTime | undefined>>): void {
  const [name] = Object.entries(bounds).find(([, bound]) => bound?.kind === "offset") ?? [];
  if (name === undefined) return;
  const why = "only a replay has places in the video, and this is the live chat: give a date, or chat=replay";
  throw new RelayError("INVALID_REQUEST", `${name}: ${why}.`);
}

function lengthOf(batch: readonly StoredMessage[]): number {
  return batch.reduce((sum, { body, details }) => sum + body.length + details.length, 0);
}
