/** Rooms that are over and still answer, from the store alone: who may be told what is kept of a chat, and for how long. */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { RelayError } from "../protocol/errors.ts";
import { isReadable, positionOf } from "../reading/log/checkpoint.ts";
import { resumeCursor } from "../serving/cursor.ts";
import { Room, type RoomParts, type StreamRequest } from "../serving/room.ts";
import type { RoomRecord } from "../store/port.ts";

/** How long a replay that was read to its end answers from the store alone. */
const REPLAY_KEPT_MS = 3_600_000;

const CHAT_OVER: RoomEnd = { state: "ended", reason: "no more continuations" };

/** A room that is over, served from the store; undefined where its checkpoint cannot be read. */
export function archivedRoom(record: RoomRecord, parts: RoomParts): Room | undefined {
  if (!isReadable(record)) return undefined;
  const room = new Room(record.videoId, positionOf(record).chatType, record.head, parts);
  room.finish(CHAT_OVER);
  return room;
}

/** A room that answers from the store for so long yet; `isReplay`: the store can bring it back at any time. */
export interface EndedRoom {
  room: Room;
  isReplay: boolean;
  leftMs: number;
}

/**
 * A chat that was read to its end not long ago needs no upstream: a replay for an hour, a live chat for the grace time,
 * whichever instance read it.
 */
export function recentlyEnded(
  record: RoomRecord | undefined,
  parts: RoomParts & { settings: { graceMs: number } },
): EndedRoom | undefined {
  if (record?.end?.state !== "ended" || record.endedAgoMs === null) return undefined;
  const room = archivedRoom(record, parts);
  if (!room) return undefined;
  const isReplay = room.chatType === "liveChatReplayRenderer";
  const leftMs = (isReplay ? REPLAY_KEPT_MS : parts.settings.graceMs) - Math.max(0, record.endedAgoMs);
  return leftMs > 0 ? { room, isReplay, leftMs } : undefined;
}

/** The chat is over; what is kept of it answers until `until`, on the monotonic clock. */
export interface Archive {
  name: "archived";
  until: number;
  /** A replay that the store can bring back at any time: forgotten as soon as nobody reads it. */
  isReplay?: boolean;
  /** Absent: the store holds nothing of this video. */
  room?: Room | undefined;
  /** The upstream was asked and has no chat: the answer to every viewer that holds no cursor of the room. */
  noChat?: { error: RelayError; record: RoomRecord | undefined };
}

/** Serves a viewer from what is kept of a chat that is over. Rejects with `RelayError` where nothing is kept for it. */
export async function enterArchive(
  { room, noChat, until }: Archive,
  request: StreamRequest,
  clock: Clock,
): Promise<void> {
  const holdsCursor = noChat?.record && resumeCursor(noChat.record, request.lastEventId) !== undefined;
  if (room && (!noChat || holdsCursor)) return room.enter(request);
  const retryAfterMs = until - clock.monotonic();
  const { code, message } = noChat?.error ?? new RelayError("NO_LIVE_CHAT", "The chat is over.");
  throw new RelayError(code, message, retryAfterMs > 0 ? { retryAfterMs } : {});
}

/** Whether there surely is no chat. With a cause it may stand behind a wall: who resumes its room must come again. */
export function isOver(error: unknown): error is RelayError {
  return error instanceof RelayError && error.code === "NO_LIVE_CHAT" && error.cause === undefined;
}
