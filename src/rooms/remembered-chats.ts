/**
 * The memory of chats that have ended or are absent: which viewers the store serves, which need the video
 * opened again, and until when.
 */
import type { Clock } from "../base/clock.ts";
import { ENDED, isOver } from "../protocol/chat.ts";
import { chatNamed, chatOf } from "../protocol/chat-key.ts";
import { type Absence, ChatAbsent, mayReturn } from "../protocol/chat-standing.ts";
import { captureOf } from "../reading/batch/checkpoint.ts";
import { leftAfterEnd, type StoredChat } from "../serving/chat-choice.ts";
import { belongsTo, type CursorRange } from "../serving/resume-or-backfill.ts";
import { Room, type RoomParts, type StreamRequest } from "../serving/room.ts";
import type { RoomRecord } from "../store/port.ts";
import { isUnavailable, notStored, type StoreError } from "../store/store-error.ts";

/** How long a replay that was read to its end is served from the store alone. */
const REPLAY_KEPT_MS = 3_600_000;

/** Ends a room that follows nothing: its viewers get its stored messages, then the end. Returns it. */
export function endedRoom(room: Room): Room {
  room.finish(ENDED);
  return room;
}

/** A room that is served from the store for `leftMs` more. */
export interface EndedRoom {
  room: Room;
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
  if (stored.some(({ end }) => !isOver(end))) return undefined;
  for (const record of stored) {
    const { endedAgoMs } = record;
    if (endedAgoMs === null) return undefined;
    const isReplay = chatOf(record.key).chat === "replay";
    const keptMs = captureOf(record)
      ? Number.POSITIVE_INFINITY
      : isReplay
        ? REPLAY_KEPT_MS
        : parts.settings.graceMs;
    const leftMs = leftAfterEnd(endedAgoMs, keptMs);
    if (leftMs > 0) return { room: endedRoom(new Room(record.key, record.head, parts)), leftMs };
  }
  return undefined;
}

/**
 * A chat that is over. Its room is served from the store until `until`, monotonic. One of a replay leaves
 * memory with its last viewer, since the store can serve it again at any time.
 */
interface Ended {
  name: "ended";
  room: Room;
  until: number;
}

/** A chat that is not there, as a page has said. It is remembered until `until`, monotonic. */
export interface Absent {
  name: "absent";
  absence: Absence;
  /** The chats of the video that were stored then; none while the store fails (`failure`). */
  stored: readonly StoredChat[];
  failure?: StoreError;
  /** The room of the first of them, if that has ended: for viewers with its cursors. */
  room?: Room | undefined;
  until: number;
}

/** What an entry remembers of a chat that it neither reads nor follows. */
export type Remembered = Ended | Absent;

/**
 * Whether this viewer needs the video opened again, because the remembered chat cannot serve it. `read`:
 * reads the chats that are stored now. Rejects with `StoreError`.
 */
export async function reopensFor(
  remembered: Remembered,
  request: StreamRequest,
  read: () => Promise<readonly StoredChat[]>,
): Promise<boolean> {
  const asksAgain = request.isShown || request.isRecording;
  if (request.reopens || (remembered.name === "absent" && asksAgain)) return true;
  if (remembered.name === "absent" && !remembered.failure && request.lastEventId !== undefined) {
    const { absence, stored } = remembered;
    const holds = (range: CursorRange) => belongsTo(range, request.lastEventId);
    const [first] = stored;
    // The chat may come back: the viewer waits for it in its room, which must be opened for that.
    if (first && first.is !== "ended" && mayReturn(absence) && holds(first)) return true;
    // The viewer has a cursor that was not stored then. If it is stored now, another instance has read the
    // chat since, and this memory is out of date.
    if (!stored.some(holds) && (await read()).some(holds)) return true;
  }
  return remembered.room !== undefined && (await isReadOn(remembered.room, request, read));
}

/**
 * Whether the chat has messages that its ended room does not have, or may get some: another instance or the
 * origin reads it again, the stored cursors were shifted, or the origin has read it again after a loss.
 */
async function isReadOn(
  room: Room,
  request: StreamRequest,
  read: () => Promise<readonly StoredChat[]>,
): Promise<boolean> {
  try {
    const chat = (await read()).find(({ key }) => key === room.key);
    return chat !== undefined && (chat.is !== "ended" || chat.head > room.head);
  } catch (error) {
    if (isUnavailable(error) && room.needsNoLog(request)) return false;
    throw error;
  }
}

/**
 * Serves a viewer from the stored part of a chat that is not there, if it has a cursor of it. Rejects with
 * `ChatAbsent` if not, with `RelayError` NOT_STORED if it names another chat, and with `StoreError` for a
 * cursor or a log while it is unknown which chats are stored.
 */
export async function serveFromAbsent(
  { absence, stored, failure, room, until }: Absent,
  request: StreamRequest,
  clock: Clock,
): Promise<void> {
  const { chat, lastEventId, log } = request;
  if (room && chat && chatNamed(room.chatType) !== chat) throw notStored(room.videoId, chat);
  const [first] = stored;
  if (room && first && belongsTo(first, lastEventId)) return room.add(request);
  if (failure && (lastEventId !== undefined || log !== undefined)) throw failure;
  const leftMs = until - clock.monotonic();
  throw new ChatAbsent(absence, leftMs > 0 ? leftMs : undefined);
}
