/**
 * A room that this instance owns: its poller's life, begun by a bootstrap or from a checkpoint, ended with the
 * chat, by desertion or with the service.
 */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { ObservedStore } from "../store/observed.ts";
import { type ClaimedRoom, isFenced } from "../store/port.ts";
import type { Breaker } from "../upstream/egress/breaker.ts";
import type { Capacity } from "../upstream/egress/capacity.ts";
import type { LiveChat } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import { Appender, type AppenderSettings } from "./appender.ts";
import { lastReadAt, readCheckpoint } from "./checkpoint.ts";
import { backfillCursor } from "./cursor.ts";
import type { Hole } from "./hole.ts";
import { waitAfter } from "./interval.ts";
import { historyLength } from "./order.ts";
import { withAnswer, withPage } from "./pages.ts";
import { Poller, type PollerSettings, type PollerStart } from "./poller.ts";
import { Room, type RoomParts, type RoomSettings, type StartAt } from "./room.ts";

const RELEASED: RoomEnd = { state: "released", reason: "room released" };
/** A release that the store cannot take is given up: the next claim settles it. */
const RELEASE_LIMIT_MS = 5000;

export interface OwnedRoomParts extends RoomParts {
  liveChat: LiveChat;
  /** Of the egress by which `liveChat` calls. */
  breaker: Breaker;
  capacity: Capacity;
  settings: RoomSettings & PollerSettings & AppenderSettings;
}

export class OwnedRoom {
  readonly room: Room;
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
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<{ owned: OwnedRoom; startAt?: StartAt } | undefined> {
    const owned = await OwnedRoom.takeOver(videoId, parts);
    if (owned) return { owned };
    const { store, capacity, settings } = parts;
    await capacity.admit(videoId, settings.windowMs, signal);
    try {
      const claim = await store.claim(videoId);
      if (!claim) {
        capacity.leave(videoId);
        return undefined;
      }
      const left = store.peers && claim.lastEnd === null && OwnedRoom.#goOn(claim, parts);
      if (left) return { owned: left }; // it was let go of while this one waited
      try {
        return await OwnedRoom.#bootstrap(claim, parts, signal);
      } catch (error) {
        await store.abandon(claim).catch(() => {}); // it was reported, and retention does it later
        throw error;
      }
    } catch (error) {
      capacity.leave(videoId);
      throw error;
    }
  }

  static async #bootstrap(
    claim: ClaimedRoom,
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<{ owned: OwnedRoom; startAt: StartAt }> {
    const { videoId } = claim;
    const { breaker, clock, liveChat, telemetry, settings } = parts;
    let startedAt = 0;
    const { page, first } = await liveChat.bootstrap(videoId, {
      lane: "caller",
      dueAt: clock.monotonic(), // of several, one is opened after the other: a page must not wait long for its answer
      maxCooldownMs: 0,
      beforeStart: () => {
        claim.lease.assertHeld();
        startedAt = clock.monotonic();
      },
      signal,
    });
    const answeredAt = clock.monotonic();
    breaker.succeeded();
    const { position } = first;
    const { chatType, pair } = position;
    const isReplay = chatType === "liveChatReplayRenderer";
    const appender = new Appender(parts, claim);
    const hole = (sinceMs: number | undefined, reason: Hole["reason"]) =>
      isReplay || sinceMs === undefined ? undefined : { sinceMs, reason };
    const unread = { hole: hole(lastReadAt(claim), reasonFor(claim.lastEnd)), isShort: false };
    const pageAt = clock.now() - (clock.monotonic() - page.loadedAt);
    const isShort = answeredAt - page.loadedAt <= settings.windowMs;
    const stretches = withAnswer(withPage([], page, unread), first.items, {
      hole: hole(pageAt, "unreachable"),
      isShort,
    });
    const backlog = stretches.flatMap(({ items }) => items);
    const readAt = clock.now() - (clock.monotonic() - startedAt);
    const added = await appender.appendOnce(stretches, { position, readAt });
    const history = new Set(
      backlog
        .slice(0, historyLength(backlog, page.items))
        .flatMap(({ message, replaces }) => [message.id, replaces?.as.id]),
    );
    const historyEnd = added.findLast(({ id }) => history.has(id))?.cursor ?? claim.head;
    const start = { position, startedAt, answeredAt, intervalMs: waitAfter(first, settings) };
    const owned = new OwnedRoom(claim, appender, start, parts);
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
    return claim && OwnedRoom.#goOn(claim, parts);
  }

  /** Goes on where another instance stopped; undefined where its checkpoint cannot be read here. */
  static #goOn(claim: ClaimedRoom, parts: OwnedRoomParts): OwnedRoom | undefined {
    const position = readCheckpoint(claim, parts.telemetry);
    if (!position) return undefined;
    parts.telemetry.roomTakenOver(claim.videoId, claim.head);
    return OwnedRoom.resume(claim, position, parts);
  }

  /** Goes on from a checkpoint. `room`: the one that is followed here already. */
  static resume(claim: ClaimedRoom, position: Position, parts: OwnedRoomParts, room?: Room): OwnedRoom {
    const ageMs = Math.max(0, parts.clock.now() - (lastReadAt(claim) ?? 0));
    const at = parts.clock.monotonic() - ageMs;
    const start = { position, startedAt: at, answeredAt: at, intervalMs: 0 };
    return new OwnedRoom(claim, new Appender(parts, claim), start, parts, room);
  }

  private constructor(
    claim: ClaimedRoom,
    appender: Appender,
    start: PollerStart,
    parts: OwnedRoomParts,
    room = new Room(claim.videoId, start.position.chatType, claim.head, parts),
  ) {
    this.room = room;
    this.#claim = claim;
    this.#store = parts.store;
    this.#appender = appender;
    this.#clock = parts.clock;
    const poller = new Poller(claim.videoId, start, { ...parts, appender, lease: claim.lease });
    this.#following = this.room.follow();
    this.#polling = poller.run(this.#windDown.signal, this.#stop.signal);
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
function reasonFor(lastEnd: RoomEnd | null): Hole["reason"] {
  if (!lastEnd) return "down";
  return lastEnd.state === "failed" ? "unreachable" : "unwatched";
}
