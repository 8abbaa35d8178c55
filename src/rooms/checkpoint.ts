/** Where a room's poller stood, as the store keeps it. */
import type { RoomRecord } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { decodePosition, type Position, UnreadablePosition } from "../upstream/position.ts";

/** Undefined where there is none that can be used: such a room is bootstrapped when a viewer comes. */
export function readCheckpoint(
  { videoId, checkpoint }: RoomRecord,
  telemetry: Telemetry,
): Position | undefined {
  if (checkpoint === null) return undefined;
  try {
    return decodePosition(checkpoint);
  } catch (error) {
    if (!(error instanceof UnreadablePosition)) throw error;
    telemetry.checkpointUnreadable(videoId, error.message);
    return undefined;
  }
}
