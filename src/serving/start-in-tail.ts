/** Where a viewer starts, if its room's tail is enough to say so. */
import type { ChatType } from "../protocol/chat.ts";
import type { LogPosition } from "./log-position.ts";
import { MessageFilter } from "./message-filter.ts";
import { backfillCount } from "./resume.ts";
import type { Tail } from "./tail.ts";

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

/** What decides, of a room, where its viewers start; see `Room`. */
export interface StartedRoom {
  readonly chatType: ChatType;
  readonly tail: Tail;
  readonly isFollowed: boolean;
}

/** The cursor at a position of the log; undefined if the tail does not have it. */
export function positionInTail(
  tail: Tail,
  position: LogPosition,
  historyEnd: HistoryEnd | undefined,
): number | undefined {
  if (position === "begin") return undefined;
  if (position === "now") return typeof historyEnd === "number" ? historyEnd : tail.head;
  return tail.holds(position) ? position : undefined;
}

/**
 * The start of an edge's viewer: its cursor, or a backfill that ends with the head; undefined if the tail
 * does not have all of that. `isAway`: the edge's origin does not answer, so a shorter backfill than that
 * asked for will do. `historyEnd`: by default the head.
 */
export function startInTail(
  { tail, chatType, isFollowed }: StartedRoom,
  { lastEventId, from, backfill, filter = MessageFilter.everything }: Beginning,
  historyEnd: HistoryEnd = tail.head,
  isAway = false,
): number | undefined {
  if (lastEventId !== undefined) return tail.holds(lastEventId) ? lastEventId : undefined;
  if (from !== undefined || historyEnd !== tail.head) return undefined;
  const count = backfillCount(backfill, chatType);
  const { start, missing } = tail.backfill(count, filter);
  const willDo = isAway && isFollowed && count !== Number.POSITIVE_INFINITY;
  return missing === 0 || willDo ? start : undefined;
}
