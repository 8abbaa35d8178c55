/** What is stored and what is currently read, room by room, for operators. */
import type { RoomSummary } from "../store/port.ts";
import type { RoomState } from "./entry-host.ts";

export interface ListedRoom {
  videoId: string;
  /** That of the open room; of a room that is not open the final one that it was left in. */
  state: RoomState;
  /** How many are kept. */
  messages: number;
  /** When the first and the last of them were stored, ISO 8601 in UTC; null where there is none. */
  firstAt: string | null;
  lastAt: string | null;
  viewers: number;
  /** Milliseconds since the last good answer of the upstream, of a room that is read; else null. */
  lateMs: number | null;
  /** How many messages of type `gap` are among them. */
  gaps: number;
  /** The name of the egress by which this instance reads it; null where it does not. */
  egress: string | null;
  /** How many answers came full, so that something may be missing, since this instance reads it; null where it does not. */
  fullAnswers: number | null;
}

/** What this instance has open of a video. */
export interface OpenRoom {
  state: RoomState;
  viewers: number;
  /** Undefined where this instance does not read it. */
  reading: { egress: string; fullAnswers: number } | undefined;
}

export function listedRoom(
  { videoId, floor, head, end, readAgoMs, firstAt, lastAt, gaps }: RoomSummary,
  open: OpenRoom | undefined,
): ListedRoom {
  const state = open?.state ?? end?.state ?? "released";
  const isRead = state === "polling" || state === "lingering";
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    videoId,
    state,
    messages: head - floor,
    firstAt: iso(firstAt),
    lastAt: iso(lastAt),
    viewers: open?.viewers ?? 0,
    lateMs: isRead ? Math.max(0, Math.round(readAgoMs)) : null,
    gaps,
    egress: open?.reading?.egress ?? null,
    fullAnswers: open?.reading?.fullAnswers ?? null,
  };
}
