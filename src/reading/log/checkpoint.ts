/** What the store keeps with each append, so that a room goes on after a restart: the upstream's position, and the room's own memory. */
import { asArray, asNumber, asString, dig, parseJson } from "../../json.ts";
import type { RoomRecord } from "../../store/port.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import {
  decodePosition,
  encodePosition,
  type Position,
  UnreadablePosition,
} from "../../upstream/position.ts";
import { encodeGifts, toGifts } from "../../upstream/readers/gifts.ts";
import { type Gap, toGap } from "./gap.ts";
import type { ReadMemory } from "./resolve.ts";

/** What a room remembers beside its position. */
export interface RoomMemory extends ReadMemory {
  /** What may be missing before the next message. */
  gap: Gap | undefined;
}

/** How far a room was read. */
export interface Progress {
  position: Position;
  /** When the call went out whose answer led to the position, in milliseconds since 1970. */
  readAt: number;
  /** The name of the egress whose address the upstream gave the position's credentials to. */
  egress?: string;
}

export function encodeCheckpoint(
  { position, readAt, egress }: Progress,
  { deletions, gifts, gap }: RoomMemory,
): string {
  return JSON.stringify({
    position: encodePosition(position),
    readAt,
    egress,
    deletions: [...deletions],
    gifts: encodeGifts(gifts),
    gap,
  });
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

/** When the room was last read, in milliseconds since 1970; undefined where it never was. */
export function lastReadAt({ checkpoint, checkpointAt }: RoomRecord): number | undefined {
  return asNumber(dig(parseJson(checkpoint ?? ""), "readAt")) ?? checkpointAt ?? undefined;
}

/** The egress by which the room was last read; undefined where that is not known. */
export function lastEgress({ checkpoint }: RoomRecord): string | undefined {
  return asString(dig(parseJson(checkpoint ?? ""), "egress"));
}

/** The memory that a checkpoint holds; an empty one where it cannot be read. */
export function memoryIn(checkpoint: string | null): RoomMemory {
  const stored = parseJson(checkpoint ?? "");
  const deletions = (asArray(dig(stored, "deletions")) ?? []).flatMap((entry): [string, string | null][] => {
    const author = asString(dig(entry, 0));
    return author === undefined ? [] : [[author, asString(dig(entry, 1)) ?? null]];
  });
  return {
    deletions: new Map(deletions),
    gifts: toGifts(dig(stored, "gifts")),
    gap: toGap(dig(stored, "gap") ?? dig(stored, "hole")), // its name in older checkpoints
  };
}
