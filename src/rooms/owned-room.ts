/**
 * A room that this instance owns. It starts from a page or from a checkpoint, and ends with the chat,
 * with its release, with another owner, or with the service. The instance holds it while it opens, reads or
 * closes it.
 */
import { answeredNow, type CallStart, type CallTimes, type Clock, startedNow } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import {
  type ChatType,
  type ChatView,
  ENDED,
  isReplayChat,
  RELEASED,
  type RoomEnd,
} from "../protocol/chat.ts";
import { type ChatKey, chatKey, chatOf } from "../protocol/chat-key.ts";
import { type Absence, type AwaitedAbsence, isFinal, mayReturn } from "../protocol/chat-standing.ts";
import { AboutVideo } from "../reading/about-video.ts";
import { Appender, type AppenderSettings } from "../reading/batch/appender.ts";
import {
  isReadable,
  knownPosition,
  lastEgress,
  lastReadAgoMs,
  memoryOf,
  notHiddenAt,
  positionOf,
} from "../reading/batch/checkpoint.ts";
import type { Gap, ReadBatch } from "../reading/gap.ts";
import { HiddenTime } from "../reading/hidden-time.ts";
import { waitAfter } from "../reading/interval.ts";
import { unreadBetween } from "../reading/late-answers.ts";
import { demandOf, priorityMs } from "../reading/pace.ts";
import { Poller, type PollerSettings, type PollerStart } from "../reading/poller.ts";
import { ReadingTimeline } from "../reading/timeline.ts";
import { Room, type RoomParts, type RoomSettings } from "../serving/room.ts";
import type { HistoryEnd } from "../serving/starts.ts";
import type { ObservedStore } from "../store/observed.ts";
import type { Hold } from "../store/ownership.ts";
import { ifUnavailable, isFenced, type RoomRecord } from "../store/port.ts";
import { absenceOf } from "../store/stored-absence.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import type { EgressPool, OpeningTurn } from "../upstream/egress/pool.ts";
import { RoomEgress } from "../upstream/egress/room-egress.ts";
import type { BootstrappedChat, Page } from "../upstream/live-chat.ts";
import { historyLength } from "../upstream/order.ts";
import { OpeningTimeout } from "./opening-timeout.ts";
import type { RoomApplicant } from "./sources.ts";

/** The maximum time to store a release; if exceeded, the room stays open for its next owner. */
const RELEASE_LIMIT_MS = 5000;

/** One object for all rooms that an instance reads, so a room keeps one reference to all of it. */
export interface OwnedRoomParts extends RoomParts {
  store: ObservedStore;
  egresses: EgressPool;
  settings: RoomSettings &
    PollerSettings &
    AppenderSettings & {
      /** Ids of the videos that are recorded; may change at any time. */
      recorded: ReadonlySet<string>;
      /** Whether `RELAY_RECORD` names any, which other instances on the store then record as well. */
      isRecordingFixed: boolean;
      /** How long a chat may be hidden before it counts as over, in milliseconds. */
      hiddenMs: number;
      /** As in `EntrySettings`. */
      graceMs: number;
    };
}

/** A room that was just opened. `historyEnd`: for the viewers that waited for it. */
export interface JustOpened {
  owned: OwnedRoom;
  historyEnd?: HistoryEnd;
}

/**
 * The result of an opening: a room; a chat that is not there; a stored room that has ended, with its chat; or
 * nothing, because another instance owns the room.
 */
export type OpeningResult =
  | ({ is: "opened" } & JustOpened)
  | { is: "absent"; absence: Absence }
  | { is: "ended" }
  | { is: "elsewhere" };

/** During an opening: the hold of the live chat, and that of the replay, if it is taken already. */
interface Holds {
  live: Hold;
  replay: Hold | undefined;
}

function hiddenTime({ egresses, settings }: OwnedRoomParts): HiddenTime {
  return new HiddenTime(egresses.witness, settings.hiddenMs);
}

/** Whether a room has not ended, so that its chat may go on, whether somebody reads it or not. */
function isOpen(room: RoomRecord | undefined): room is RoomRecord {
  return room !== undefined && room.end?.state !== "ended";
}

/**
 * Whether a chat was read to its end, and all of it is kept. A replay like this brings nothing new, and its
 * log, which is closed, must not go on.
 */
function isKeptWhole(room: RoomRecord | undefined): boolean {
  return room?.end?.state === "ended" && room.floor === room.base;
}

/** Whether a room could continue from its checkpoint: nobody has read its chat to the end. */
export function isUnfinished(room: RoomRecord | undefined): room is RoomRecord {
  return room?.end === null && isReadable(room);
}

/** Whether a room continues from its checkpoint: it is unfinished and was read within the grace time. */
export function isGoingOn(room: RoomRecord | undefined, { settings }: OwnedRoomParts): room is RoomRecord {
  return isUnfinished(room) && room.readAgoMs <= settings.graceMs;
}

export class OwnedRoom {
  readonly room: Room;
  /** The egress through which the room is currently read. */
  readonly egress: RoomEgress;
  readonly #poller: Poller;
  readonly #hold: Hold;
  readonly #appender: Appender;
  readonly #clock: Clock;
  readonly #mark: Marker;
  readonly #windDown = new AbortController();
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  readonly #following: Promise<void>;
  #isReleased = false;

  /**
   * Takes an open room without an owner, and continues from its checkpoint. `room`: the room that has
   * followed the chat for the viewers here. Resolves to undefined if another instance owns the room, or it is
   * not open. Rejects with `UnreadablePosition` and `StoreError`.
   */
  static async resume(key: ChatKey, parts: OwnedRoomParts, room?: Room): Promise<OwnedRoom | undefined> {
    const began = startedNow(parts.clock);
    await using hold = await parts.store.ownership.take(key);
    if (!hold?.room || hold.room.end) return undefined;
    return OwnedRoom.#fromCheckpoint(hold, hold.room, began, parts, { room });
  }

  /**
   * Opens a video from its page, and reads the chat that it has now. Meanwhile, this instance owns the room
   * of the live chat, so no other one opens the video, and that of an unfinished replay, so none goes on with
   * it. The backlog is durable when it resolves; if it rejects, or the chat is absent, the store has not
   * changed. The stored room of a live chat that is over is ended. A replay that is stored from its first to
   * its last message is not read again. Calls `found` when the chat is found, before it is read. A stored
   * room whose chat may come back waits for it, if `hasReturningViewer`. Rejects as `LiveChat.bootstrap`
   * does, and with `RelayError` CAPACITY and `StoreError`.
   */
  static async openFromPage(
    videoId: string,
    turn: OpeningTurn,
    applicant: Pick<RoomApplicant, "found" | "hasReturningViewer" | "reopens">,
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<OpeningResult> {
    const began = startedNow(parts.clock);
    await using hold = await parts.store.ownership.take(chatKey(videoId, "live"));
    if (!hold) return { is: "elsewhere" };
    // While this instance waited for its turn, another one may have read the room and given it back.
    const { telemetry } = parts;
    if (isGoingOn(hold.room, parts)) {
      telemetry.mark("room: read by another one meanwhile");
      return { is: "opened", owned: OwnedRoom.#fromCheckpoint(hold, hold.room, began, parts) };
    }
    const replayKey = chatKey(videoId, "replay");
    const isReplayOpen = isUnfinished(await parts.store.getRoom(replayKey));
    await using replay = isReplayOpen ? await parts.store.ownership.take(replayKey) : undefined;
    if (isReplayOpen && (!replay || isGoingOn(replay.room, parts))) return { is: "elsewhere" };
    if (hold.room && !isReadable(hold.room)) {
      telemetry.mark("room: checkpoint unreadable");
      telemetry.rooms.checkpointUnreadable(hold.key, "position");
    }
    const egress = new RoomEgress(videoId, turn.egress, parts.egresses, parts);
    const about = new AboutVideo(videoId, { ...parts, egress });
    try {
      const holds = { live: hold, replay };
      const opened = await OwnedRoom.#readAndStore(holds, began, applicant, { egress, about }, parts, signal);
      if (opened.is !== "opened") egress.leave();
      if (opened.is !== "absent") return opened;
      return await OwnedRoom.#withoutChat(holds, opened.absence, began, applicant, about, parts);
    } catch (error) {
      egress.leave();
      throw error;
    }
  }

  /**
   * A page says that there is no chat. If it is over, the stored room ends. If it may come back, and a viewer
   * that waits has a cursor of the stored room, that is opened and waits, too.
   */
  static async #withoutChat(
    { live, replay }: Holds,
    said: Absence,
    began: CallStart,
    applicant: Pick<RoomApplicant, "hasReturningViewer">,
    about: AboutVideo,
    parts: OwnedRoomParts,
  ): Promise<OpeningResult> {
    const { room } = live;
    const absence = hiddenTime(parts).settled(said, room && notHiddenAt(room));
    await about.told(absence.video);
    if (isFinal(absence)) {
      if (isOpen(room)) return await OwnedRoom.#end(live, room, began, parts);
      const replayKey = chatKey(chatOf(live.key).videoId, "replay");
      if (absence.is === "none" && isOpen(await parts.store.getRoom(replayKey))) {
        await using last = replay ?? (await parts.store.ownership.take(replayKey));
        if (isOpen(last?.room)) return await OwnedRoom.#end(last, last.room, began, parts);
      }
    }
    if (!isOpen(room) || !mayReturn(absence) || !applicant.hasReturningViewer(room))
      return { is: "absent", absence };
    return { is: "opened", owned: await OwnedRoom.#awaiting(live, room, absence, began, parts) };
  }

  /** Reads the chat's page and first answer, and stores them in its room. */
  static async #readAndStore(
    holds: Holds,
    began: CallStart,
    applicant: Pick<RoomApplicant, "found" | "reopens">,
    { egress, about }: { egress: RoomEgress; about: AboutVideo },
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<OpeningResult> {
    const { live } = holds;
    const { videoId } = chatOf(live.key);
    const { clock, store, settings } = parts;
    const held = [live, holds.replay].filter((hold) => hold !== undefined);
    const keys = held.map((hold) => hold.key);
    using limit = new OpeningTimeout(keys, egress, parts.store.ownership, parts.egresses, parts);
    const until = AbortSignal.any([signal, limit.signal]);
    const options: CallOptions = {
      lane: "opening",
      // Openings run one after the other, and each loads a page that a poll must soon follow.
      dueAt: clock.monotonic(),
      maxCooldownMs: 0,
      beforeStart: () => {
        for (const hold of held) hold.assertHeld();
      },
      signal: until,
    };
    const found = (chatType: ChatType) => {
      applicant.found(chatType);
      egress.admit(demandOf(isReplayChat(chatType), undefined, settings));
    };
    const panels = live.room && knownPosition(live.room).panels;
    const standing = await egress.open((chat) => chat.bootstrap(videoId, options, found, panels), until);
    if (standing.is !== "there") return { is: "absent", absence: standing };
    egress.succeeded();
    const { page, first } = standing;
    const isReplay = isReplayChat(first.position.chatType);
    if (isReplay && isOpen(live.room)) {
      const over: Absence = { is: "over", why: "the stream has ended", video: page.video };
      return { is: "absent", absence: over };
    }
    const take = async () => holds.replay ?? (await store.ownership.take(chatKey(videoId, "replay")));
    await using replay = isReplay ? await take() : undefined;
    const hold = isReplay ? replay : live;
    if (!hold) return { is: "elsewhere" };
    if (isReplay && isKeptWhole(hold.room) && !applicant.reopens()) {
      await store.finish(hold, ENDED); // as of now: it has just been found again
      return { is: "ended" };
    }
    return await OwnedRoom.#store(hold, began, standing, { egress, about }, parts);
  }

  /** Stores a chat's page and first answer, and begins to poll. */
  static async #store(
    hold: Hold,
    began: CallStart,
    { page, first }: BootstrappedChat,
    { egress, about }: { egress: RoomEgress; about: AboutVideo },
    parts: OwnedRoomParts,
  ): Promise<OpeningResult> {
    const { clock, settings, telemetry } = parts;
    const { position, startedAt } = first;
    const { chatType, pair } = position;
    const isReplay = isReplayChat(chatType);
    const unread = hold.room && gapBetween(lastRead(hold.room, began, clock), hold.room, page.wallAt);
    const batches = ReadingTimeline.opening(page, first, unread, { ...parts, ...settings, isReplay });
    const appender = new Appender(parts, hold, memoryOf(hold.room, isReplay, parts));
    const shown = { notHiddenAt: hiddenTime(parts).upstreamNow };
    const progress = { position, startedAt, egress: egress.key, ...shown };
    const added = await appender.appendOnce(batches, progress);
    await about.told(page.video);
    const start = { ...first, ...shown, intervalMs: waitAfter(first, settings, page.items) };
    const owned = new OwnedRoom(hold, appender, start, egress, parts);
    telemetry.rooms.opened(owned.room.videoId, { chatType, view: owned.view, ...pair, cursor: hold.head });
    // The viewers that waited for a replay get all of it, so nothing counts as history.
    const historyEnd = isReplay ? "begin" : (lastOfHistory(batches, page, added) ?? hold.head);
    return { is: "opened", owned, historyEnd };
  }

  /** Opens a stored room again, which waits for its chat: a page has just said that it may come back. */
  static async #awaiting(
    hold: Hold,
    record: RoomRecord,
    absence: AwaitedAbsence,
    began: CallStart,
    parts: OwnedRoomParts,
  ): Promise<OwnedRoom> {
    const { clock } = parts;
    const isGood = absence.is === "off";
    const { upstreamNow } = hiddenTime(parts);
    const suspectedGap = isGood ? gapUntilNow(record, began, parts) : undefined;
    const appender = new Appender(parts, hold, memoryOf(record, false, parts));
    await appender.appendOnce([{ items: [], suspectedGap }], {
      position: knownPosition(record),
      startedAt: isGood ? began.startedAt : lastRead(record, began, clock).startedAt,
      notHiddenAt: isGood ? upstreamNow : (notHiddenAt(record) ?? upstreamNow),
      egress: lastEgress(record),
      absence,
    });
    const opened = (await parts.store.getRoom(hold.key)) ?? record;
    const given = { awaited: { absence, isNew: true } };
    return OwnedRoom.#fromCheckpoint(hold, opened, startedNow(clock), parts, given);
  }

  /**
   * Ends the room of a chat that is over. If messages may be missing before the end of a live one, its
   * last one is a gap.
   */
  static async #end(
    hold: Hold,
    room: RoomRecord,
    began: CallStart,
    parts: OwnedRoomParts,
  ): Promise<OpeningResult> {
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

  /** `began`: as in `lastRead`. `awaited`: as in `PollerStart`, if a page has just said so. */
  static #fromCheckpoint(
    hold: Hold,
    record: RoomRecord,
    began: CallStart,
    parts: OwnedRoomParts,
    given: { room?: Room | undefined; awaited?: PollerStart["awaited"] } = {},
  ): OwnedRoom {
    const { clock, settings, telemetry } = parts;
    const position = positionOf(record);
    const { videoId, chat } = chatOf(hold.key);
    const isReplay = chat === "replay";
    const demand = demandOf(isReplay, undefined, settings);
    const egress = RoomEgress.resumed(videoId, demand, lastEgress(record), parts.egresses, parts);
    const appender = new Appender(parts, hold, memoryOf(record, isReplay, parts));
    telemetry.rooms.resumed(videoId, hold.head);
    const absence = absenceOf(record);
    const awaited = given.awaited ?? (absence && { absence, isNew: false });
    const last = lastRead(record, began, clock);
    const start = { position, ...last, intervalMs: 0, awaited, notHiddenAt: notHiddenAt(record) };
    return new OwnedRoom(hold, appender, start, egress, parts, given.room);
  }

  private constructor(
    hold: Hold,
    appender: Appender,
    start: PollerStart,
    egress: RoomEgress,
    parts: OwnedRoomParts,
    room = new Room(hold.key, hold.head, parts),
  ) {
    hold.keep();
    hold.lost.addEventListener("abort", () => this.#stopPolling(hold.lost.reason), { once: true });
    this.room = room;
    this.#hold = hold;
    this.#appender = appender;
    this.#clock = parts.clock;
    this.#mark = parts.telemetry.mark;
    this.egress = egress;
    const { videoId } = room;
    const about = new AboutVideo(videoId, { ...parts, egress });
    this.#poller = new Poller(videoId, start, {
      ...parts,
      egress,
      about,
      appender,
      hold,
      hidden: hiddenTime(parts),
      priorityMs: (isQuiet) => {
        const isRecorded = parts.settings.recorded.has(videoId);
        return priorityMs({ isRecorded, isWatched: this.room.viewerCount > 0, isQuiet });
      },
      isWatched: () => this.#isWatched(parts),
    });
    this.#following = this.room.follow();
    this.#reading = this.#read();
  }

  /** Whether somebody besides a recording, which is one viewer of an instance, watches the room anywhere. */
  async #isWatched({ settings, store }: OwnedRoomParts): Promise<boolean> {
    const { key, videoId, viewerCount } = this.room;
    // Without a recording, the room is only read while it is watched.
    if (!settings.recorded.has(videoId) || viewerCount > 1) return true;
    const others = store.ownership.wantedElsewhere([key], settings.isRecordingFixed ? 1 : 0);
    return (await others.catch(ifUnavailable([]))).length > 0;
  }

  /** Polls until the room ends or the polling is stopped; then gives the room back, even after a failure. */
  async #read(): Promise<void> {
    try {
      await this.#poller.run(this.#windDown.signal, this.#stop.signal);
      if (this.#isReleased) await this.#finish(RELEASED);
    } finally {
      this.room.view = this.view;
      await this.#hold.giveBack();
    }
  }

  /**
   * Closes the room in the store. If another instance has taken it over, or the store does not answer in
   * time, the stored room stays as it is.
   */
  async #finish(end: RoomEnd): Promise<void> {
    using limit = new Deadline(this.#clock, RELEASE_LIMIT_MS);
    try {
      await this.#appender.finish(end, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted && !isFenced(error)) throw error;
      this.#mark("release: not stored");
    }
  }

  /** Why the room waits for its chat; undefined if the chat is there. */
  get absence(): AwaitedAbsence | undefined {
    return this.#poller.absence;
  }

  /** A viewer has come: a call that waits for long is made soon. */
  hurry(): void {
    this.egress.hurry();
    this.#poller.hurry();
  }

  /** The view of the chat that is read. */
  get view(): ChatView {
    return this.#poller.view;
  }

  /** Whether that is Top chat, although all messages are wanted. */
  get isInTop(): boolean {
    return this.#poller.isInTop;
  }

  /** The number of full answers since this instance began to read the room. */
  get fullAnswers(): number {
    return this.#poller.fullAnswers;
  }

  /**
   * Resolves when the room's end has reached its followers, even if that is the end of another owner, while
   * the poller here waits. Rejects if the poller or the follower fails.
   */
  async untilEnd(): Promise<void> {
    await Promise.all([this.#reading, this.#following.then(() => this.#stopPolling())]);
  }

  /** Stops polling because the room has no viewers, and closes the room in the store. */
  async release(): Promise<void> {
    this.#isReleased = true;
    this.room.finish(RELEASED);
    this.#stopPolling();
    await this.#reading;
    this.room.disconnect(); // if the release is not stored, the log does not end
  }

  /** Ends a room that has failed. The stored room stays as it is, for its next owner. */
  abandon(): void {
    this.#stopPolling();
    this.room.disconnect();
  }

  #stopPolling(reason?: unknown): void {
    this.#windDown.abort(reason);
    this.#stop.abort(reason);
  }

  /**
   * Stops after the current poll is durable, or after `limitMs`, and gives the room back as it is, so that
   * another instance can continue at once.
   */
  async windDown(limitMs: number): Promise<void> {
    this.#windDown.abort();
    using limit = new Deadline(this.#clock, limitMs);
    limit.signal.addEventListener("abort", () => this.#stop.abort(), { once: true });
    await this.#reading.catch(() => {}); // the failure, if any, concerns the next owner
  }
}

/** The wall time of an earlier moment, in milliseconds since 1970. */
function wallAt({ startedUptime }: CallStart, clock: Clock): number {
  return clock.now() - (clock.uptime() - startedUptime);
}

/**
 * The times of the last read of a stored room. `began`: just before the room was taken. The store computed
 * the record's age (`lastReadAgoMs`) after that, so `began` minus the age can only be too early, which at
 * worst suspects a gap.
 */
function lastRead(record: RoomRecord, began: CallStart, clock: Clock): CallTimes {
  const agoMs = lastReadAgoMs(record);
  const [at, uptime] = [began.startedAt - agoMs, began.startedUptime - agoMs];
  return {
    startedAt: at,
    startedUptime: uptime,
    answeredAt: at,
    answeredUptime: uptime,
    wallAt: wallAt(began, clock) - agoMs,
  };
}

/** The gap that may be between the last read of a stored room and a wall time. */
function gapBetween({ wallAt: sinceMs }: CallTimes, room: RoomRecord, untilMs: number): Gap {
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
  const isLate = unreadBetween(last, answeredNow(began, clock)) > settings.windowMs;
  return isLate ? gapBetween(last, room, wallAt(began, clock)) : undefined;
}

/** The reason of the gap when a room is read again. */
function reasonFor(room: RoomRecord): Gap["reason"] {
  if (!room.end) return absenceOf(room)?.is === "hidden" ? "hidden" : "down";
  return room.end.state === "failed" ? "unreachable" : "unwatched";
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
