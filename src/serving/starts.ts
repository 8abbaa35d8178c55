/**
 * Finds the cursor after which each viewer of a room starts. Asks the store, unless the tail holds the
 * position of a reader of `/v1/log` or, at an edge, of any viewer. What many viewers look for at the same
 * time is read once for all of them.
 */
import type { VideoFacts } from "../protocol/video-facts.ts";
import { readPart } from "../store/log-reader.ts";
import { EXAMINED_MESSAGES, READ_MESSAGES } from "../store/port.ts";
import { isUnavailable } from "../store/store-error.ts";
import { readVideo } from "../store/stored-video.ts";
import { type LogPosition, positionIn } from "./log-position.ts";
import { MessageFilter } from "./message-filter.ts";
import { backfillCount, resumeCursor } from "./resume.ts";
import type { Room } from "./room.ts";
import type { RoomLog, RoomRange } from "./room-log.ts";
import { rareTypesOf } from "./type-filter.ts";

/**
 * For a viewer without a cursor to resume from: messages up to this cursor are history, of which it gets only
 * its backfill; later ones are sent in full. `none`: nothing is history, so all messages are sent.
 */
export type HistoryEnd = number | "none";

/** Where a connection asks to begin. */
export interface Beginning {
  /** The cursor to resume after. */
  lastEventId: number | undefined;
  /** Undefined if the client named none. */
  backfill: number | undefined;
  /**
   * Without a cursor to resume after, the stream begins with the first message stored at this time or later,
   * in wall milliseconds.
   */
  from?: number | undefined;
  /** By default everything. */
  filter?: MessageFilter;
  /**
   * Set if it reads the chat as a log: from exactly this position, and only up to the first end of the chat.
   * Then `backfill` and `from` mean nothing.
   */
  log?: LogPosition;
}

export class Starts {
  readonly #room: Room;
  readonly #log: RoomLog;
  #range: Promise<RoomRange> | undefined;
  /** What the video is, as the last read of the room has found it; undefined if nothing is known. */
  #video: VideoFacts | undefined;
  #storedVideo: string | null = null;
  /** The searches that are under way, by what they look for. */
  readonly #searches = new Map<string, Promise<number | undefined>>();

  constructor(room: Room, log: RoomLog) {
    this.#room = room;
    this.#log = log;
  }

  /** Resolves to the cursor. `historyEnd`: by default the head. Rejects with `StoreError`. */
  async find(beginning: Beginning, historyEnd?: HistoryEnd): Promise<number> {
    const start = this.#inMemory(beginning, historyEnd);
    if (start !== undefined) return start;
    try {
      return await this.#inLog(beginning, historyEnd);
    } catch (error) {
      const nearest = isUnavailable(error) ? this.#inMemory(beginning, historyEnd, true) : undefined;
      if (nearest === undefined) throw error;
      return nearest;
    }
  }

  /** What the last read of the room said of the video. */
  get video(): VideoFacts | undefined {
    return this.#log.video ?? this.#video;
  }

  #found(video: string | null): void {
    if (video === this.#storedVideo) return;
    this.#storedVideo = video;
    const facts = readVideo(video);
    this.#video = Object.keys(facts).length > 0 ? facts : undefined;
  }

  /** See `Room.holds`. */
  holds(beginning: Beginning): boolean {
    return this.#inMemory(beginning) !== undefined;
  }

  /**
   * The room's cursors; the tail drops the messages below the floor. Shared while a read is in progress,
   * because viewers arrive in waves.
   */
  range(): Promise<RoomRange> {
    const { key, tail } = this.#room;
    this.#range ??= this.#log
      .getRoom(key)
      .then((record) => {
        this.#found(record?.video ?? null);
        if (record) tail.deletedUpTo(record.floor);
        return record ?? { base: tail.head, floor: tail.head, head: tail.head };
      })
      .finally(() => {
        this.#range = undefined;
      });
    return this.#range;
  }

  /** The start, if memory suffices. `isAway`: as in `#edgeStart`. */
  #inMemory(beginning: Beginning, historyEnd?: HistoryEnd, isAway = false): number | undefined {
    if (beginning.log !== undefined) return this.#logInTail(beginning.log, historyEnd);
    return this.#log.isRemote ? this.#edgeStart(beginning, historyEnd, isAway) : undefined;
  }

  /** A position of the log, if the tail has it. */
  #logInTail(log: LogPosition, historyEnd: HistoryEnd | undefined): number | undefined {
    const { tail } = this.#room;
    if (log === "begin") return undefined;
    if (log === "now") return typeof historyEnd === "number" ? historyEnd : tail.head;
    return tail.holds(log) ? log : undefined;
  }

  /**
   * At an edge, a cursor in the tail, or a backfill that ends with the head. `isAway`: the edge's origin does
   * not answer, so a shorter backfill than that asked for will do.
   */
  #edgeStart(
    { lastEventId, from, backfill, filter = MessageFilter.everything }: Beginning,
    historyEnd: HistoryEnd | undefined,
    isAway: boolean,
  ): number | undefined {
    const { tail, chatType, isFollowed } = this.#room;
    if (lastEventId !== undefined) return tail.holds(lastEventId) ? lastEventId : undefined;
    if (from !== undefined || (historyEnd ?? tail.head) !== tail.head) return undefined;
    const count = backfillCount(backfill, chatType);
    const { start, missing } = tail.backfill(count, filter);
    const willDo = isAway && isFollowed && count !== Number.POSITIVE_INFINITY;
    return missing === 0 || willDo ? start : undefined;
  }

  async #inLog(
    { log, lastEventId, from, backfill, filter = MessageFilter.everything }: Beginning,
    historyEnd?: HistoryEnd,
  ) {
    const isEarlier = this.#range !== undefined;
    let range = await this.range();
    // A read that was under way when the viewer came may not know its cursor, if another instance or edge has
    // given it out.
    const cursor = log ?? lastEventId;
    if (isEarlier && typeof cursor === "number" && cursor > range.head) range = await this.range();
    const { key, chatType, tail, closedAt } = this.#room;
    const { floor, head } = range;
    if (log !== undefined) return positionIn(log, floor, closedAt ?? Math.max(head, tail.head));
    // [spec] When `Last-Event-ID` is a valid cursor, the server resumes from exactly after it
    const resumed = resumeCursor(range, lastEventId);
    if (resumed !== undefined) return resumed;
    const end = historyEnd === "none" ? floor : (historyEnd ?? head);
    if (from !== undefined) return (await this.#log.cursorAt(key, from)) ?? head;
    const count = backfillCount(backfill, chatType);
    const isAll = count === Number.POSITIVE_INFINITY || end <= floor;
    if (filter.isEverything || count === 0 || isAll) return Math.max(floor, end - count);
    return this.#beforeNewest(count, filter, floor, end);
  }

  /**
   * The cursor before the newest `count` messages that the filter counts, among those after cursor `floor`
   * up to `end`; if there are fewer, the cursor before the oldest of them. The store is read only for those
   * below the tail, and once for all viewers that wait for the same ones.
   */
  async #beforeNewest(count: number, filter: MessageFilter, floor: number, end: number): Promise<number> {
    const { tail } = this.#room;
    const { start, missing } = tail.backfill(count, filter, floor, end);
    const to = Math.min(end, tail.floor);
    if (missing === 0 || to <= floor) return start;
    const key = `${missing} ${filter.key} ${to}`;
    const search = this.#searches.getOrInsertComputed(key, () =>
      this.#search(missing, filter, floor, to).finally(() => this.#searches.delete(key)),
    );
    return (await search) ?? start;
  }

  /** As `#beforeNewest`, in the store alone; undefined if there is no such message. */
  async #search(
    count: number,
    filter: MessageFilter,
    floor: number,
    end: number,
  ): Promise<number | undefined> {
    const types = rareTypesOf(filter.counted);
    let left = filter.isOfTypes ? Number.POSITIVE_INFINITY : EXAMINED_MESSAGES;
    let start: number | undefined;
    for (let to = end, missing = count; missing > 0 && left > 0 && to > floor; left -= READ_MESSAGES) {
      const limit = types && filter.isOfTypes ? missing : READ_MESSAGES;
      const range = { after: floor, to, limit, isNewest: true };
      const part = await readPart(this.#log, this.#room.key, { types, ...range });
      for (const message of part.messages.toReversed()) {
        if (missing === 0 || !filter.counts(message)) continue;
        start = message.cursor - 1;
        missing -= 1;
      }
      to = part.after;
    }
    return start;
  }
}
