/**
 * Finds the cursor after which each viewer of a room starts. Asks the store, unless the tail holds the
 * position of a reader of `/v1/log` or, at an edge, of any viewer. Viewers that look for the same at the same
 * time share a read. A position of `/v1/log` that the log has lost, or never had, is refused with
 * OFFSET_GONE. A viewer whose next messages were deleted gets all that is left; a viewer with a cursor of
 * another log gets a backfill.
 */
import { InFlight } from "../base/shared-work.ts";
import type { ChatType } from "../protocol/chat.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import { readPart } from "../store/log-reader.ts";
import { EXAMINED_MESSAGES, READ_MESSAGES } from "../store/port.ts";
import { isUnavailable } from "../store/store-error.ts";
import { positionIn, positionInTail } from "./log-position.ts";
import { MessageFilter } from "./message-filter.ts";
import { type Beginning, backfillCount, type HistoryEnd, resumeCursor } from "./resume-or-backfill.ts";
import type { RoomCursors } from "./room-cursors.ts";
import type { RoomLog } from "./room-log.ts";
import type { Tail } from "./tail.ts";
import { rareTypesOf } from "./type-filter.ts";

/** What they need of their room; see `Room`. */
interface StartsRoom {
  readonly key: ChatKey;
  readonly chatType: ChatType;
  readonly tail: Tail;
  readonly isFollowed: boolean;
  readonly closedAt: number | undefined;
}

export class Starts {
  readonly #room: StartsRoom;
  readonly #log: RoomLog;
  readonly #cursors: RoomCursors;
  /** The searches in flight, by what they look for. */
  readonly #searches = new InFlight<number | undefined, string>();

  constructor(room: StartsRoom, log: RoomLog, cursors: RoomCursors) {
    this.#room = room;
    this.#log = log;
    this.#cursors = cursors;
  }

  /**
   * Resolves to the cursor. `historyEnd`: by default the head. Rejects with `StoreError`, as `readPart` does,
   * and with `RelayError` OFFSET_GONE for a reader of `/v1/log`.
   */
  async find(beginning: Beginning, historyEnd?: HistoryEnd): Promise<number> {
    const start = this.#inTail(beginning, historyEnd);
    if (start !== undefined) return start;
    try {
      return await this.#inLog(beginning, historyEnd);
    } catch (error) {
      const nearest = isUnavailable(error) ? this.#inTail(beginning, historyEnd, true) : undefined;
      if (nearest === undefined) throw error;
      return nearest;
    }
  }

  /** See `Room.needsNoLog`. */
  needsNoLog(beginning: Beginning): boolean {
    return this.#inTail(beginning) !== undefined;
  }

  /**
   * The cursor, if the tail is enough to say so. `isAway`: an edge's origin does not answer, so a shorter
   * backfill than that asked for will do.
   */
  #inTail(
    { log, lastEventId, from, backfill, filter = MessageFilter.everything }: Beginning,
    historyEnd?: HistoryEnd,
    isAway = false,
  ): number | undefined {
    const { tail, chatType, isFollowed } = this.#room;
    const { isElsewhere } = this.#log;
    const position = log ?? (isElsewhere ? lastEventId : undefined);
    const end = historyEnd === "none" ? undefined : historyEnd;
    if (position !== undefined) return positionInTail(position, tail, end);
    if (!isElsewhere || from !== undefined || (historyEnd ?? tail.head) !== tail.head) return undefined;
    const count = backfillCount(backfill, chatType);
    const { start, missing } = tail.backfill(count, filter);
    const willDo = isAway && isFollowed && count !== Number.POSITIVE_INFINITY;
    return missing === 0 || willDo ? start : undefined;
  }

  async #inLog(
    { log, lastEventId, from, backfill, filter = MessageFilter.everything }: Beginning,
    historyEnd?: HistoryEnd,
  ) {
    const range = await this.#cursors.readFor(log ?? lastEventId);
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
    return (await this.#searches.join(() => this.#search(missing, filter, floor, to), key)) ?? start;
  }

  /**
   * As `#beforeNewest`, in the store alone; undefined if there is no such message. If the types alone do not
   * decide, it examines about `EXAMINED_MESSAGES` at most.
   */
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
