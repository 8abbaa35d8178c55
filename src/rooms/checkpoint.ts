/** What the store keeps with each append, so that a room goes on after a restart: the upstream's position, and the room's own memory. */
import { asArray, asString, dig, parseJson } from "../json.ts";
import type { RoomRecord } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { decodePosition, encodePosition, type Position, UnreadablePosition } from "../upstream/position.ts";
import type { AuthorDeletions } from "./resolve.ts";

export function encodeCheckpoint(position: Position, deletions: AuthorDeletions): string {
  return JSON.stringify({ position: encodePosition(position), deletions: [...deletions] });
}

/** Undefined where there is none that can be used: such a room is bootstrapped when a viewer comes. */
export function readCheckpoint(
  { videoId, checkpoint }: RoomRecord,
  telemetry: Telemetry,
): Position | undefined {
  if (checkpoint === null) return undefined;
  try {
    // The first checkpoints held nothing but the position.
    return decodePosition(asString(dig(parseJson(checkpoint), "position")) ?? checkpoint);
  } catch (error) {
    if (!(error instanceof UnreadablePosition)) throw error;
    telemetry.checkpointUnreadable(videoId, error.message);
    return undefined;
  }
}

/** The deletions that a checkpoint holds; none where it cannot be read. */
export function deletionsIn(checkpoint: string | null): AuthorDeletions {
  const entries = asArray(dig(parseJson(checkpoint ?? ""), "deletions")) ?? [];
  return new Map(
    entries.flatMap((entry): [string, string | null][] => {
      const author = asString(dig(entry, 0));
      return author === undefined ? [] : [[author, asString(dig(entry, 1)) ?? null]];
    }),
  );
}
