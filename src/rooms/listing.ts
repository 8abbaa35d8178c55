/** The list of stored and open rooms, for operators. */
import type { RoomEnd } from "../protocol/chat.ts";
import type { RoomSummary } from "../store/port.ts";
import type { RoomState } from "./entry-host.ts";

export interface ListedRoom {
  videoId: string;
  /** The state of the open room; for a room that is not open, its final state. */
  state: RoomState;
  /** The number of stored messages. */
  messages: number;
  /**
   * The times at which the first and the last of them were stored, ISO 8601 in UTC; null if there are none.
   */
  firstAt: string | null;
  lastAt: string | null;
  viewers: number;
  /** Milliseconds since the last good answer of the upstream; null if the room is not read. */
  lateMs: number | null;
  /** The number of `gap` messages among them. */
  gaps: number;
  /** The name of the egress by which this instance reads the room; null if it does not. */
  egress: string | null;
  /**
   * The number of full answers since this instance began to read the room, each of which may have left
   * messages out; null if this instance does not read it.
   */
  fullAnswers: number | null;
}

/** The open room of a video on this instance. */
export interface LocalRoom {
  state: RoomState;
  viewers: number;
  /** Undefined if this instance does not read the room. */
  reading: { egress: string; fullAnswers: number } | undefined;
}

/** A room's state: the one in which this instance has it open, else its last one. */
export function stateOf(end: RoomEnd | null, local: RoomState | undefined): RoomState {
  return local ?? end?.state ?? "released";
}

export function listedRoom(
  { videoId, floor, head, end, readAgoMs, firstAt, lastAt, gaps }: RoomSummary,
  local: LocalRoom | undefined,
): ListedRoom {
  const state = stateOf(end, local?.state);
  const isRead = state === "polling" || state === "lingering";
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    videoId,
    state,
    messages: head - floor,
    firstAt: iso(firstAt),
    lastAt: iso(lastAt),
    viewers: local?.viewers ?? 0,
    lateMs: isRead ? Math.max(0, Math.round(readAgoMs)) : null,
    gaps,
    egress: local?.reading?.egress ?? null,
    fullAnswers: local?.reading?.fullAnswers ?? null,
  };
}
