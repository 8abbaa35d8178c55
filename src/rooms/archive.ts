/** Finished rooms that still serve viewers from the store: which requests they answer, and for how long. */
import type { Clock } from "../base/clock.ts";
import { ENDED } from "../protocol/chat.ts";
import { chatNamed, chatOf } from "../protocol/chat-key.ts";
import { type Absence, ChatAbsent, mayReturn } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";
import { captureOf } from "../reading/batch/checkpoint.ts";
import { type CursorRange, resumeCursor } from "../serving/resume.ts";
import { Room, type RoomParts, type StreamRequest } from "../serving/room.ts";
import { notStored, type RoomRecord, type StoreError } from "../store/port.ts";
import type { StoredChat } from "./past-chats.ts";

/** How long a replay that was read to its end is served from the store alone. */
const REPLAY_KEPT_MS = 3_600_000;

/** A finished room, served from the store. */
function archivedRoom(record: RoomRecord, parts: RoomParts): Room {
  const room = new Room(record.videoId, record.head, parts);
  room.finish(ENDED);
  return room;
}

/**
 * A room that is served from the store for `leftMs` more. `isReplay`: whether it is a replay, which the store
 * can load again at any time.
 */
export interface EndedRoom {
  room: Room;
  isReplay: boolean;
  leftMs: number;
}

/**
 * The room of a chat that ended recently, whichever instance read it, unless another chat of the video may go
 * on. It is served without a call to the upstream. A replay is kept for an hour, a live chat for the grace
 * time, and an imported chat for ever. `stored`: the chats of the video, the live one first.
 */
export function recentlyEnded(
  stored: readonly RoomRecord[],
  parts: RoomParts & { settings: { graceMs: number } },
): EndedRoom | undefined {
  if (stored.some(({ end }) => end?.state !== "ended")) return undefined;
  for (const record of stored) {
    const { endedAgoMs } = record;
    if (endedAgoMs === null) return undefined;
    const isReplay = chatOf(record.videoId).chat === "replay";
    const keptMs = captureOf(record)
      ? Number.POSITIVE_INFINITY
      : isReplay
        ? REPLAY_KEPT_MS
        : parts.settings.graceMs;
    const leftMs = keptMs - Math.max(0, endedAgoMs);
    if (leftMs > 0) return { room: archivedRoom(record, parts), isReplay, leftMs };
  }
  return undefined;
}
/** A chat that is not read any more, or not there. The stored part is served until `until`, monotonic. */
export interface Archive {
  name: "archived";
  until: number;
  /**
   * Whether the chat is a replay. The store can load a replay again at any time, so the service drops it from
   * memory when its last viewer leaves.
   */
  isReplay?: boolean;
  /** Undefined if the store has nothing of this video, or has not said what it has of it. */
  room?: Room | undefined;
  /**
   * Set if a page has said that the chat is not there: every viewer without a cursor of the room is refused
   * with this. `stored`: the chats that were stored then. While the store has not said what it has of the
   * room, one with a cursor gets the failure of the store.
   */
  noChat?: { absence: Absence; stored: readonly StoredChat[]; failure?: StoreError };
}

/**
 * Whether this viewer may not be served from it, so that the video is looked for again. `look`: for the chats
 * that are stored now. Rejects with `StoreError`.
 */
export async function isStale(
  { room, noChat }: Archive,
  request: StreamRequest,
  look: () => Promise<readonly StoredChat[]>,
): Promise<boolean> {
  if (request.reopens || (noChat && request.isFresh)) return true;
  if (noChat && !noChat.failure && request.lastEventId !== undefined) {
    const holds = (range: CursorRange) => resumeCursor(range, request.lastEventId) !== undefined;
    const [first] = noChat.stored;
    // A chat that may come back has viewers that wait for it.
    if (first && mayReturn(noChat.absence) && holds(first)) return true;
    // Another instance may have read the chat since.
    if (!noChat.stored.some(holds) && (await look()).some(holds)) return true;
  }
  return (await room?.isMoved(request)) === true;
}

/**
 * Serves a viewer from the stored part of a finished chat. Rejects with `RelayError` if there is nothing for
 * it, and with `StoreError` if that is not known.
 */
export async function enterArchive(
  { room, noChat, until }: Archive,
  request: StreamRequest,
  clock: Clock,
): Promise<void> {
  if (room && request.chat && chatNamed(room.chatType) !== request.chat)
    throw notStored(room.videoId, request.chat);
  const [first] = noChat?.stored ?? [];
  const holdsCursor = first && resumeCursor(first, request.lastEventId) !== undefined;
  if (room && (!noChat || holdsCursor)) return room.enter(request);
  const continues = request.lastEventId !== undefined || request.log !== undefined;
  if (noChat?.failure && continues) throw noChat.failure;
  const retryAfterMs = until - clock.monotonic();
  const rememberedMs = retryAfterMs > 0 ? retryAfterMs : undefined;
  if (noChat) throw new ChatAbsent(noChat.absence, rememberedMs);
  throw new RelayError("NO_LIVE_CHAT", "The chat is over.", { retryAfterMs: rememberedMs });
}
