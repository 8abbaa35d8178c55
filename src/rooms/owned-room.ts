/**
 * A room that this instance owns: its poller's life, begun by a bootstrap or from a checkpoint, ended with the
 * chat, by desertion or with the service.
 */
import type { Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { RelayError } from "../protocol/errors.ts";
import type { ClaimedRoom, RoomRecord } from "../store/port.ts";
import type { LiveChat } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import { Appender } from "./appender.ts";
import { backfillCursor } from "./cursor.ts";
import { historyLength, mergeInOrder } from "./order.ts";
import { Poller, type PollerSettings, type PollerStart, waitAfter } from "./poller.ts";
import { Room, type RoomParts, type RoomSettings, type StartAt } from "./room.ts";

const RELEASED: RoomEnd = { state: "released", reason: "room released" };
/** A release that the store cannot take is given up: the next claim settles it. */
const RELEASE_LIMIT_MS = 5000;

export interface OwnedRoomParts extends RoomParts {
  liveChat: LiveChat;
  settings: RoomSettings & PollerSettings;
}

export class OwnedRoom {
  readonly room: Room;
  readonly #appender: Appender;
  readonly #clock: Clock;
  readonly #windDown = new AbortController();
  readonly #stop = new AbortController();
  readonly #polling: Promise<void>;
  readonly #following: Promise<void>;

  /**
   * Claims the room, bootstraps the chat and makes the backlog durable; if that fails, the store is as it was
   * before. Viewers that waited for it begin where `startAt` says. Rejects as `LiveChat.bootstrap` does, and with
   * `StoreError`.
   */
  static async bootstrap(
    videoId: string,
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<{ owned: OwnedRoom; startAt: StartAt }> {
    const claim = await parts.store.claim(videoId);
    if (!claim) throw ownedElsewhere();
    try {
      return await OwnedRoom.#bootstrap(claim, parts, signal);
    } catch (error) {
      await parts.store.abandon(claim).catch(() => {}); // it was reported, and retention does it later
      throw error;
    }
  }

  static async #bootstrap(
    claim: ClaimedRoom,
    parts: OwnedRoomParts,
    signal: AbortSignal,
  ): Promise<{ owned: OwnedRoom; startAt: StartAt }> {
    const { videoId } = claim;
    const { liveChat, telemetry, settings } = parts;
    const { page, first } = await liveChat.bootstrap(videoId, {
      lane: "caller",
      maxCooldownMs: 0,
      beforeStart: () => claim.lease.assertHeld(),
      signal,
    });
    const { position } = first;
    const { chatType, pair } = position;
    const appender = new Appender(parts, claim);
    const backlog = mergeInOrder(page.items, first.items);
    const added = await appender.appendOnce(backlog, position);
    const history = new Set(
      backlog
        .slice(0, historyLength(backlog, page.items))
        .flatMap(({ message, replaces }) => [message.id, replaces?.as.id]),
    );
    const historyEnd = added.findLast(({ id }) => history.has(id))?.cursor ?? claim.head;
    const start = { position, waitMs: waitAfter(first, settings), ageMs: 0 };
    const owned = new OwnedRoom(claim, appender, start, parts);
    telemetry.roomOpened(videoId, { chatType, ...pair, cursor: claim.head });
    return {
      owned,
      // Of a replay nothing is history to whoever opened it.
      startAt: (range, backfill) =>
        chatType === "liveChatReplayRenderer"
          ? range.floor
          : backfillCursor(range, historyEnd, backfill, chatType),
    };
  }

  /** Goes on from the checkpoint of a room that was open when the service stopped. Rejects with `StoreError`. */
  static async resume(record: RoomRecord, position: Position, parts: OwnedRoomParts): Promise<OwnedRoom> {
    const claim = await parts.store.claim(record.videoId);
    if (!claim) throw ownedElsewhere();
    parts.telemetry.roomResumed(record.videoId, claim.head);
    const ageMs = Math.max(0, parts.clock.now() - (record.checkpointAt ?? 0));
    return new OwnedRoom(claim, new Appender(parts, claim), { position, waitMs: 0, ageMs }, parts);
  }

  private constructor(claim: ClaimedRoom, appender: Appender, start: PollerStart, parts: OwnedRoomParts) {
    this.room = new Room(claim.videoId, start.position.chatType, claim.head, parts);
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
    await this.#appender.finish(RELEASED, limit.signal);
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

  /** Lets the poll in hand become durable, for at most `limitMs`; the room stays open in the store. */
  async windDown(limitMs: number): Promise<void> {
    this.#windDown.abort();
    using limit = new Deadline(this.#clock, limitMs);
    limit.signal.addEventListener("abort", () => this.#stop.abort(), { once: true });
    await this.#polling.catch(() => {}); // whatever it was, the service is stopping
  }
}

function ownedElsewhere(): RelayError {
  return new RelayError("CAPACITY", "Another instance reads this chat.", { retryAfterMs: 1000 });
}
