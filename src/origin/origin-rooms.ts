/** The rooms of an edge: each follows the origin's room of the same video, and none is read here. */
import type { Clock } from "../base/clock.ts";
import { chatKey, chatNamed } from "../protocol/chat-key.ts";
import { ChatAbsent, mayReturn } from "../protocol/chat-standing.ts";
import type { Acquired, RoomApplicant, RoomSources } from "../rooms/sources.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import { BACKFILL_MAX } from "../serving/resume-or-backfill.ts";
import { Room, type RoomSettings } from "../serving/room.ts";
import type { OriginEvents } from "../telemetry/origin-events.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Origin, StreamStart } from "./origin.ts";
import type { OriginHealth } from "./origin-health.ts";
import { OriginRoomLog } from "./origin-log.ts";
import type { OriginStream } from "./origin-stream.ts";

interface OriginRoomsParts {
  origin: Origin;
  health: OriginHealth;
  clock: Clock;
  telemetry: Telemetry;
  events: OriginEvents;
  settings: RoomSettings & { tailMessages: number };
  /** Whether this edge or its origin blanks deleted messages; may change at any time. */
  isBlanking(): boolean;
  /** Whether the origin is the first process of this service, where the addresses of viewers take turns. */
  isWorker?: boolean;
}

/** The longest interval of polls with the default settings: the origin does not say what it has. */
export const ORIGIN_INTERVAL_MS = 13_500;

export class OriginRooms implements RoomSources {
  readonly #parts: OriginRoomsParts;
  /** There is nothing to report: the origin counts this edge's streams as its viewers. */
  readonly ownership = { setViewers: () => {}, watchedForMs: async () => 0 };
  readonly isBlocked = false;
  readonly longestIntervalMs = ORIGIN_INTERVAL_MS;
  readonly census = { viewers: 0 };

  constructor(parts: OriginRoomsParts) {
    this.#parts = parts;
  }

  async acquire(videoId: string, applicant: RoomApplicant, signal: AbortSignal): Promise<Acquired> {
    const { origin, clock, telemetry, events, settings, isBlanking, isWorker } = this.#parts;
    applicant.places.assertFree(videoId, applicant.waiting.expectedType());
    const start = isWorker ? { address: applicant.queued.address } : {};
    const begun = await this.#begun(videoId, start, applicant, signal);
    if (begun instanceof ChatAbsent)
      return { is: "absent", absence: begun.absence, rememberedMs: begun.retryAfterMs };
    const stream = begun;
    using opening = new DisposableStack();
    opening.use(stream);
    const { cursor, chatType } = stream;
    applicant.places.take(videoId, chatType);
    const count = Math.min(BACKFILL_MAX, settings.tailMessages);
    const recent = await origin.messagesUpTo(videoId, cursor, count);
    const before = (recent[0]?.cursor ?? cursor + 1) - 1;
    const store = new OriginRoomLog(origin, clock, events, { recent, stream });
    const blanking = {
      ...settings,
      // Asked at each batch: a room may outlive a restart of the origin with another setting.
      get isBlanking() {
        return isBlanking();
      },
    };
    const key = chatKey(videoId, chatNamed(chatType));
    const { census } = this;
    const room = new Room(key, before, { store, clock, telemetry, census, settings: blanking });
    room.historyEnd = cursor;
    opening.move();
    events.roomFollowed(videoId, { chatType, cursor });
    // It lingers as a room that is read here does: its stream keeps the origin's room open.
    return { is: "followed", followed: { room, lingers: true } };
  }

  /**
   * A stream that has begun. The replay begins after its last cursor, which names it: an origin may still
   * give newcomers the live chat. A chat that may come back also begins after its last cursor, so that the
   * origin waits for it.
   */
  async #begun(
    videoId: string,
    start: StreamStart,
    { waiting }: RoomApplicant,
    signal: AbortSignal,
  ): Promise<OriginStream | ChatAbsent> {
    const { origin } = this.#parts;
    const begin = (from: StreamStart) =>
      origin.stream(videoId, from, signal).catch((error: unknown) => {
        if (error instanceof ChatAbsent) return error;
        throw error;
      });
    const replay = waiting.replayOfAll;
    const begun = await begin(replay ? { ...start, lastEventId: replay.head } : start);
    if (!(begun instanceof ChatAbsent) || !mayReturn(begun.absence) || !waiting.needsLiveChat()) return begun;
    const [range] = await this.stored(videoId);
    return range && waiting.needsLiveChat(range) ? await begin({ ...start, lastEventId: range.head }) : begun;
  }

  async stored(videoId: string): Promise<StoredChat[]> {
    return await this.#parts.origin.stored(videoId);
  }

  /** A room of a stored chat, whose messages are read from the origin's pages alone, without a stream. */
  serve({ key, head }: StoredChat): Room {
    const { origin, clock, telemetry, events, settings } = this.#parts;
    const store = new OriginRoomLog(origin, clock, events);
    return new Room(key, head, { store, clock, telemetry, census: this.census, settings });
  }

  async unreadiness(): Promise<string[]> {
    return this.#parts.health.isGood ? [] : ["the origin does not answer"];
  }
}
