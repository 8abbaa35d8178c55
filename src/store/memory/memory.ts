/**
 * The store without a disk, for trials and tests. While the process lives, it meets the same contract as the
 * others, with everything in memory.
 */
import type { Clock } from "../../clock.ts";
import { dig, parseJson } from "../../json.ts";
import type { RoomEnd } from "../../protocol/chat.ts";
import { assertOwner } from "../fence.ts";
import { Followers } from "../follow.ts";
import { lastBefore } from "../last-before.ts";
import type { StoreEngine } from "../observed.ts";
import { LocalOwnership, type TakenRoom } from "../ownership.ts";
import {
  type Claim,
  type MessageSearch,
  type RoomAccount,
  type RoomRecord,
  type RoomSummary,
  StoreError,
} from "../port.ts";
import { MemoryRecordings } from "../recordings.ts";
import { withPrefix } from "../sorted-ids.ts";
import type { EncodedMessage, StoredMessage } from "../stored-message.ts";
import { MemoryTally } from "./tally.ts";

/** Times are wall milliseconds. */
interface HeldRoom extends Omit<RoomRecord, "readAgoMs" | "endedAgoMs"> {
  epoch: number;
  readAt: number;
  endedAt: number | null;
  /** `messages[0]` has the cursor `floor + 1`. */
  messages: StoredMessage[];
  /** When each of them was stored. */
  times: number[];
  byId: Map<string, StoredMessage>;
  /** The ids in order, for prefix searches; undefined after messages were added or deleted. */
  sortedIds?: string[] | undefined;
  /** The number of `gap` messages. */
  gaps: number;
  readonly tally: MemoryTally;
}

/** One append: its time, and the number of messages that its room had got by then. */
interface Arrival {
  room: HeldRoom;
  messageCount: number;
  at: number;
}

export class MemoryStore implements StoreEngine {
  readonly followers: Followers;
  readonly ownership = new LocalOwnership({
    take: (videoId) => this.#take(videoId),
    unfinishedRooms: (maxAgoMs) => this.#unfinishedRooms(maxAgoMs),
  });
  readonly recordings = new MemoryRecordings(() => {
    this.#assertOpen();
    return this.#clock.now();
  });
  readonly lost = new Promise<never>(() => {});
  readonly #clock: Clock;
  readonly #rooms = new Map<string, HeldRoom>();
  /** The appends to all rooms, in the order of their commits; pruning takes from the start. */
  readonly #arrivals: Arrival[] = [];
  #closed = false;
  /** The characters of all messages, which take up most of the memory. */
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.followers = new Followers(clock);
  }

  async append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ): Promise<StoredMessage[]> {
    this.#assertOpen();
    return this.ownership.write(claim, async () => {
      const room = this.#rooms.get(claim.videoId) ?? this.#newRoom(claim, expectedHead);
      assertOwner(room, claim, expectedHead);
      for (const message of overwriting) this.#overwrite(room, message);
      const added: StoredMessage[] = [];
      for (const { id, body, details } of messages) {
        if (room.byId.has(id)) continue;
        const message = { id, body, details, cursor: expectedHead + added.length + 1 };
        room.byId.set(id, message);
        added.push(message);
        this.#size += sizeOf({ id, body, details });
      }
      const readAt = this.#clock.now();
      Object.assign(room, {
        head: expectedHead + added.length,
        checkpoint,
        readAt,
        end: null,
        endedAt: null,
      });
      if (added.length > 0) this.#arrived(room, added);
      this.followers.added(claim.videoId, added);
      return added;
    });
  }

  #arrived(room: HeldRoom, added: readonly StoredMessage[]): void {
    room.sortedIds = undefined;
    for (const message of added) {
      room.messages.push(message);
      room.times.push(room.readAt);
    }
    room.gaps += countGaps(added);
    room.tally.add(added, room.readAt);
    this.#arrivals.push({ room, messageCount: room.head - room.base, at: room.readAt });
  }

  #overwrite(room: HeldRoom, { id, body, details }: EncodedMessage): void {
    const before = room.byId.get(id);
    if (!before) return;
    const message = { id, body, details, cursor: before.cursor };
    room.byId.set(id, message);
    room.messages[before.cursor - room.floor - 1] = message;
    this.#size += sizeOf(message) - sizeOf(before);
  }

  async finish(claim: Claim, end: RoomEnd): Promise<void> {
    this.#assertOpen();
    return this.ownership.write(claim, async () => {
      const room = this.#rooms.get(claim.videoId);
      assertOwner(room, claim);
      this.ownership.end(claim);
      Object.assign(room, { end, endedAt: this.#clock.now() });
      this.followers.finished(claim.videoId, room.head, end);
    });
  }

  async read(videoId: string, after: number, limit: number): Promise<StoredMessage[]> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    if (!room) return [];
    const start = Math.max(0, after - room.floor);
    return room.messages.slice(start, start + limit);
  }

  async cursorAt(videoId: string, time: number): Promise<number | undefined> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    return room && lastBefore(room, (cursor) => (room.times[cursor - room.floor - 1] ?? 0) < time);
  }

  async messagesById(videoId: string, ids: readonly string[]): Promise<StoredMessage[]> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    return [...new Set(ids)].flatMap((id) => room?.byId.get(id) ?? []);
  }

  async find(videoId: string, by: MessageSearch): Promise<StoredMessage[]> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    if (!room) return [];
    if ("idPrefix" in by) {
      room.sortedIds ??= [...room.byId.keys()].sort();
      return withPrefix(room.sortedIds, by.idPrefix).flatMap((id) => room.byId.get(id) ?? []);
    }
    return room.messages.filter(({ details }) => dig(parseJson(details), "authorId") === by.authorId);
  }

  async getRoom(videoId: string): Promise<RoomRecord | undefined> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    return room && this.#toRecord(room);
  }

  async listRooms(limit: number): Promise<RoomSummary[]> {
    this.#assertOpen();
    const now = this.#clock.now();
    return [...this.#rooms.values()]
      .sort((a, b) => b.readAt - a.readAt)
      .slice(0, limit)
      .map((room) => toSummary(room, now));
  }

  async getAccount(videoId: string): Promise<RoomAccount | undefined> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    return room && { ...toSummary(room, this.#clock.now()), totals: room.tally.totals, uncounted: 0 };
  }

  /** Each append has counted its messages. */
  async tally(): Promise<number> {
    return 0;
  }

  async tallyRooms(): Promise<undefined> {}

  async prune(keptMs: number, limit: number): Promise<number> {
    this.#assertOpen();
    const before = this.#clock.now() - keptMs;
    let left = limit;
    for (const room of this.#leftBefore(before)) {
      if (left === 0) return limit;
      left -= Math.max(1, this.#deleteOldest(room, left));
      if (room.messages.length === 0) this.#rooms.delete(room.videoId);
    }
    let done = 0;
    for (const { room, messageCount } of this.#arrivals.slice(0, this.#oldArrivals(before))) {
      if (left === 0) break;
      const { base, floor } = room;
      left -= this.#deleteOldest(room, Math.min(Math.max(0, base + messageCount - floor), left));
      if (room.floor >= base + messageCount) done++;
    }
    this.#arrivals.splice(0, done);
    return limit - left;
  }

  async moveCursors(): Promise<number> {
    this.#assertOpen();
    const now = this.#clock.now();
    const rooms = [...this.#rooms.values()].filter(({ base }) => base < now);
    for (const room of rooms) {
      const by = Math.max(now, room.head + 1) - room.base;
      room.epoch = Math.max(room.epoch, now) + 1;
      room.base += by;
      room.floor += by;
      room.head += by;
      room.messages = room.messages.map((message) => ({ ...message, cursor: message.cursor + by }));
      room.byId = new Map(room.messages.map((message) => [message.id, message]));
    }
    return rooms.length;
  }

  async probeWrite(): Promise<void> {
    this.#assertOpen();
  }

  async sizeBytes(): Promise<number> {
    return this.#size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.ownership.close();
    this.followers.close();
  }

  /**
   * The epoch of a new room comes from the clock, as its cursors do, so it exceeds every epoch of a pruned
   * room.
   */
  async #take(videoId: string): Promise<TakenRoom> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    const now = this.#clock.now();
    if (!room) return { epoch: now + 1, head: now, room: undefined };
    room.epoch += 1;
    return { epoch: room.epoch, head: room.head, room: this.#toRecord(room) };
  }

  async #unfinishedRooms(maxAgoMs: number): Promise<string[]> {
    this.#assertOpen();
    const since = this.#clock.now() - maxAgoMs;
    const open = this.#rooms.values().filter(({ end, readAt }) => end === null && readAt >= since);
    return open.map(({ videoId }) => videoId).toArray();
  }

  #newRoom({ videoId, epoch }: Claim, head: number): HeldRoom {
    const room: HeldRoom = {
      videoId,
      epoch,
      base: head,
      floor: head,
      head,
      checkpoint: "",
      readAt: 0,
      end: null,
      endedAt: null,
      messages: [],
      times: [],
      byId: new Map(),
      gaps: 0,
      tally: new MemoryTally(),
    };
    this.#rooms.set(videoId, room);
    return room;
  }

  #toRecord({ videoId, base, floor, head, checkpoint, readAt, end, endedAt }: HeldRoom): RoomRecord {
    const now = this.#clock.now();
    const endedAgoMs = endedAt === null ? null : now - endedAt;
    return { videoId, base, floor, head, checkpoint, readAgoMs: now - readAt, end, endedAgoMs };
  }

  /**
   * The number of arrivals that may be deleted: those before the first one to keep, up to the last of them
   * that was stored before `before`.
   */
  #oldArrivals(before: number): number {
    const now = this.#clock.now();
    const firstToStay = this.#arrivals.findIndex(({ at }) => at >= before && at <= now);
    const passed = firstToStay === -1 ? this.#arrivals : this.#arrivals.slice(0, firstToStay);
    return passed.findLastIndex(({ at }) => at < before) + 1;
  }

  /** The rooms finished before a time, the earliest first, then those that nobody has owned or read since. */
  #leftBefore(before: number): HeldRoom[] {
    const endOf = ({ endedAt }: HeldRoom) => endedAt ?? Number.POSITIVE_INFINITY;
    const held = new Set(this.ownership.held);
    const left = [...this.#rooms.values()].filter((room) =>
      room.end ? endOf(room) < before : room.readAt < before && !held.has(room.videoId),
    );
    return left.sort((one, other) => endOf(one) - endOf(other) || 0); // both may be infinite
  }

  /** Deletes a room's oldest messages, at most `limit`. Returns their number. */
  #deleteOldest(room: HeldRoom, limit: number): number {
    const gone = room.messages.splice(0, limit);
    room.times.splice(0, gone.length);
    room.sortedIds = undefined;
    for (const message of gone) {
      room.byId.delete(message.id);
      this.#size -= sizeOf(message);
    }
    room.gaps -= countGaps(gone);
    room.floor += gone.length;
    return gone.length;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError("unavailable", "the store is closed");
  }
}

/**
 * A summary from counters that each write updates, because a list can be requested at any time, and messages
 * are many.
 */
function toSummary({ videoId, floor, head, end, readAt, gaps, times }: HeldRoom, now: number): RoomSummary {
  const [firstAt, lastAt] = [times[0] ?? null, times.at(-1) ?? null];
  return { videoId, floor, head, end, readAgoMs: now - readAt, firstAt, lastAt, gaps };
}

function countGaps(messages: readonly EncodedMessage[]): number {
  return messages.reduce((count, { id }) => count + (id.startsWith("gap:") ? 1 : 0), 0);
}

function sizeOf({ id, body, details }: EncodedMessage): number {
  return id.length + body.length + details.length;
}
