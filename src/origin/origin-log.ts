/**
 * The log of one room of an origin: new messages come from one stream, which resumes after the last cursor
 * whenever it breaks; older ones come from the origin's pages.
 */
import type { Clock } from "../base/clock.ts";
import { RELEASED, type RoomEnd } from "../protocol/chat.ts";
import { ChatAbsent } from "../protocol/chat-standing.ts";
import { ERRORS, RelayError } from "../protocol/errors.ts";
import type { CursorRange } from "../serving/resume.ts";
import type { RoomLog } from "../serving/room-log.ts";
import { isUnavailable, type TypedPart } from "../store/port.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import type { OriginEvents } from "../telemetry/origin-events.ts";
import type { Origin } from "./origin.ts";
import type { OriginStream } from "./origin-stream.ts";
import { ReopenWaits } from "./reopen-waits.ts";

interface RoomLogParts {
  origin: Origin;
  clock: Clock;
  events: OriginEvents;
}

/** Where a log is followed from: the messages up to where the stream begins, and the stream. */
interface FollowedStart {
  recent: StoredMessage[];
  stream: OriginStream;
  /** Whether the chat has ended before, so that the messages of the stream are not part of its log. */
  isClosed: boolean;
}

export class OriginRoomLog implements RoomLog {
  readonly isRemote = true;
  readonly #parts: RoomLogParts;
  readonly #opening: FollowedStart | undefined;

  /** Without an opening, the log can be read, but not followed. */
  constructor(parts: RoomLogParts, opening?: FollowedStart) {
    this.#parts = parts;
    this.#opening = opening;
  }

  read(videoId: string, after: number, limit: number): Promise<StoredMessage[]> {
    return this.#page(videoId, this.#parts.origin.messagesAfter(videoId, after, limit));
  }

  readTypes(videoId: string, part: TypedPart): Promise<StoredMessage[]> {
    return this.#page(videoId, this.#parts.origin.messagesOf(videoId, part));
  }

  cursorAt(videoId: string, time: number): Promise<number | undefined> {
    return this.#parts.origin.cursorAt(videoId, time);
  }

  getRoom(videoId: string): Promise<CursorRange | undefined> {
    return this.#parts.origin.range(videoId);
  }

  /** An origin that refuses a page of a room that it had has lost the room, as with a store in memory. */
  async #page<T>(videoId: string, page: Promise<T>): Promise<T> {
    try {
      return await page;
    } catch (error) {
      if (error instanceof RelayError) this.#parts.events.roomLost(videoId, error.message);
      throw error;
    }
  }

  /** Call it once. Returns without an end if the origin does not honour the cursor any more. */
  async *follow(
    videoId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredMessage[] | RoomEnd, void, void> {
    if (!this.#opening) throw new Error(`room ${videoId} is not followed`);
    const { recent, stream: first } = this.#opening;
    let cursor = recent.at(-1)?.cursor ?? after;
    let stream: OriginStream | undefined = first;
    signal.addEventListener("abort", () => stream?.[Symbol.dispose](), { once: true });
    if (recent.length > 0) yield recent;
    while (stream) {
      for await (const next of this.#batches(videoId, stream, signal)) {
        if (Array.isArray(next)) cursor = next.at(-1)?.cursor ?? cursor;
        yield next;
        if (signal.aborted || !Array.isArray(next)) return;
      }
      stream = await this.#resume(videoId, cursor, signal);
    }
  }

  /**
   * The messages of a stream whose log was open when its room was opened. Only the origin knows whether a
   * chat that is over was read to its end, and whether it ended while there was no stream: the messages that
   * follow then belong to its replay, and the room has to be opened again. Rejects with `OriginAway`.
   */
  async *#ofLog(
    videoId: string,
    stream: OriginStream,
  ): AsyncGenerator<StoredMessage[] | RoomEnd, void, void> {
    const { origin } = this.#parts;
    const isResumed = stream !== this.#opening?.stream;
    const closedAt = isResumed ? await origin.closedAt(videoId) : undefined;
    for await (const next of stream.batches()) {
      if (Array.isArray(next)) {
        const isOfLog = closedAt === undefined || (next.at(-1)?.cursor ?? 0) <= closedAt;
        yield isOfLog ? next : RELEASED;
      } else {
        const isRead = next.state !== "ended" || (closedAt ?? (await origin.closedAt(videoId))) !== undefined;
        yield isRead ? next : { ...next, isUnfinished: true };
      }
    }
  }

  /** What a stream brings until it breaks. Then it is closed: the origin counts it as a viewer. */
  async *#batches(
    videoId: string,
    stream: OriginStream,
    signal: AbortSignal,
  ): AsyncGenerator<StoredMessage[] | RoomEnd, void, void> {
    using open = stream;
    try {
      yield* this.#opening?.isClosed ? open.batches() : this.#ofLog(videoId, open);
      this.#parts.events.streamBroke(videoId, "the origin ended it");
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnavailable(error)) throw error;
      this.#parts.events.streamBroke(videoId, error.message);
    }
  }

  /** A stream after the cursor, after any number of tries; undefined if the origin does not honour it. */
  async #resume(videoId: string, cursor: number, signal: AbortSignal): Promise<OriginStream | undefined> {
    const { origin, clock, events } = this.#parts;
    for (const waits = new ReopenWaits(clock); ; ) {
      await waits.next(signal);
      if (signal.aborted) return undefined;
      try {
        const stream = await origin.stream(videoId, { lastEventId: cursor }, signal);
        if (stream.cursor === cursor) return stream;
        stream[Symbol.dispose]();
        events.roomLost(videoId, `it does not continue after cursor ${cursor}`);
        return undefined;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (isUnavailable(error)) continue;
        if (!(error instanceof RelayError || error instanceof ChatAbsent)) throw error;
        if (error instanceof ChatAbsent || ERRORS[error.code].retry === "never") {
          events.roomLost(videoId, error.message);
          return undefined;
        }
        waits.failed(error);
      }
    }
  }
}
