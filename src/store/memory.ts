/**
 * The store without a disk: the same contract for as long as the process lives. For trying things out, and
 * for tests; what is "durable" here is what a commit would have kept.
 */
import type { Clock } from "../clock.ts";
import { dig, parseJson } from "../json.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { assertOwner } from "./fence.ts";
import { Followers } from "./follow.ts";
import { LocalLeases } from "./lease.ts";
import type { StoreEngine } from "./observed.ts";
import {
  type Claim,
  type ClaimedRoom,
  type MessageSearch,
  type RoomRecord,
  type RoomSummary,
  StoreError,
  UNUSED_CLAIM_MS,
} from "./port.ts";
import { LocalPresence } from "./presence.ts";
import type { EncodedMessage, StoredMessage } from "./stored-message.ts";

interface HeldRoom {
  record: RoomRecord & Claim;
  /** Until the first write under its newest claim: when that was, and the end that the room had before. */
  claimed: (Pick<RoomRecord, "end" | "endedAt"> & { at: number }) | undefined;
  /** `messages[0]` has the cursor `floor + 1`. */
  messages: StoredMessage[];
  byId: Map<string, StoredMessage>;
  /** The ids in order, for searches by their beginning; absent where messages have come or gone since the last one. */
  sortedIds?: string[] | undefined;
  /** How many of the messages are of type `gap`. */
  gaps: number;
  /** The append of the oldest message that is held, and the newest of all; undefined where none is held, or ever was. */
  first: Arrival | undefined;
  last: Arrival | undefined;
}

/** One append: when it was, and how many messages its room had ever been given by then. */
interface Arrival {
  room: HeldRoom;
  messageCount: number;
  at: number;
  /** The next one of its room. */
  next: Arrival | undefined;
}

export class MemoryStore implements StoreEngine {
  readonly followers: Followers;
  readonly presence = new LocalPresence();
  readonly lost = new Promise<never>(() => {});
  readonly #clock: Clock;
  readonly #rooms = new Map<string, HeldRoom>();
  /** In the order of their commits, all rooms together: what pruning takes from. */
  readonly #arrivals: Arrival[] = [];
  readonly #leases = new LocalLeases();
  #closed = false;
  /** Characters of all messages: the greater part of what is held. */
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.followers = new Followers(clock);
  }

  async claim(videoId: string): Promise<ClaimedRoom> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId) ?? this.#newRoom(videoId);
    const { end, endedAt } = room.claimed ?? room.record;
    room.claimed = { end, endedAt, at: this.#clock.now() };
    room.record = { ...room.record, epoch: room.record.epoch + 1, end: null, endedAt: null };
    return { ...room.record, lastEnd: end, lease: this.#leases.grant(room.record) };
  }

  async abandon(claim: Claim): Promise<void> {
    this.#assertOpen();
    const room = this.#owned(claim);
    this.#leases.end(claim);
    const { end = null, endedAt = null } = room.claimed ?? {};
    room.claimed = undefined;
    room.record = { ...room.record, epoch: room.record.epoch + 1, end, endedAt };
    if (room.record.checkpoint === null) this.#rooms.delete(claim.videoId);
    if (end) this.followers.finished(claim.videoId, room.record.head, end);
  }

  async append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ): Promise<StoredMessage[]> {
    this.#assertOpen();
    const room = this.#owned(claim, expectedHead);
    for (const message of overwriting) this.#overwrite(room, message);
    const added: StoredMessage[] = [];
    for (const { id, body, details } of messages) {
      if (room.byId.has(id)) continue;
      const message = { id, body, details, cursor: expectedHead + added.length + 1 };
      room.byId.set(id, message);
      added.push(message);
      this.#size += sizeOf({ id, body, details });
    }
    const head = expectedHead + added.length;
    const at = this.#clock.now();
    room.record = { ...room.record, head, checkpoint, checkpointAt: at };
    room.claimed = undefined;
    if (added.length > 0) {
      room.sortedIds = undefined;
      room.messages.push(...added);
      room.gaps += countGaps(added);
      const arrival = { room, messageCount: head - room.record.base, at, next: undefined };
      this.#arrivals.push(arrival);
      if (room.last) room.last.next = arrival;
      room.last = arrival;
      room.first ??= arrival;
    }
    this.followers.added(claim.videoId, added);
    return added;
  }

  #overwrite(room: HeldRoom, { id, body, details }: EncodedMessage): void {
    const before = room.byId.get(id);
    if (!before) return;
    const message = { id, body, details, cursor: before.cursor };
    room.byId.set(id, message);
    room.messages[before.cursor - room.record.floor - 1] = message;
    this.#size += sizeOf(message) - sizeOf(before);
  }

  async finish(claim: Claim, end: RoomEnd): Promise<void> {
    this.#assertOpen();
    const room = this.#owned(claim);
    this.#leases.end(claim);
    room.record = { ...room.record, end, endedAt: this.#clock.now() };
    room.claimed = undefined;
    this.followers.finished(claim.videoId, room.record.head, end);
  }

  async read(videoId: string, after: number, limit: number): Promise<StoredMessage[]> {
    this.#assertOpen();
    const room = this.#rooms.get(videoId);
    if (!room) return [];
    const start = Math.max(0, after - room.record.floor);
    return room.messages.slice(start, start + limit);
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
    if ("idPrefix" in by) return idsFrom(room, by.idPrefix).flatMap((id) => room.byId.get(id) ?? []);
    return room.messages.filter(({ details }) => dig(parseJson(details), "authorId") === by.authorId);
  }

  async getRoom(videoId: string): Promise<RoomRecord | undefined> {
    this.#assertOpen();
    return this.#rooms.get(videoId)?.record;
  }

  async unfinishedRooms(since: number): Promise<RoomRecord[]> {
    this.#assertOpen();
    return this.#rooms
      .values()
      .filter(({ record, claimed }) => (claimed ?? record).end === null)
      .map(({ record }) => record)
      .filter(({ checkpointAt }) => checkpointAt !== null && checkpointAt >= since)
      .toArray();
  }

  async listRooms(limit: number): Promise<RoomSummary[]> {
    this.#assertOpen();
    const read = this.#rooms.values().filter(({ record }) => record.checkpointAt !== null);
    return [...read]
      .sort((a, b) => (b.record.checkpointAt ?? 0) - (a.record.checkpointAt ?? 0))
      .slice(0, limit)
      .map(toSummary);
  }

  async prune(before: number, limit: number): Promise<number> {
    this.#assertOpen();
    let left = limit;
    for (const room of this.#finishedBefore(before)) {
      if (left === 0) return limit;
      left -= Math.max(1, this.#deleteOldest(room, left));
      if (room.messages.length === 0) this.#rooms.delete(room.record.videoId);
    }
    let done = 0;
    for (const { room, messageCount } of this.#arrivals.slice(0, this.#oldArrivals(before))) {
      if (left === 0) break;
      const { base, floor } = room.record;
      left -= this.#deleteOldest(room, Math.min(Math.max(0, base + messageCount - floor), left));
      if (room.record.floor >= base + messageCount) done++;
    }
    this.#arrivals.splice(0, done);
    return limit - left;
  }

  async moveCursors(): Promise<number> {
    this.#assertOpen();
    const now = this.#clock.now();
    const rooms = [...this.#rooms.values()].filter(({ record }) => record.base < now);
    for (const room of rooms) {
      const { epoch, base, floor, head } = room.record;
      const by = Math.max(now, head + 1) - base;
      const moved = { epoch: Math.max(epoch, now) + 1, base: base + by, floor: floor + by, head: head + by };
      room.record = { ...room.record, ...moved };
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
    this.#leases.endAll();
    this.followers.close();
  }

  #newRoom(videoId: string): HeldRoom {
    const born = this.#clock.now();
    const unread = { checkpoint: null, checkpointAt: null, end: null, endedAt: null };
    const record = { videoId, epoch: born, base: born, floor: born, head: born, ...unread };
    const room: HeldRoom = {
      record,
      claimed: undefined,
      messages: [],
      byId: new Map(),
      gaps: 0,
      first: undefined,
      last: undefined,
    };
    this.#rooms.set(videoId, room);
    return room;
  }

  #owned(claim: Claim, expectedHead?: number): HeldRoom {
    const room = this.#rooms.get(claim.videoId);
    try {
      assertOwner(room?.record, claim, expectedHead);
      return room;
    } catch (error) {
      this.#leases.end(claim);
      throw error;
    }
  }

  /** How many of the arrivals are old: up to the last one stored before, of those in front of the first to stay. */
  #oldArrivals(before: number): number {
    const now = this.#clock.now();
    const firstToStay = this.#arrivals.findIndex(({ at }) => at >= before && at <= now);
    const passed = firstToStay === -1 ? this.#arrivals : this.#arrivals.slice(0, firstToStay);
    return passed.findLastIndex(({ at }) => at < before) + 1;
  }

  /** Nobody owns them any more. Those that never held anything go first, then the longest finished. */
  #finishedBefore(before: number): HeldRoom[] {
    const unusedSince = this.#clock.now() - UNUSED_CLAIM_MS;
    const finishedAt = ({ record, claimed }: HeldRoom) => {
      if (claimed && claimed.at >= unusedSince) return Number.POSITIVE_INFINITY;
      const { endedAt } = claimed ?? record;
      return endedAt ?? (record.checkpoint === null ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
    };
    const finished = [...this.#rooms.values()].filter((room) => finishedAt(room) < before);
    return finished.sort((one, other) => finishedAt(one) - finishedAt(other));
  }

  /** Deletes a room's oldest messages, as many as there are up to the limit. Returns their number. */
  #deleteOldest(room: HeldRoom, limit: number): number {
    const gone = room.messages.splice(0, limit);
    room.sortedIds = undefined;
    for (const message of gone) {
      room.byId.delete(message.id);
      this.#size -= sizeOf(message);
    }
    room.gaps -= countGaps(gone);
    const { base, floor } = room.record;
    room.record = { ...room.record, floor: floor + gone.length };
    while (room.first && base + room.first.messageCount <= room.record.floor) room.first = room.first.next;
    return gone.length;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError("unavailable", "the store is closed");
  }
}

/** Of what is kept up to date with each write: anybody may ask for a list, and messages are many. */
function toSummary({ record, gaps, first, last }: HeldRoom): RoomSummary {
  const { videoId, floor, head, end, checkpointAt } = record;
  const times = { readAt: checkpointAt, firstAt: first?.at ?? null, lastAt: (first && last?.at) ?? null };
  return { videoId, floor, head, end, ...times, gaps };
}

function countGaps(messages: readonly EncodedMessage[]): number {
  return messages.reduce((count, { id }) => count + (id.startsWith("gap:") ? 1 : 0), 0);
}

/** The room's ids that begin with `prefix`. */
function idsFrom(room: HeldRoom, prefix: string): string[] {
  room.sortedIds ??= [...room.byId.keys()].sort();
  const ids = room.sortedIds;
  let [start, above] = [0, ids.length];
  while (start < above) {
    const middle = (start + above) >>> 1;
    if ((ids[middle] ?? "") < prefix) start = middle + 1;
    else above = middle;
  }
  let end = start;
  while (ids[end]?.startsWith(prefix)) end += 1;
  return ids.slice(start, end);
}

function sizeOf({ id, body, details }: EncodedMessage): number {
  return id.length + body.length + details.length;
}
