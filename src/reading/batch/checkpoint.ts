/**
 * The data stored with each append, so that a room continues after a restart: the upstream's position and the
 * room's memory. Reading is strict: an unreadable memory is reported, and in a live chat a gap is suspected.
 */
import { type CallStart, type CallTimes, type Clock, startedWallAt } from "../../base/clock.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  dig,
  type JsonObject,
  parseJson,
  textPairs,
} from "../../base/json.ts";
import type { Chat } from "../../protocol/chat.ts";
import { chatOf, typeOfChat } from "../../protocol/chat-key.ts";
import type { AwaitedAbsence } from "../../protocol/chat-standing.ts";
import type { RoomRecord } from "../../store/port.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import {
  decodePosition,
  encodePosition,
  hasPanels,
  type Position,
  UnreadablePosition,
} from "../../upstream/position.ts";
import type { AboveChat } from "../../upstream/readers/above-chat.ts";
import { encodeGifts, toGifts } from "../../upstream/readers/join-gifts.ts";
import { NO_PANELS, type Panels } from "../../upstream/readers/panels.ts";
import { type Gap, toGap } from "../gap.ts";
import { NO_MEMORY, type ReadMemory } from "./resolve.ts";

/** A clock that is corrected goes back by no more than this, in milliseconds. */
const CORRECTED_MS = 1000;
/**
 * The assumed age of a checkpoint that the clock has not reached yet: the clock was or is wrong, so nothing
 * of the time in between counts as read.
 */
const UNKNOWN_AGO_MS = 24 * 3_600_000;
/** No chat is older: a thousand years. */
const MAX_AGO_MS = 1000 * 366 * 24 * 3_600_000;

/** The memory of a room, in addition to its position. */
export interface RoomMemory extends ReadMemory {
  /** The gap that may be before the next message. */
  gap: Gap | undefined;
  /** The banners and open polls above the chat. */
  above: AboveChat;
}

/** How far a room was read. */
export interface Progress {
  position: Position;
  /** When the call started whose answer led to the position, on the monotonic clock. */
  startedAt: number;
  /** The key of the egress to whose address the upstream gave the position's credentials. */
  egress?: string | undefined;
  /** When the chat was last seen not to be hidden, as `notHiddenAfter` says; undefined if not known. */
  notHiddenAt?: number | undefined;
  /** Set while the chat is off or hidden, and the room waits for it. */
  absence?: AwaitedAbsence | undefined;
  /** Set if the room is imported from a capture. */
  capture?: CaptureProgress;
}

/** How far a capture was imported. */
export interface CaptureProgress {
  /** A hash of the capture's first line. */
  beginning: string;
  /** The number of lines that the room contains. */
  lines: number;
}

/** `now`: on the monotonic clock. */
export function encodeCheckpoint(
  { position, startedAt, notHiddenAt, egress, absence, capture }: Progress,
  { deletions, gifts, threads, notices, gap, above }: RoomMemory,
  now: number,
): string {
  return JSON.stringify({
    position: encodePosition(position),
    readAgoMs: Math.max(0, Math.round(now - startedAt)),
    notHiddenAt,
    egress,
    absence: absence && { is: absence.is, why: absence.why },
    capture,
    deletions: [...deletions],
    gifts: encodeGifts(gifts),
    threads: [...threads],
    notices: [...notices],
    above: [...above],
    gap,
  });
}

/** The position from which a room continues. Throws `UnreadablePosition`. */
export function positionOf({ checkpoint }: RoomRecord): Position {
  return decodePosition(asString(dig(parseJson(checkpoint), "position")) ?? "");
}

/** Whether this version of the service can continue from the room's checkpoint. */
export function canContinueFrom(room: RoomRecord): boolean {
  try {
    positionOf(room);
    return true;
  } catch (error) {
    if (error instanceof UnreadablePosition) return false;
    throw error;
  }
}

/** The position of a room; one without a token if it cannot be read. */
export function knownPosition(room: RoomRecord): Position {
  if (canContinueFrom(room)) return positionOf(room);
  return tokenlessPosition(chatOf(room.key).chat, NO_PANELS);
}

/** The position of a chat that cannot be read on from there: it has no token and no credentials. */
export function tokenlessPosition(chat: Chat, panels: Panels): Position {
  const endpoint = chat === "replay" ? "get_live_chat_replay" : "get_live_chat";
  const pair = { client: "WEB", endpoint } as const;
  const credentials = { apiKey: "", clientVersion: "" };
  const chatType = typeOfChat(chat);
  return { chatType, pair, credentials, continuation: null, view: "all", panels };
}

/** The capture from which a room was imported; undefined if it was not. */
export function captureOf({ checkpoint }: RoomRecord): CaptureProgress | undefined {
  const capture = dig(parseJson(checkpoint), "capture");
  const [beginning, lines] = [asString(dig(capture, "beginning")), asNumber(dig(capture, "lines"))];
  return beginning === undefined || lines === undefined ? undefined : { beginning, lines };
}

/**
 * Milliseconds since the room was last read: the checkpoint's age now, plus its age when it was stored. If
 * that cannot be read, `memoryOf` reports it.
 */
function lastReadAgoMs({ checkpoint, readAgoMs }: RoomRecord): number {
  const agoMs = readAgoMs < -CORRECTED_MS ? UNKNOWN_AGO_MS : Math.max(0, readAgoMs);
  return agoMs + (storedAgoMs(parseJson(checkpoint)) ?? 0);
}

/**
 * The times of the last read of a stored room. `began`: just before the room was taken. The store computed
 * the record's age (`readAgoMs`) after that, so `began` minus the age can only be too early, which at
 * worst suspects a gap.
 */
export function lastRead(record: RoomRecord, began: CallStart, clock: Clock): CallTimes {
  const agoMs = lastReadAgoMs(record);
  const [at, uptime] = [began.startedAt - agoMs, began.startedUptime - agoMs];
  return {
    startedAt: at,
    startedUptime: uptime,
    answeredAt: at,
    answeredUptime: uptime,
    wallAt: startedWallAt(began, clock) - agoMs,
  };
}

/** The checkpoint's age when it was stored; undefined if it cannot be read. */
function storedAgoMs(stored: unknown): number | undefined {
  const agoMs = dig(stored, "readAgoMs");
  return typeof agoMs === "number" && agoMs >= 0 && agoMs <= MAX_AGO_MS ? agoMs : undefined;
}

/** When the chat was last seen not to be hidden, as `notHiddenAfter` says; undefined if not known. */
export function notHiddenAt({ checkpoint }: RoomRecord): number | undefined {
  return asNumber(dig(parseJson(checkpoint), "notHiddenAt"));
}

/** The key of the egress that last read the room; undefined if not known. */
export function lastEgress({ checkpoint }: RoomRecord): string | undefined {
  return asString(dig(parseJson(checkpoint), "egress"));
}

/**
 * The memory of a room whose reading continues. An unreadable memory is reported, and replaced by a
 * suspected gap since the room was last read (in a replay, by nothing).
 */
export function memoryOf(
  room: RoomRecord | undefined,
  isReplay: boolean,
  { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
): RoomMemory {
  if (!room || !canContinueFrom(room)) return NOTHING_READ;
  const memory = readMemory(asObject(parseJson(room.checkpoint)) ?? {});
  if (memory) return memory;
  telemetry.mark("room: memory unreadable");
  telemetry.rooms.checkpointUnreadable(room.key, "memory");
  const sinceMs = clock.now() - lastReadAgoMs(room);
  return { ...NOTHING_READ, gap: isReplay ? undefined : { sinceMs, untilMs: clock.now(), reason: "down" } };
}

const NOTHING_READ: RoomMemory = { ...NO_MEMORY, gap: undefined, above: new Map() };

/** Undefined if any field is invalid. */
function readMemory(stored: JsonObject): RoomMemory | undefined {
  const deletions = asArray(stored.deletions)?.map((entry) => [dig(entry, 0), dig(entry, 1)]);
  const gifts = toGifts(stored.gifts);
  const gap = stored.gap === undefined ? undefined : toGap(stored.gap);
  if (!deletions?.every(isDeletion) || !gifts || (stored.gap !== undefined && !gap)) return undefined;
  const [threads, notices, above] = [stored.threads, stored.notices, stored.above].map(textPairs);
  if (!threads || !notices || !above) return undefined;
  if (storedAgoMs(stored) === undefined || !hasPanels(asString(stored.position) ?? "")) return undefined;
  return { deletions: new Map(deletions), gifts, threads, notices, gap, above };
}

function isDeletion(entry: unknown[]): entry is [author: string, since: string | null] {
  return typeof entry[0] === "string" && (entry[1] === null || typeof entry[1] === "string");
}
