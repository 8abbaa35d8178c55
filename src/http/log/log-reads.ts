/**
 * Reads the log of a video, apart from Fastify: in pages, by long polling, or as events. Work is shared per
 * log, not repeated per reader.
 */
import { SharedWork } from "../../base/shared-work.ts";
import { Origin } from "../../origin/origin.ts";
import { type Chat, isOver } from "../../protocol/chat.ts";
import { chatNamed } from "../../protocol/chat-key.ts";
import { isRefusal } from "../../protocol/errors.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import { CacheCursors } from "../../serving/cache-cursors.ts";
import type { History } from "../../serving/history/history.ts";
import { ANSWERS, EventForms } from "../../serving/log-forms.ts";
import { type LogPosition, positionInTail } from "../../serving/log-position.ts";
import type { Room, StreamRequest } from "../../serving/room.ts";
import type { Sink } from "../../serving/sink.ts";
import type { LoopParts } from "../../telemetry/background.ts";
import type { ViewerPlace } from "../access/viewer-places.ts";
import type { RequestTurns } from "../connections/request-turns.ts";
import { StayLimit } from "../connections/stay-limit.ts";
import { zippedPage } from "../zipped-page.ts";
import { headAnswer, type LogAnswer, type LogPart, PAGE_MESSAGES, pageAnswer } from "./log-answer.ts";
import { type PollParts, PollSink } from "./poll-sink.ts";

export interface LogSettings {
  /** How long a long poll waits, in milliseconds. */
  longPollMs: number;
  /** How long a connection with events stays open, in milliseconds; 0: as long as its client wants. */
  sseMs: number;
}

/** A request for a log, whose values are checked. */
export interface LogAsked {
  videoId: string;
  /** Undefined: the live chat if it is stored. */
  chat?: Chat | undefined;
  position: LogPosition;
  /** The cache's cursor that the client sent. */
  cursor?: string | undefined;
  isGzip: boolean;
  /** The reader's address, or its network. */
  address(): string;
}

interface LogReadsParts extends LoopParts {
  rooms: Rooms;
  /** Where the pages are: in this instance's store, or at the origin of an edge. */
  source: { history: History } | Origin;
  /** Whether deletions change stored messages; may change at any time. */
  isBlanking(): boolean;
  turns: RequestTurns;
  log: LogSettings;
}

export class LogReads {
  readonly #parts: LogReadsParts;
  readonly #cursors: CacheCursors;
  readonly #eventForms: EventForms;
  readonly #polls: PollParts;
  readonly #connections: StayLimit<Sink>;
  /** The pages that are being made. */
  readonly #pages = new SharedWork<LogAnswer | undefined>();

  constructor(parts: LogReadsParts) {
    const { rooms, clock, log } = parts;
    this.#parts = parts;
    this.#cursors = new CacheCursors(clock);
    this.#eventForms = new EventForms(this.#cursors);
    const end = (sink: Sink) => sink.end();
    this.#polls = { waits: new StayLimit(parts, log.longPollMs, rooms.stopped, end), cursors: this.#cursors };
    this.#connections = new StayLimit(parts, log.sseMs, rooms.stopped, end);
  }

  /**
   * One page, made once for all clients that ask for it meanwhile; undefined if the origin has it. If nothing
   * of the video is stored, the room is opened first, by a long poll that ends at once. That poll needs a
   * viewer's place, which `takePlace` takes. Rejects with `RelayError`, and as `Rooms.enter` and `takePlace`
   * do.
   */
  async page(
    { videoId, chat, position, isGzip, address }: LogAsked,
    gone: AbortSignal,
    takePlace?: () => Promise<ViewerPlace>,
  ): Promise<LogAnswer | undefined> {
    const { turns } = this.#parts;
    const make = (abandoned: AbortSignal) =>
      turns.run(() => this.#makePage({ videoId, chat, position, isGzip }, abandoned), abandoned);
    const key = `${videoId} ${chat} ${position} ${isGzip}`;
    const read = () => turns.accept(() => this.#pages.run(key, make, gone));
    return await read().catch(async (error) => {
      if (!isRefusal(error, "NOT_STORED")) throw error;
      const place = await takePlace?.();
      try {
        const sink = await this.poll({ videoId, chat, address, position: "begin", isGzip: false }, gone);
        sink.end();
      } finally {
        place?.giveBack();
      }
      return await read();
    });
  }

  async #makePage(
    { position, isGzip, ...named }: Pick<LogAsked, "videoId" | "chat" | "position" | "isGzip">,
    abandoned: AbortSignal,
  ): Promise<LogAnswer | undefined> {
    const limit = position === "now" ? 0 : PAGE_MESSAGES;
    const part = await this.#part(named, position, limit, abandoned);
    const answer = part && pageAnswer(position, part);
    if (!isGzip || !answer?.body) return answer;
    const headers = { ...answer.headers, "content-encoding": "gzip" };
    return { ...answer, headers, body: await zippedPage(answer.body, abandoned) };
  }

  /**
   * Where a stored log ends; undefined if the origin knows. Rejects as `History.page` does, and with
   * `RelayError` OFFSET_GONE if the log does not have the position.
   */
  async head(
    { position, ...named }: Pick<LogAsked, "videoId" | "chat" | "position">,
    gone: AbortSignal,
  ): Promise<LogAnswer | undefined> {
    const part = await this.#part(named, position === "begin" ? "now" : position, 0, gone);
    return part && headAnswer(position, part);
  }

  /** A sink that waits for the first messages after the position. Rejects as `Rooms.enter` does. */
  async poll({ isGzip, cursor, ...asked }: LogAsked, gone: AbortSignal): Promise<PollSink> {
    const { position } = asked;
    const form = isGzip ? ANSWERS.gzip : ANSWERS.plain;
    const minCacheCursor = this.#cursors.minFor(cursor);
    const { promise, resolve } = Promise.withResolvers<PollSink>();
    await this.#enter(asked, gone, (start, room) => {
      const sink = new PollSink({ form, position, minCacheCursor }, start, room, this.#polls);
      resolve(sink);
      return sink;
    });
    return await promise;
  }

  /** Opens a connection with events. Rejects as `Rooms.enter` does, and with what `open` throws. */
  async events(
    { cursor, ...asked }: Omit<LogAsked, "isGzip">,
    gone: AbortSignal,
    open: (forms: ReturnType<EventForms["for"]>, closed: () => void) => Sink,
  ): Promise<void> {
    const forms = this.#eventForms.for(cursor);
    await this.#enter(asked, gone, () => {
      const sink = open(forms, () => this.#connections.delete(sink));
      if (this.#parts.log.sseMs > 0) this.#connections.add(sink);
      return sink;
    });
  }

  #enter(
    { position, ...asked }: Pick<LogAsked, "videoId" | "chat" | "position" | "address">,
    gone: AbortSignal,
    openSink: StreamRequest["openSink"],
  ): Promise<void> {
    // Which chat of the video serves a cursor is decided by `lastEventId`, also for readers of a log.
    const lastEventId = position === "now" ? undefined : position === "begin" ? 0 : position;
    return this.#parts.rooms.enter({ ...asked, log: position, lastEventId, backfill: 0, openSink }, gone);
  }

  async #part(
    { videoId, chat }: Pick<LogAsked, "videoId" | "chat">,
    position: LogPosition,
    limit: number,
    gone: AbortSignal,
  ): Promise<LogPart | undefined> {
    const { rooms, source, isBlanking } = this.#parts;
    if (source instanceof Origin) {
      const room = rooms.roomOf(videoId);
      const isAsked = room && chatNamed(room.chatType) === (chat ?? "live"); // else only the origin knows
      return isAsked ? heldPart(room, position, isBlanking()) : undefined;
    }
    const after = typeof position === "number" ? { after: position } : {};
    const { room, messages } = await source.history.page(
      { videoId, chat, ...after, isLog: true, filter: {} },
      limit,
      gone,
    );
    return {
      videoId,
      messages,
      floor: room.floor,
      end: room.head,
      isClosed: isOver(room.end),
      blankedBy: isBlanking() ? room.head : undefined,
    };
  }
}

/** The part of a log after a position, if the edge holds all of it; else undefined. */
function heldPart(room: Room, position: LogPosition, isBlanking: boolean): LogPart | undefined {
  const { videoId, tail } = room;
  const floor = positionInTail(position, tail);
  if (floor === undefined) return undefined;
  const end = tail.head;
  const isClosed = isOver(room.end);
  const blankedBy = isBlanking ? end : undefined;
  return { videoId, floor, end, isClosed, blankedBy, messages: tail.messages(floor, end) };
}
