/** The rooms of an edge: each follows the origin's room of the same video, and none is read here. */
import type { Clock } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import { ENDED, type RoomEnd } from "../protocol/chat.ts";
import { type Absence, ChatAbsent, mayReturn } from "../protocol/chat-standing.ts";
import type { StoredPart } from "../rooms/archive.ts";
import type { NoRoom, RoomApplicant, RoomSource, RoomSources, StoredLog } from "../rooms/sources.ts";
import { BACKFILL_MAX } from "../serving/resume.ts";
import { Room, type RoomSettings } from "../serving/room.ts";
import { ifUnavailable } from "../store/port.ts";
import type { OriginEvents } from "../telemetry/origin-events.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Origin, StreamStart } from "./origin.ts";
import type { OriginHealth } from "./origin-health.ts";
import { OriginRoomLog } from "./origin-log.ts";
import type { OriginStream } from "./origin-stream.ts";

/** How long the end of a chat that is over may take. */
const ARCHIVE_LIMIT_MS = 5000;

interface OriginRoomsParts {
  origin: Origin;
  health: OriginHealth;
  clock: Clock;
  telemetry: Telemetry;
  events: OriginEvents;
  settings: RoomSettings & { tailMessages: number };
  /** Whether the origin is the first process of this service, where the addresses of viewers take turns. */
  isWorker?: boolean;
}

export class OriginRooms implements RoomSources {
  readonly #parts: OriginRoomsParts;
  /** There is nothing to report: the origin counts this edge's streams as its viewers. */
  readonly ownership = { setViewers: () => {}, watchedForMs: async () => 0 };
  readonly isBlocked = false;
  readonly census = { viewers: 0 };

  constructor(parts: OriginRoomsParts) {
    this.#parts = parts;
  }

  async open(videoId: string, applicant: RoomApplicant, stopped: AbortSignal): Promise<RoomSource | NoRoom> {
    const { origin, events, settings, isWorker } = this.#parts;
    const start = isWorker ? { address: applicant.queued.address } : {};
    const begun = await this.#begun(videoId, start, applicant, stopped);
    if (begun instanceof ChatAbsent) return { absence: begun.absence, rememberedMs: begun.retryAfterMs };
    const stream = begun;
    using opening = new DisposableStack();
    opening.use(stream);
    const { cursor: historyEnd, chatType } = stream;
    applicant.assertCapacity(chatType);
    const [recent, closedBefore] = await Promise.all([
      origin.messagesUpTo(videoId, historyEnd, Math.min(BACKFILL_MAX, settings.tailMessages)),
      origin.closedAt(videoId),
    ]);
    const before = (recent[0]?.cursor ?? historyEnd + 1) - 1;
    const store = new OriginRoomLog(this.#parts, { recent, stream, isClosed: closedBefore !== undefined });
    const blanking = {
      ...settings,
      // Asked at each deletion: a room may outlive a restart of the origin with another setting.
      get isBlanking() {
        return settings.isBlanking || origin.isBlanking;
      },
    };
    const room = new Room(videoId, chatType, before, {
      ...this.#parts,
      census: this.census,
      store,
      settings: blanking,
      closedBefore,
    });
    opening.move();
    events.roomFollowed(videoId, { chatType, cursor: historyEnd });
    // It lingers as a room that is read here does: its stream keeps the origin's room open.
    return { followed: { room, lingers: true }, historyEnd };
  }

  /** A stream that has begun. A chat that may come back is waited for from its last cursor on. */
  async #begun(
    videoId: string,
    start: StreamStart,
    applicant: RoomApplicant,
    stopped: AbortSignal,
  ): Promise<OriginStream | ChatAbsent> {
    const { origin } = this.#parts;
    const begin = (from: StreamStart) =>
      origin.stream(videoId, from, stopped).catch((error: unknown) => {
        if (error instanceof ChatAbsent) return error;
        throw error;
      });
    const begun = await begin(start);
    if (!(begun instanceof ChatAbsent) || !mayReturn(begun.absence) || !applicant.isResumed()) return begun;
    const range = await origin.range(videoId);
    return range && applicant.isResumed(range) ? await begin({ ...start, lastEventId: range.head }) : begun;
  }

  async excerpt(videoId: string, closedAt?: number): Promise<Room> {
    if (closedAt !== undefined) return this.#over(videoId, "liveChatRenderer", closedAt, closedAt);
    const { chatType, cursor } = await this.#ask(videoId, { isBounded: true }, async (stream) => stream);
    const room = this.#unfollowed(videoId, chatType, cursor);
    room.bound(false); // the origin does not say whether it has read the chat to its end
    return room;
  }

  /**
   * The origin alone knows whether the chat is over: it ends the stream of a viewer that has everything.
   */
  async archived(videoId: string, absence: Absence): Promise<StoredPart | undefined> {
    const range = await this.#parts.origin.range(videoId);
    if (!range || mayReturn(absence)) return range && { range, room: undefined };
    const { head } = range;
    return await this.#ask(videoId, { lastEventId: head }, async (stream) => {
      if (stream.cursor !== head) return undefined;
      // A stream that opened counts as one that goes on, also if it then breaks, or says nothing for long.
      const first = stream.batches().next();
      const { value: end } = await first.catch(ifUnavailable({ value: [] }));
      if (Array.isArray(end)) return { range, room: undefined };
      if (!end) return undefined;
      const closedAt = await this.#parts.origin.closedAt(videoId);
      return { range, room: this.#over(videoId, stream.chatType, head, closedAt, end) };
    });
  }

  async log(videoId: string): Promise<StoredLog> {
    return { closedAt: await this.#parts.origin.closedAt(videoId) };
  }

  async head(videoId: string): Promise<number> {
    return (await this.#parts.origin.range(videoId))?.head ?? 0;
  }

  async unreadiness(): Promise<string[]> {
    return this.#parts.health.isGood ? [] : ["the origin does not answer"];
  }

  /** A room that is over, of which the origin has pages up to this cursor. */
  #over(
    videoId: string,
    chatType: Room["chatType"],
    head: number,
    closedBefore: number | undefined,
    end: RoomEnd = ENDED,
  ): Room {
    const room = this.#unfollowed(videoId, chatType, head, closedBefore);
    room.finish(end);
    return room;
  }

  /** A room that is served only from the origin's pages, without a stream. */
  #unfollowed(
    videoId: string,
    chatType: Room["chatType"],
    head: number,
    closedBefore?: number | undefined,
  ): Room {
    return new Room(videoId, chatType, head, {
      ...this.#parts,
      census: this.census,
      store: new OriginRoomLog(this.#parts),
      closedBefore,
    });
  }

  /** Opens a stream for what `read` wants of it. */
  async #ask<T>(
    videoId: string,
    start: Parameters<Origin["stream"]>[1],
    read: (stream: Awaited<ReturnType<Origin["stream"]>>) => Promise<T>,
  ): Promise<T> {
    using limit = new Deadline(this.#parts.clock, ARCHIVE_LIMIT_MS);
    using stream = await this.#parts.origin.stream(videoId, start, limit.signal);
    return await read(stream);
  }
}
