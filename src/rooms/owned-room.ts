/**
 * A room that this instance owns. It starts from a page (`room-opening.ts`) or from a checkpoint, and ends
 * with the chat, after repeated failures, with its release, with another owner, or with the service. The
 * instance holds it while it opens, reads or closes it.
 */
import { type CallStart, type Clock, startedNow } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import type { Counts } from "../base/key-counts.ts";
import { RELEASED, type RoomEnd } from "../protocol/chat.ts";
import { type ChatKey, chatOf } from "../protocol/chat-key.ts";
import { AboutVideo } from "../reading/about-video.ts";
import { Appender, type AppenderSettings } from "../reading/batch/appender.ts";
import {
  canContinueFrom,
  lastEgress,
  lastRead,
  memoryOf,
  notHiddenAt,
  positionOf,
} from "../reading/batch/checkpoint.ts";
import { demandOf, priorityMs } from "../reading/poll-schedule.ts";
import { Poller, type PollerSettings, type PollerStart } from "../reading/poller.ts";
import { Room, type RoomParts, type RoomSettings } from "../serving/room.ts";
import { absenceOf } from "../store/facts.ts";
import type { ObservedStore } from "../store/observed.ts";
import type { Hold } from "../store/ownership.ts";
import type { RoomRecord } from "../store/port.ts";
import { ifUnavailable, isFenced } from "../store/store-error.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { EgressPool } from "../upstream/egress/pool.ts";
import { RoomEgress } from "../upstream/egress/room-egress.ts";

/** The maximum time to store a release; if exceeded, the room stays open for its next owner. */
const RELEASE_LIMIT_MS = 5000;

/** One object for all rooms that an instance reads, so a room keeps one reference to all of it. */
export interface OwnedRoomParts extends RoomParts {
  store: ObservedStore;
  egresses: EgressPool;
  /** The videos that are recorded; may change at any time. */
  recorded: Pick<Counts<string>, "has">;
  settings: RoomSettings &
    PollerSettings &
    AppenderSettings & {
      /** Whether `RELAY_RECORD` names any, which other instances on the store then record as well. */
      isRecordingFixed: boolean;
      /** As in `RoomsSettings`. */
      graceMs: number;
    };
}

/** Whether a room could continue from its checkpoint: it has no final state, and its position is readable. */
export function isUnfinished(room: RoomRecord | undefined): room is RoomRecord {
  return room?.end === null && canContinueFrom(room);
}

/** Whether a room continues from its checkpoint: it is unfinished and was read within the grace time. */
export function isResumable(room: RoomRecord | undefined, { settings }: OwnedRoomParts): room is RoomRecord {
  return isUnfinished(room) && room.readAgoMs <= settings.graceMs;
}

export class OwnedRoom {
  readonly room: Room;
  /** The egress through which the room is currently read. */
  readonly egress: RoomEgress;
  /** How its chat is read. */
  readonly reading: Readonly<Pick<Poller, "isAwaited" | "view" | "isInTop" | "fullAnswers" | "readAt">>;
  readonly #poller: Poller;
  readonly #hold: Hold;
  readonly #appender: Appender;
  readonly #clock: Clock;
  readonly #mark: Marker;
  readonly #windDown = new AbortController();
  readonly #stop = new AbortController();
  readonly #polling: Promise<void>;
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
    return OwnedRoom.fromCheckpoint(hold, hold.room, began, parts, { room });
  }

  /**
   * Continues a stored room, which the instance holds. `began`: as in `lastRead`. `awaited`: as in
   * `PollerStart`, if a page has just said so. Throws `UnreadablePosition`.
   */
  static fromCheckpoint(
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
    const awaited = given.awaited ?? (absence && { absence, isConfirmed: false });
    const last = lastRead(record, began, clock);
    const start = { position, ...last, intervalMs: 0, awaited, notHiddenAt: notHiddenAt(record) };
    return new OwnedRoom(hold, appender, start, egress, parts, given.room);
  }

  /**
   * Starts to poll, first once the interval of the start is over, and to follow the log. The hold is its own
   * from now on. `room`: the one that has followed the chat.
   */
  constructor(
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
      priorityMs: (isQuiet) => {
        const isRecorded = parts.recorded.has(videoId);
        return priorityMs({ isRecorded, isWatched: this.room.viewerCount > 0, isQuiet });
      },
      isWatched: () => this.#isWatched(parts),
    });
    this.reading = this.#poller;
    this.#following = this.room.follow();
    this.#polling = this.#read();
  }

  /**
   * Whether the room has a viewer that is not a recording, here or on another instance. On each instance, a
   * recording of the room counts as one viewer.
   */
  async #isWatched({ recorded, settings, store }: OwnedRoomParts): Promise<boolean> {
    const { key, videoId, viewerCount } = this.room;
    // Without a recording, it is read for viewers alone.
    if (!recorded.has(videoId) || viewerCount > 1) return true;
    const others = store.ownership.wantedElsewhere([key], settings.isRecordingFixed ? 1 : 0);
    return (await others.catch(ifUnavailable([]))).length > 0;
  }

  /** Polls until the room ends or the polling is stopped; then gives the room back, even after a failure. */
  async #read(): Promise<void> {
    try {
      await this.#poller.run(this.#windDown.signal, this.#stop.signal);
      if (this.#isReleased) await this.#finish(RELEASED);
    } finally {
      this.room.view = this.#poller.view;
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

  /** A viewer has come: a call that waits for long is made soon. */
  hurry(): void {
    this.egress.hurry();
    this.#poller.hurry();
  }

  /**
   * Resolves when the room's end has reached its followers, also if another owner stored that end while the
   * poller here was waiting; or once the room was disconnected. Rejects if the poller or the follower fails.
   */
  async untilEnd(): Promise<void> {
    await Promise.all([this.#polling, this.#following.then(() => this.#stopPolling())]);
  }

  /** Stops polling because the room has no viewers, and closes the room in the store. */
  async release(): Promise<void> {
    this.#isReleased = true;
    this.room.finish(RELEASED);
    this.#stopPolling();
    try {
      await this.#polling;
    } finally {
      this.room.disconnect(); // if the release is not stored, the log does not end
    }
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
    await this.#polling.catch(() => {}); // the failure, if any, concerns the next owner
  }
}
