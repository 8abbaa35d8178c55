/**
 * An opening of a video from its page: finds the chat that it has now, stores its first messages, and makes
 * the room that goes on reading. Nothing is stored before the page and the first answer are there, so an
 * opening that fails until then changes no log. Where the chat is not there, the stored room ends, waits for
 * it, or stays.
 */
import { type CallStart, type CallTimes, startedNow, startedWallAt } from "../../base/clock.ts";
import { type ChatType, ENDED, isOver, isReplayChat } from "../../protocol/chat.ts";
import { chatKey, chatOf } from "../../protocol/chat-key.ts";
import { type Absence, type AwaitedAbsence, isFinal, mayReturn } from "../../protocol/chat-standing.ts";
import { keepVideo } from "../../reading/about-video.ts";
import { Appender } from "../../reading/batch/appender.ts";
import {
  canContinueFrom,
  knownPosition,
  lastEgress,
  lastRead,
  memoryOf,
  notHiddenAt,
} from "../../reading/batch/checkpoint.ts";
import type { Gap, ReadBatch } from "../../reading/gap.ts";
import { notHiddenAfter, overIfLongHidden } from "../../reading/hidden-chat.ts";
import { intervalAfter } from "../../reading/interval-rules.ts";
import { demandOf } from "../../reading/poll-schedule.ts";
import { openingBatches } from "../../reading/timeline.ts";
import { UnreadTime } from "../../reading/unread-time.ts";
import { absenceOf } from "../../store/facts.ts";
import type { Hold } from "../../store/ownership.ts";
import type { RoomRecord } from "../../store/port.ts";
import type { StoredMessage } from "../../store/stored-message.ts";
import type { CallOptions } from "../../upstream/egress/flights.ts";
import type { OpeningTurn } from "../../upstream/egress/pool.ts";
import { RoomEgress } from "../../upstream/egress/room-egress.ts";
import type { BootstrappedChat, Page } from "../../upstream/live-chat.ts";
import { historyLength } from "../../upstream/order.ts";
import { isResumable, isUnfinished, OwnedRoom, type OwnedRoomParts } from "../owned-room.ts";
import type { Acquired, RoomApplicant } from "../sources.ts";
import { OpeningYield } from "./opening-yield.ts";

/**
 * The result of an opening: a room; a chat that is not there; a stored room that has ended, with its chat; or
 * nothing, because another instance owns the room.
 */
export type OpeningResult = Extract<Acquired, { is: "owned" | "absent" }> | { is: "ended" | "elsewhere" };

/** An opening that goes on. */
interface PageOpening {
  videoId: string;
  applicant: RoomApplicant;
  parts: OwnedRoomParts;
  /** Just before the live chat's room was taken. */
  began: CallStart;
  /** The hold of the live chat, and that of the replay, if it is taken already. */
  live: Hold;
  replay: Hold | undefined;
  egress: RoomEgress;
}

/** Whether a room has not ended, so that its chat may go on, whether somebody reads it or not. */
function mayGoOn(room: RoomRecord | undefined): room is RoomRecord {
  return room !== undefined && !isOver(room.end);
}

/**
 * Whether a chat was read to its end, and all of it is kept. A replay like this brings nothing new, and its
 * log, which is closed, must not go on.
 */
function isKeptWhole(room: RoomRecord | undefined): boolean {
  return room !== undefined && isOver(room.end) && room.floor === room.base;
}

/**
 * Opens a video from its page, and reads the chat that it has now. Meanwhile, this instance owns the room of
 * the live chat, so no other one opens the video, and that of an unfinished replay, so none goes on with it.
 * - The chat is there: it takes its place before it is read, and its backlog is durable at the end.
 * - It may come back: a stored room waits for it, if somebody must get it (`needsLiveChat`).
 * - It is over, or absent for another reason: only the log of a stored room changes, perhaps by a last gap; a
 *   live chat that is over is ended.
 * - It is a replay that is stored from its first to its last message: it is not read again, unless a viewer
 *   knows that it goes on.
 * - It cannot be read: no log changes.
 * Once another instance has taken the room, the opening ends, whatever its call waits for: `elsewhere`.
 * Rejects as `LiveChat.bootstrap` does, with `RelayError` CAPACITY, with `StoreError`, and with the signal's
 * reason.
 */
export async function openFromPage(
  videoId: string,
  turn: OpeningTurn,
  applicant: RoomApplicant,
  parts: OwnedRoomParts,
  signal: AbortSignal,
): Promise<OpeningResult> {
  const began = startedNow(parts.clock);
  await using live = await parts.store.ownership.take(chatKey(videoId, "live"));
  if (!live) return { is: "elsewhere" };
  // While this instance waited for its turn, another one may have read the room and given it back.
  const { telemetry } = parts;
  if (isResumable(live.room, parts)) {
    telemetry.mark("room: read by another one meanwhile");
    return { is: "owned", owned: OwnedRoom.fromCheckpoint(live, live.room, began, parts) };
  }
  const replayKey = chatKey(videoId, "replay");
  const isReplayOpen = isUnfinished(await parts.store.getRoom(replayKey));
  await using replay = isReplayOpen ? await parts.store.ownership.take(replayKey) : undefined;
  if (isReplayOpen && (!replay || isResumable(replay.room, parts))) return { is: "elsewhere" };
  if (live.room && !canContinueFrom(live.room)) {
    telemetry.mark("room: checkpoint unreadable");
    telemetry.rooms.checkpointUnreadable(live.key, "position");
  }
  const egress = new RoomEgress(videoId, turn.egress, parts.egresses, parts);
  try {
    const opening = { videoId, applicant, parts, began, live, replay, egress };
    const result = await readAndStore(opening, signal);
    if (result.is !== "owned") egress.leave();
    return result.is === "absent" ? await withoutChat(opening, result.absence) : result;
  } catch (error) {
    egress.leave();
    if (live.lost.aborted || replay?.lost.aborted) return { is: "elsewhere" };
    throw error;
  }
}

/**
 * A page says that there is no chat. If it is over, the stored room ends. If it may come back, and a
 * recording or a viewer with a cursor of the stored room waits, that is opened and waits, too.
 */
async function withoutChat(opening: PageOpening, said: Absence): Promise<OpeningResult> {
  const { videoId, applicant, parts, began, live, replay } = opening;
  const { room } = live;
  const absence = overIfLongHidden(said, room && notHiddenAt(room), parts);
  await keepVideo(videoId, absence.video, parts.store);
  if (isFinal(absence)) {
    if (mayGoOn(room)) return await endStored(live, room, began, parts);
    const replayKey = chatKey(videoId, "replay");
    if (absence.is === "none" && mayGoOn(await parts.store.getRoom(replayKey))) {
      await using last = replay ?? (await parts.store.ownership.take(replayKey));
      if (mayGoOn(last?.room)) return await endStored(last, last.room, began, parts);
    }
  }
  if (!mayGoOn(room) || !mayReturn(absence) || !applicant.waiting.needsLiveChat(room))
    return { is: "absent", absence };
  return { is: "owned", owned: await openAwaited(opening, room, absence) };
}

/**
 * Ends the stored room of a chat that is over, which the instance holds. If messages may be missing before
 * the end of a live one, its last one is a gap.
 */
async function endStored(
  hold: Hold,
  room: RoomRecord,
  began: CallStart,
  parts: OwnedRoomParts,
): Promise<{ is: "ended" }> {
  const { clock, store, telemetry } = parts;
  const { videoId, chat } = chatOf(hold.key);
  const { startedAt } = lastRead(room, began, clock);
  const gap = chat === "live" ? gapUntilNow(room, began, parts) : undefined;
  const position = knownPosition(room);
  const appender = new Appender(parts, hold, memoryOf(room, chat === "replay", parts));
  await appender.appendOnce([{ items: [], suspectedGap: gap, isLast: true }], { position, startedAt });
  await store.finish(hold, ENDED);
  telemetry.rooms.ended(videoId, ENDED);
  return { is: "ended" };
}

/** Reads the chat's page and first answer, and stores them in its room. */
async function readAndStore(opening: PageOpening, signal: AbortSignal): Promise<OpeningResult> {
  const { videoId, applicant, parts, live, egress } = opening;
  const { clock, store, settings } = parts;
  const held = [live, opening.replay].filter((hold) => hold !== undefined);
  const keys = held.map((hold) => hold.key);
  using yielding = new OpeningYield(keys, egress, parts);
  const until = AbortSignal.any([signal, yielding.signal, ...held.map(({ lost }) => lost)]);
  const options: CallOptions = {
    lane: "opening",
    // Due at its start, so that its calls go before those of a later one: a poll must soon follow its page.
    dueAt: clock.monotonic(),
    maxCooldownMs: 0,
    beforeStart: () => {
      for (const hold of held) hold.assertHeld();
    },
    signal: until,
  };
  const found = (chatType: ChatType) => {
    applicant.places.take(videoId, chatType);
    egress.carry(demandOf(isReplayChat(chatType), undefined, settings));
  };
  const panels = live.room && knownPosition(live.room).panels;
  const standing = await egress.open((chat) => chat.bootstrap(videoId, options, found, panels), until);
  if (standing.is !== "there") return { is: "absent", absence: standing };
  egress.succeeded();
  const { page, first } = standing;
  const isReplay = isReplayChat(first.position.chatType);
  if (isReplay && mayGoOn(live.room)) {
    const over: Absence = { is: "over", why: "the stream has ended", video: page.video };
    return { is: "absent", absence: over };
  }
  const take = async () => opening.replay ?? (await store.ownership.take(chatKey(videoId, "replay")));
  await using replay = isReplay ? await take() : undefined;
  const hold = isReplay ? replay : live;
  if (!hold) return { is: "elsewhere" };
  if (isReplay) live.assertHeld(); // else another instance may open the video, too
  if (isReplay && isKeptWhole(hold.room) && !applicant.waiting.reopens) {
    await store.finish(hold, ENDED); // as of now: it has just been found again
    return { is: "ended" };
  }
  return await storeChat(opening, hold, standing);
}

/** Stores a chat's page and first answer, and begins to poll. */
async function storeChat(
  { videoId, parts, began, egress }: PageOpening,
  hold: Hold,
  { page, first }: BootstrappedChat,
): Promise<OpeningResult> {
  const { clock, settings, telemetry } = parts;
  const { position, startedAt } = first;
  const { chatType, pair } = position;
  const isReplay = isReplayChat(chatType);
  const unread = hold.room && gapSinceRead(lastRead(hold.room, began, clock), hold.room, page.wallAt);
  const batches = openingBatches(page, first, unread, { ...settings, isReplay, telemetry });
  const appender = new Appender(parts, hold, memoryOf(hold.room, isReplay, parts));
  const shown = { notHiddenAt: parts.egresses.witness.now };
  const progress = { position, startedAt, egress: egress.key, ...shown };
  const added = await appender.appendOnce(batches, progress);
  await keepVideo(videoId, page.video, parts.store);
  const opening = { items: batches.flatMap(({ items }) => items), sentAt: first.sentAt };
  const start = { ...first, ...shown, opening, intervalMs: intervalAfter(first, settings, page.items) };
  const owned = new OwnedRoom(hold, appender, start, egress, parts);
  telemetry.rooms.opened(videoId, { chatType, view: owned.reading.view, ...pair, cursor: hold.head });
  // `hold.head` is the head before this append: the room begins there, and reads the append from the log like
  // any other. The viewers that waited for a replay get all of it, so nothing counts as history.
  owned.room.historyEnd = isReplay ? "none" : (lastOfHistory(batches, page, added) ?? hold.head);
  return { is: "owned", owned };
}

/** Opens the live chat's stored room again, which waits: a page has just said that its chat may come back. */
async function openAwaited(
  { parts, began, live }: PageOpening,
  record: RoomRecord,
  absence: AwaitedAbsence,
): Promise<OwnedRoom> {
  const { clock } = parts;
  const isOff = absence.is === "off"; // so its page is a good answer: nothing can be said
  const suspectedGap = isOff ? gapUntilNow(record, began, parts) : undefined;
  const appender = new Appender(parts, live, memoryOf(record, false, parts));
  await appender.appendOnce([{ items: [], suspectedGap }], {
    position: knownPosition(record),
    startedAt: isOff ? began.startedAt : lastRead(record, began, clock).startedAt,
    notHiddenAt: notHiddenAfter(absence, notHiddenAt(record), parts),
    egress: lastEgress(record),
    absence,
  });
  const readAt = startedNow(clock);
  const opened = (await parts.store.getRoom(live.key)) ?? record;
  const given = { awaited: { absence, isConfirmed: true } };
  return OwnedRoom.fromCheckpoint(live, opened, readAt, parts, given);
}

/** The cursor of the last new message that is history (`historyLength`); undefined if none is. */
function lastOfHistory(
  batches: readonly ReadBatch[],
  page: Page,
  added: readonly StoredMessage[],
): number | undefined {
  const items = batches.flatMap((batch) => batch.items);
  const history = items.slice(0, historyLength(items, page.items));
  const ids = new Set(history.flatMap(({ message, replaces }) => [message.id, replaces?.as.id]));
  return added.findLast(({ id }) => ids.has(id))?.cursor;
}

/** The gap that may be between the last read of a stored room and a wall time. */
function gapSinceRead({ wallAt: sinceMs }: CallTimes, room: RoomRecord, untilMs: number): Gap {
  return { sinceMs, untilMs, reason: reasonFor(room) };
}

/**
 * The gap before a page that has just said that nothing follows: the live chat is over, or off. Undefined if
 * the stored room was read in time until now, the time of the page included.
 */
function gapUntilNow(
  room: RoomRecord,
  began: CallStart,
  { clock, settings }: OwnedRoomParts,
): Gap | undefined {
  const last = lastRead(room, began, clock);
  const isLate = new UnreadTime(settings.windowMs, clock, last).isLate();
  return isLate ? gapSinceRead(last, room, startedWallAt(began, clock)) : undefined;
}

/** The reason of the gap when a room is read again. */
function reasonFor(room: RoomRecord): Gap["reason"] {
  if (!room.end) return absenceOf(room)?.is === "hidden" ? "hidden" : "down";
  return room.end.state === "failed" ? "unreachable" : "unwatched";
}
