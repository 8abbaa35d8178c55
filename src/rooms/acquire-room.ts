/**
 * The ways to open a room on this instance: served from the store, read here, or followed from another
 * instance.
 */
import { atCapacity } from "../protocol/capacity.ts";
import { isFinal } from "../protocol/chat-standing.ts";
import type { RoomRecord } from "../store/port.ts";
import { recentlyEnded } from "./archive.ts";
import { FollowedRoom } from "./followed-room.ts";
import { isGoingOn, isUnfinished, OwnedRoom, type OwnedRoomParts } from "./owned-room.ts";
import type { NoRoom, RoomApplicant, RoomSource } from "./sources.ts";

/** How long viewers wait while another instance opens the room. */
const LIMIT_MS = 20_000;
/** The interval of checks while another instance opens the room. */
const LOOK_MS = 200;

/**
 * Opens the room of a video. A room that was read recently continues from its checkpoint, and one that
 * another instance reads is followed; otherwise the room is bootstrapped. Rejects as `OwnedRoom.bootstrap`
 * does, and with `RelayError` CAPACITY if another instance owns the room without reading it, or if the store
 * is full and the chat is not recorded.
 */
export async function acquireRoom(
  videoId: string,
  applicant: RoomApplicant,
  parts: OwnedRoomParts,
  stopped: AbortSignal,
): Promise<RoomSource | NoRoom> {
  const { clock, store } = parts;
  for (let until: number | undefined; ; ) {
    const record = await store.getRoom(videoId);
    const ended = applicant.reopens() ? undefined : recentlyEnded(record, parts);
    if (ended) return { ended };
    if (isGoingOn(record, parts)) applicant.queued[Symbol.dispose](); // it needs no turn
    let source = isGoingOn(record, parts)
      ? await resumeRoom(videoId, parts)
      : await bootstrapRoom(record, videoId, applicant, parts, stopped);
    if (source && "absence" in source) {
      // The upstream may still have the last messages of a chat that was not read to its end.
      const hasRest = isFinal(source.absence) && applicant.isResumed() && isUnfinished(record);
      if (!hasRest) return source;
      source = await resumeRoom(videoId, parts);
    }
    if (source) return source;
    if (isUnfinished(record)) return { followed: FollowedRoom.join(record, parts) };
    until ??= clock.monotonic() + LIMIT_MS;
    if (clock.monotonic() >= until) throw atCapacity("elsewhere");
    await clock.sleep(LOOK_MS, stopped);
  }
}

async function resumeRoom(videoId: string, parts: OwnedRoomParts): Promise<RoomSource | undefined> {
  const owned = await OwnedRoom.resume(videoId, parts);
  return owned && { owned };
}

async function bootstrapRoom(
  record: RoomRecord | undefined,
  videoId: string,
  applicant: RoomApplicant,
  parts: OwnedRoomParts,
  stopped: AbortSignal,
) {
  const isRecorded = parts.settings.recorded.has(videoId);
  if (parts.store.health.isFull && !isRecorded) throw atCapacity("store");
  const wasOpen = record !== undefined && record.end?.state !== "ended";
  const isKnown = record !== undefined || applicant.isShown;
  const rank = wasOpen || isRecorded ? "open" : isKnown ? "known" : "unknown";
  using opening = await applicant.queued.turn(rank, stopped);
  return await OwnedRoom.bootstrap(videoId, opening, applicant, parts, stopped);
}
