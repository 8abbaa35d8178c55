/**
 * Opens a room on this instance: serves it from the store, reads it here, or follows another instance. This
 * file itself refuses with CAPACITY if the chat has no place, if it needs a page while the store is full and
 * it is not recorded, or if another instance owns the room for 20 s without reading it.
 */
import { atCapacity } from "../../protocol/capacity.ts";
import { type Chat, isOver } from "../../protocol/chat.ts";
import { chatOf, typeOfChat } from "../../protocol/chat-key.ts";
import { storedChats } from "../../serving/chat-choice.ts";
import type { RoomRecord } from "../../store/port.ts";
import { FollowedRoom } from "../followed-room.ts";
import { isResumable, isUnfinished, OwnedRoom, type OwnedRoomParts } from "../owned-room.ts";
import { recentlyEnded } from "../remembered-chats.ts";
import type { Acquired, RoomApplicant } from "../sources.ts";
import { type OpeningResult, openFromPage } from "./room-opening.ts";

/** How long viewers wait while another instance opens the room. */
const LIMIT_MS = 20_000;
/** The interval of checks while another instance opens the room. */
const CHECK_MS = 200;

/**
 * Opens the room of a video. A room that was read recently continues from its checkpoint, and one that
 * another instance reads is followed; otherwise its page is loaded. A place for the chat is asked for first;
 * it is taken before the room continues, or once a page has shown its type. Rejects as `openFromPage` and
 * `QueuedOpening.turn` do, and with `RelayError` CAPACITY if no further chat of its type may be open, if
 * another instance owns the room without reading it, or if the store is full and the chat is not recorded.
 */
export async function acquireRoom(
  videoId: string,
  applicant: RoomApplicant,
  parts: OwnedRoomParts,
  signal: AbortSignal,
): Promise<Acquired> {
  const { clock, store } = parts;
  for (let until: number | undefined; ; ) {
    const stored = await storedChats(store, videoId);
    const ended = applicant.waiting.reopens ? undefined : recentlyEnded(stored, parts);
    if (ended) return { is: "ended", ended };
    applicant.places.assertFree(videoId, applicant.waiting.expectedType(expectedChat(stored)));
    const resumable = stored.find((room) => isResumable(room, parts));
    if (resumable) {
      applicant.places.take(videoId, typeOfChat(chatOf(resumable.key).chat));
      applicant.queued[Symbol.dispose](); // it needs no turn
    }
    const result = resumable
      ? await resumeRoom(resumable, parts)
      : await openInTurn(stored, videoId, applicant, parts, signal);
    if (result.is === "owned" || result.is === "absent") return result;
    if (result.is === "ended") continue; // it is served as one that ended recently
    const read = stored.find(isUnfinished);
    if (read) return { is: "followed", followed: FollowedRoom.join(read, parts) };
    until ??= clock.monotonic() + LIMIT_MS;
    if (clock.monotonic() >= until) throw atCapacity("elsewhere");
    await clock.sleep(CHECK_MS, signal);
  }
}

/** The chat that a video has now, as far as the store says: after a live chat that has ended, its replay. */
function expectedChat(stored: readonly RoomRecord[]): Chat | undefined {
  const open = stored.find(({ end }) => !isOver(end));
  if (open) return chatOf(open.key).chat;
  return stored.length > 0 ? "replay" : undefined;
}

async function resumeRoom({ key }: RoomRecord, parts: OwnedRoomParts): Promise<OpeningResult> {
  const owned = await OwnedRoom.resume(key, parts);
  return owned ? { is: "owned", owned } : { is: "elsewhere" };
}

async function openInTurn(
  stored: readonly RoomRecord[],
  videoId: string,
  applicant: RoomApplicant,
  parts: OwnedRoomParts,
  signal: AbortSignal,
): Promise<OpeningResult> {
  const isRecorded = parts.recorded.has(videoId);
  if (parts.store.health.isStoreFull && !isRecorded) throw atCapacity("store");
  const wasOpen = stored.some(({ end }) => !isOver(end));
  const isKnown = stored.length > 0 || applicant.isShown;
  const rank = wasOpen || isRecorded ? "open" : isKnown ? "known" : "unknown";
  using turn = await applicant.queued.turn(rank, signal);
  return await openFromPage(videoId, turn, applicant, parts, signal);
}
