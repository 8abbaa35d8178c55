/**
 * A room that this instance owns: its poller's life, begun by a bootstrap or from a checkpoint, ended with the
 * chat, by desertion or with the service.
 */
import { type Clock, wallTimeOf } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import type { ChatType, RoomEnd } from "../protocol/chat.ts";
import { waitAfter } from "../reading/interval.ts";
import { unreadBetween } from "../reading/lateness.ts";
import { Appender, type AppenderSettings } from "../reading/log/appender.ts";
import { lastEgress, lastReadAt, readCheckpoint } from "../reading/log/checkpoint.ts";
import type { Gap } from "../reading/log/gap.ts";
import { withAnswer } from "../reading/log/pages.ts";
import { demandOf } from "../reading/pace.ts";
import { Poller, type PollerSettings, type PollerStart } from "../reading/poller.ts";
import { priorityMs } from "../reading/rank.ts";
import { backfillCursor } from "../serving/cursor.ts";
import { Room, type RoomParts, type RoomSettings, type StartAt } from "../serving/room.ts";
import type { ObservedStore } from "../store/observed.ts";
import { type ClaimedRoom, isFenced } from "../store/port.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import type { Applicant } from "../upstream/egress/openings.ts";
import { RoomEgress, type RoomEgressParts } from "../upstream/egress/room-egress.ts";
import { historyLength } from "../upstream/order.ts";
import type { Position } from "../upstream/position.ts";

const RELEASED: RoomEnd = { state: "released", reason: "room released" };
/** A release that the store cannot take is given up: the next claim settles it. */
const RELEASE_LIMIT_MS = 5000;

export interface OwnedRoomParts extends RoomParts, RoomEgressParts {
  settings: RoomSettings & PollerSettings & AppenderSettings & { recorded: ReadonlySet<string> };
}

/** Who asks for a room that is not open. */
export interface RoomApplicant extends Applicant {
  /** Called when the chat is found, before it is read. Throws `RelayError` CAPACITY where no further room may be open. */
  assertPlace(): void;
}

export class OwnedRoom {
  readonly room: Room;
  /** The egress by which it is read just now. */
  readonly egress: RoomEgress;
  readonly #poller: Poller;
  readonly #claim: ClaimedRoom;
  readonly #store: ObservedStore;
  readonly #appender: Appender;
  readonly #clock: Clock;
  readonly #windDown = new AbortController();
  readonly #stop = new AbortController();
  readonly #polling: Promise<void>;
  readonly #following: Promise<void>;

  /**
   * Claims the room. One that another instance has left is read on from its checkpoint; else the chat is bootstrapped
   * and its backlog made durable, and if that fails, the store is as it was before. Viewers that waited for it begin
   * where `startAt` says. Undefined where another instance owns it. Rejects as `LiveChat.bootstrap` does, with
   * `RelayError` CAPACITY and with `StoreError`.
   */
  static async open(
    videoId: string,
    applicant: RoomApplicant,
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<{ owned: OwnedRoom; startAt?: StartAt } | undefined> {
    const owned = await OwnedRoom.takeOver(videoId, parts);
    if (owned) return { owned };
    const { store, egresses } = parts;
    using opening = await egresses.opening(applicant, signal);
    const claim = await store.claim(videoId);
    if (!claim) return undefined;
    const left = store.peers && claim.lastEnd === null ? readCheckpoint(claim, parts.telemetry) : undefined;
    if (left) return { owned: OwnedRoom.#goOn(claim, left, parts) }; // it was let go of while this one waited
    const egress = RoomEgress.opened(videoId, opening.egress, parts);
    try {
      return await OwnedRoom.#bootstrap(claim, applicant, egress, parts, signal);
    } catch (error) {
      egress.leave();
      await store.abandon(claim).catch(() => {}); // it was reported, and retention does it later
      throw error;
    }
  }

  static async #bootstrap(
    claim: ClaimedRoom,
    { assertPlace }: RoomApplicant,
    egress: RoomEgress,
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<{ owned: OwnedRoom; startAt: StartAt }> {
    const { videoId } = claim;
    const { clock, telemetry, settings } = parts;
    const options: CallOptions = {
      lane: "opening",
      dueAt: clock.monotonic(), // of several, one is opened after the other: a page must not wait long for its answer
      maxCooldownMs: 0,
      beforeStart: () => claim.lease.assertHeld(),
      signal,
    };
    const found = (chatType: ChatType) => {
      assertPlace();
      egress.admit(demandOf(chatType === "liveChatReplayRenderer", undefined, settings));
    };
    const { page, first } = await egress.open((chat) => chat.bootstrap(videoId, options, found), signal);
    egress.succeeded();
    const { position, startedAt } = first;
    const { chatType, pair } = position;
    const isReplay = chatType === "liveChatReplayRenderer";
    const appender = new Appender(parts, claim);
    const gap = (sinceMs: number | undefined, reason: Gap["reason"]) =>
      isReplay || sinceMs === undefined ? undefined : { sinceMs, reason };
    const unreadMs = Number.POSITIVE_INFINITY;
    const unread = { ...page, gap: gap(lastReadAt(claim), reasonFor(claim.lastEnd)), unreadMs };
    const isShort = unreadBetween(page, first) <= settings.windowMs;
    const after = { gap: gap(page.wallAt, "unreachable"), isShort };
    const batches = withAnswer([unread], first.items, after, () => true);
    const backlog = batches.flatMap(({ items }) => items);
    const readAt = wallTimeOf(startedAt, clock);
    const added = await appender.appendOnce(batches, { position, readAt, egress: egress.name });
    const history = new Set(
      backlog
        .slice(0, historyLength(backlog, page.items))
        .flatMap(({ message, replaces }) => [message.id, replaces?.as.id]),
    );
    const historyEnd = added.findLast(({ id }) => history.has(id))?.cursor ?? claim.head;
    const start = { ...first, intervalMs: waitAfter(first, settings, page.items) };
    const owned = new OwnedRoom(claim, appender, start, egress, parts);
    telemetry.roomOpened(videoId, { chatType, ...pair, cursor: claim.head });
    return {
      owned,
      // Of a replay nothing is history to whoever opened it.
      startAt: (range, backfill) =>
        isReplay ? range.floor : backfillCursor(range, historyEnd, backfill, chatType),
    };
  }

  /** Claims an open room that another instance has left, and goes on from its checkpoint. Rejects with `StoreError`. */
  static async takeOver(videoId: string, parts: OwnedRoomParts): Promise<OwnedRoom | undefined> {
    const claim = await parts.store.peers?.takeOver(videoId);
    const position = claim && readCheckpoint(claim, parts.telemetry);
    return position && OwnedRoom.#goOn(claim, position, parts);
  }

  /** Goes on where another instance stopped. */
  static #goOn(claim: ClaimedRoom, position: Position, parts: OwnedRoomParts): OwnedRoom {
    parts.telemetry.roomTakenOver(claim.videoId, claim.head);
    return OwnedRoom.resume(claim, position, parts);
  }

  /** Goes on from a checkpoint. `room`: the one that is followed here already. */
  static resume(claim: ClaimedRoom, position: Position, parts: OwnedRoomParts, room?: Room): OwnedRoom {
    const now = parts.clock.now();
    const wallAt = Math.min(now, lastReadAt(claim) ?? 0);
    const at = parts.clock.monotonic() - (now - wallAt);
    const uptimeAt = parts.clock.uptime() - (now - wallAt);
    const start = { position, startedAt: at, answeredAt: at, uptimeAt, wallAt, intervalMs: 0 };
    const isReplay = position.chatType === "liveChatReplayRenderer";
    const demand = demandOf(isReplay, undefined, parts.settings);
    const egress = RoomEgress.resumed(claim.videoId, demand, lastEgress(claim), parts);
    return new OwnedRoom(claim, new Appender(parts, claim), start, egress, parts, room);
  }

  private constructor(
    claim: ClaimedRoom,
    appender: Appender,
    start: PollerStart,
    egress: RoomEgress,
    parts: OwnedRoomParts,
    room = new Room(claim.videoId, start.position.chatType, claim.head, parts),
  ) {
    this.room = room;
    this.#claim = claim;
    this.#store = parts.store;
    this.#appender = appender;
    this.#clock = parts.clock;
    this.egress = egress;
    const { lease } = claim;
    const isRecorded = parts.settings.recorded.has(claim.videoId);
    const rankedMs = (isQuiet: boolean) =>
      priorityMs({ isRecorded, isWatched: this.room.viewerCount > 0, isQuiet });
    const own = { egress, appender, lease, priorityMs: rankedMs };
    this.#poller = new Poller(claim.videoId, start, { ...parts, ...own });
    this.#following = this.room.follow();
    this.#polling = this.#poller.run(this.#windDown.signal, this.#stop.signal);
  }

  /** How many answers came full since this instance reads it. */
  get fullAnswers(): number {
    return this.#poller.fullAnswers;
  }

  /** Resolves when the room's end has reached it; rejects where poller or follower cannot go on. */
  async over(): Promise<void> {
    await Promise.all([this.#polling, this.#following]);
  }

  /** Stops polling because nobody watches, and closes the room in the store. */
  async release(): Promise<void> {
    this.room.finish(RELEASED);
    this.#stopPolling();
    await this.#polling;
    using limit = new Deadline(this.#clock, RELEASE_LIMIT_MS);
    await this.#appender.finish(RELEASED, limit.signal).catch((error) => {
      const isOthers = this.#store.peers && isFenced(error);
      if (!limit.signal.aborted && !isOthers) throw error;
    });
  }

  /** Lets go of a room that cannot go on; in the store it stays as it is, for the next claim. */
  abandon(): void {
    this.#stopPolling();
    this.room.close();
  }

  #stopPolling(): void {
    this.#windDown.abort();
    this.#stop.abort();
  }

  /**
   * Lets the poll in hand become durable, for at most `limitMs`; the room stays open in the store, where another
   * instance may go on at once.
   */
  async windDown(limitMs: number): Promise<void> {
    this.#windDown.abort();
    using limit = new Deadline(this.#clock, limitMs);
    limit.signal.addEventListener("abort", () => this.#stop.abort(), { once: true });
    await this.#polling.catch(() => {}); // whatever it was, the service is stopping
    if (this.#store.peers) await this.#store.abandon(this.#claim).catch(() => {});
  }
}

/** Why nobody read a room on that ended so; null: it did not end. */
function reasonFor(lastEnd: RoomEnd | null): Gap["reason"] {
  if (!lastEnd) return "down";
  return lastEnd.state === "failed" ? "unreachable" : "unwatched";
}
