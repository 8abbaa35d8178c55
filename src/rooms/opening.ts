/** How a room comes to be open on this instance: from the store alone, read by this instance, or by another one. */
import { Deadline } from "../deadline.ts";
import { RelayError } from "../protocol/errors.ts";
import type { StartAt } from "../serving/room.ts";
import { type EndedRoom, recentlyEnded } from "./archive.ts";
import { FollowedRoom } from "./followed-room.ts";
import { OwnedRoom, type OwnedRoomParts, type RoomApplicant } from "./owned-room.ts";

/** How long viewers wait while another instance opens the room, and what they are told to wait then. */
const LIMIT_MS = 20_000;
const RETRY_AFTER_MS = 1000;

export type OpenRoom =
  | { ended: EndedRoom }
  /** Those who waited for it begin where `startAt` says; absent: as in any open room. */
  | { owned: OwnedRoom; startAt?: StartAt }
  | { followed: FollowedRoom };

type Parts = OwnedRoomParts & { settings: { graceMs: number } };

/**
 * Opens the room of a video. A room that was open before goes before videos that may have no chat. Rejects as `OwnedRoom.open` does, and with `RelayError` CAPACITY where another instance
 * does not get to reading it.
 */
export async function openRoom(
  videoId: string,
  asked: Omit<RoomApplicant, "isFirst">,
  parts: Parts,
  stopped: AbortSignal,
): Promise<OpenRoom> {
  const record = await parts.store.getRoom(videoId);
  const ended = recentlyEnded(record, parts);
  if (ended) return { ended };
  const wasOpen = record !== undefined && record.end?.state !== "ended";
  const applicant = { ...asked, isFirst: wasOpen || parts.settings.recorded.has(videoId) };
  using limit = new Deadline(parts.clock, LIMIT_MS);
  for (;;) {
    const opened = await OwnedRoom.open(videoId, applicant, parts, stopped);
    if (opened) return opened;
    const followed = await joinOther(videoId, parts, stopped, limit.signal);
    if (followed) return { followed };
  }
}

/** The room as another instance reads it, once it does; undefined where nobody owns it after all. */
async function joinOther(
  videoId: string,
  parts: Parts,
  stopped: AbortSignal,
  limit: AbortSignal,
): Promise<FollowedRoom | undefined> {
  const { peers } = parts.store;
  if (!peers || limit.aborted) throw ownedElsewhere();
  const record = await peers.opened(videoId, AbortSignal.any([limit, stopped])).catch((error) => {
    throw limit.aborted ? ownedElsewhere() : error;
  });
  if (!record) return undefined;
  const followed = FollowedRoom.join(record, parts, peers);
  if (!followed) throw ownedElsewhere();
  return followed;
}

export function ownedElsewhere(): RelayError {
  return new RelayError("CAPACITY", "Another instance reads this chat.", { retryAfterMs: RETRY_AFTER_MS });
}
