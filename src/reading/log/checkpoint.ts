/**
 * What the store keeps with each append, so that a room goes on after a restart: the upstream's position, and the room's
 * own memory. It is read strictly: what cannot be read is reported, and messages may be missing for it.
 */
import type { Clock } from "../../clock.ts";
import { asArray, asNumber, asObject, asString, dig, type JsonObject, parseJson } from "../../json.ts";
import type { RoomRecord } from "../../store/port.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import {
  decodePosition,
  encodePosition,
  type Position,
  UnreadablePosition,
} from "../../upstream/position.ts";
import { encodeGifts, NO_GIFTS, toGifts } from "../../upstream/readers/gifts.ts";
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
  /** When the call went out whose answer led to the position, on the monotonic clock. */
  startedAt: number;
  /** The name of the egress whose address the upstream gave the position's credentials to. */
  egress?: string;
}

/** `now`: on the monotonic clock. */
export function encodeCheckpoint(
  { position, startedAt, egress }: Progress,
  { deletions, gifts, gap }: RoomMemory,
  now: number,
): string {
  return JSON.stringify({
    position: encodePosition(position),
    readAgoMs: Math.max(0, Math.round(now - startedAt)),
    egress,
    deletions: [...deletions],
    gifts: encodeGifts(gifts),
    gap,
  });
}

/** Where a room goes on. Throws `UnreadablePosition`. */
export function positionOf({ checkpoint }: RoomRecord): Position {
  // The first checkpoints held nothing but the position.
  return decodePosition(asString(dig(parseJson(checkpoint), "position")) ?? checkpoint);
}

/** Whether this version of the service can go on from the room's checkpoint. */
export function isReadable(room: RoomRecord): boolean {
  try {
    positionOf(room);
    return true;
  } catch (error) {
    if (error instanceof UnreadablePosition) return false;
    throw error;
  }
}

/** How long ago the room was last read, in milliseconds: a checkpoint says how old it was when it was stored. */
export function lastReadAgoMs({ checkpoint, readAgoMs }: RoomRecord): number {
  return Math.max(0, readAgoMs) + (asNumber(dig(parseJson(checkpoint), "readAgoMs")) ?? 0);
}

/** The egress by which the room was last read; undefined where that is not known. */
export function lastEgress({ checkpoint }: RoomRecord): string | undefined {
  return asString(dig(parseJson(checkpoint), "egress"));
}

/**
 * The memory of a room that is read on. Where it cannot be read, that is reported, and what may be missing since it was
 * stored is remembered in its place; in a replay nothing can be.
 */
export function memoryOf(
  room: RoomRecord | undefined,
  isReplay: boolean,
  { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
): RoomMemory {
  if (!room || !isReadable(room)) return { ...NO_MEMORY, gap: undefined };
  const memory = readMemory(asObject(parseJson(room.checkpoint)) ?? {});
  if (memory) return memory;
  telemetry.mark("room: memory unreadable");
  telemetry.checkpointUnreadable(room.videoId);
  const sinceMs = clock.now() - lastReadAgoMs(room);
  return { ...NO_MEMORY, gap: isReplay ? undefined : { sinceMs, reason: "down" } };
}

const NO_MEMORY: ReadMemory = { deletions: new Map(), gifts: NO_GIFTS };

/** What older checkpoints lack is empty; undefined where anything is not what was stored. */
function readMemory(stored: JsonObject): RoomMemory | undefined {
  const deletions = asArray(stored.deletions ?? [])?.map((entry) => [dig(entry, 0), dig(entry, 1)]);
  const gifts = stored.gifts === undefined ? NO_GIFTS : toGifts(stored.gifts);
  const pending = stored.gap ?? stored.hole; // its name in older checkpoints
  const gap = pending === undefined ? undefined : toGap(pending);
  if (!deletions?.every(isDeletion) || !gifts || (pending !== undefined && !gap)) return undefined;
  return { deletions: new Map(deletions), gifts, gap };
}

function isDeletion(entry: unknown[]): entry is [author: string, since: string | null] {
  return typeof entry[0] === "string" && (entry[1] === null || typeof entry[1] === "string");
}
