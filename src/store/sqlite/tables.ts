/**
 * The store's operations on an open database, one method each, with statements prepared once. The caller
 * provides the transaction; a refused write has changed nothing. Body and details stay text throughout.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RoomEnd } from "../../protocol/chat.ts";
import { assertOwner } from "../fence.ts";
import { lastBefore } from "../last-before.ts";
import type { TakenRoom } from "../ownership.ts";
import type { Claim, MessageSearch, RoomRecord, RoomSummary } from "../port.ts";
import { type EncodedMessage, type StoredMessage, withEnd } from "../stored-message.ts";
import { APPLICATION_ID, AUTHOR_ID, prepared } from "./schema.ts";

type OldMessage = Record<"seq" | "room" | "cursor" | "at", number>;
/** Times are wall milliseconds, also in all calls. */
interface RoomRow extends Omit<RoomRecord, "readAgoMs" | "end" | "endedAgoMs"> {
  key: number;
  epoch: number;
  readAt: number;
  end: string | null;
  endedAt: number | null;
}

const ROOM = `key, video_id as videoId, epoch, base, floor, head, checkpoint, checkpoint_at as readAt,
  ending as end, ended_at as endedAt`;

const SQL = {
  take: `update room set epoch = epoch + 1 where video_id = ? returning ${ROOM}`,
  newborn: `insert into room (video_id, epoch, base, floor, head) values (:videoId, :epoch, :head, :head, :head)
    returning ${ROOM}`,
  room: `select ${ROOM} from room where video_id = ?`,
  unfinishedRooms: "select video_id as videoId from room where ended_at is null and checkpoint_at >= ?",
  listRooms: `select video_id as videoId, floor, head, ending as end, :now - checkpoint_at as readAgoMs,
      (select at from message where room = key and cursor = floor + 1) as firstAt,
      (select at from message where room = key and cursor = head) as lastAt,
      (select count(*) from message where room = key and id >= 'gap:' and id < 'gap;') as gaps
    from room order by checkpoint_at desc limit :limit`,
  insert: `insert into message (room, cursor, at, id, body, details) values (?, ?, ?, ?, ?, ?)
    on conflict (room, id) do nothing`,
  moveOn: `update room set head = ?, checkpoint = ?, checkpoint_at = ?, ending = null, ended_at = null
    where key = ?`,
  finish: "update room set ending = ?, ended_at = ? where key = ?",
  read: `select cursor, id, body, details from message
    where room = (select key from room where video_id = ?) and cursor > ? order by cursor limit ?`,
  storedAt: "select at from message where room = ? and cursor = ?",
  messageById: `select cursor, id, body, details from message
    where room = (select key from room where video_id = ?) and id = ?`,
  byIdPrefix: `select cursor, id, body, details from message
    where room = (select key from room where video_id = :videoId)
      and id >= :idPrefix and id < :idPrefix || char(0x10ffff)`,
  byAuthor: `select cursor, id, body, details from message
    where room = (select key from room where video_id = :videoId) and ${AUTHOR_ID} = :authorId`,
  overwrite: "update message set body = ?, details = ? where room = ? and id = ?",
  longestFinished: "select key, floor, head from room where ended_at < ? order by ended_at limit 1",
  deleteUpTo: "delete from message where room = ? and cursor <= ?",
  raiseFloor: "update room set floor = ? where key = ?",
  deleteRoom: "delete from room where key = ?",
  oldest: "select seq, room, cursor, at from message order by seq limit ?",
  nextInTime: "select at from message where seq > ? and at <= ? order by seq limit 1",
  deleteOldest: "delete from message where seq <= ?",
  // Shifts by more than the room's span, so the new cursors exceed all old ones, and none collide on the way.
  moves: "select key, max(:now, head + 1) - base as by from room where base < :now",
  moveRoom: `update room set epoch = max(epoch, :now) + 1, base = base + :by, floor = floor + :by, head = head + :by
    where key = :key`,
  moveMessages: "update message set cursor = cursor + :by where room = :key",
  touch: `pragma application_id = ${APPLICATION_ID}`,
  edges: "select (select max(key) from room), (select max(seq) from message)",
} as const;

export class Tables {
  readonly #sql: Record<keyof typeof SQL, StatementSync>;

  constructor(database: DatabaseSync) {
    this.#sql = prepared(database, SQL);
  }

  /**
   * The epoch of a new room comes from the clock, as its cursors do, so it exceeds every epoch of a pruned
   * room.
   */
  take(videoId: string, now: number): TakenRoom {
    const row = this.#sql.take.get(videoId) as RoomRow | undefined;
    if (!row) return { epoch: now + 1, head: now, room: undefined };
    return { epoch: row.epoch, head: row.head, room: toRecord(row, now) };
  }

  /** Returns the indexes of the added messages, whose cursors start at `expectedHead + 1`. */
  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    now: number,
    overwriting: readonly EncodedMessage[],
  ): number[] {
    const room = this.#row(claim.videoId) ?? this.#newborn(claim, expectedHead);
    assertOwner(room, claim, expectedHead);
    const added: number[] = [];
    for (const [index, { id, body, details }] of messages.entries()) {
      const cursor = expectedHead + added.length + 1;
      const { changes } = this.#sql.insert.run(room.key, cursor, now, id, body, details);
      if (changes === 1) added.push(index);
    }
    for (const { id, body, details } of overwriting) this.#sql.overwrite.run(body, details, room.key, id);
    this.#sql.moveOn.run(expectedHead + added.length, checkpoint, now, room.key);
    return added;
  }

  /** Returns the head of the finished room. */
  finish(claim: Claim, end: RoomEnd, now: number): number {
    const room = this.#row(claim.videoId);
    assertOwner(room, claim);
    this.#sql.finish.run(JSON.stringify(end), now, room.key);
    return room.head;
  }

  read(videoId: string, after: number, limit: number): StoredMessage[] {
    return this.#sql.read.all(videoId, after, limit) as unknown as StoredMessage[];
  }

  /** See `Store.cursorAt`. */
  cursorAt(videoId: string, time: number): number | undefined {
    const room = this.#row(videoId);
    return room && lastBefore(room, (cursor) => Number(this.#sql.storedAt.get(room.key, cursor)?.at) < time);
  }

  messagesById(videoId: string, ids: readonly string[]): StoredMessage[] {
    return ids.flatMap((id) => (this.#sql.messageById.get(videoId, id) as StoredMessage | undefined) ?? []);
  }

  find(videoId: string, by: MessageSearch): StoredMessage[] {
    const found =
      "idPrefix" in by
        ? this.#sql.byIdPrefix.all({ videoId, ...by })
        : this.#sql.byAuthor.all({ videoId, ...by });
    return found as unknown as StoredMessage[];
  }

  getRoom(videoId: string, now: number): RoomRecord | undefined {
    const row = this.#row(videoId);
    return row && toRecord(row, now);
  }

  unfinishedRooms(since: number): string[] {
    return this.#sql.unfinishedRooms.all(since).map(({ videoId }) => String(videoId));
  }

  listRooms(limit: number, now: number): RoomSummary[] {
    const rows = this.#sql.listRooms.all({ limit, now }) as unknown as (RoomSummary & {
      end: string | null;
    })[];
    return rows.map(withEnd);
  }

  /** See `Retention.prune`. */
  prune(keptMs: number, limit: number, now: number): number {
    const before = now - keptMs;
    let left = limit;
    while (left > 0) {
      const found = this.#sql.longestFinished.get(before);
      const room = found as Pick<RoomRow, "key" | "floor" | "head"> | undefined;
      if (!room) return limit - left + this.#deleteOldest(before, left, now);
      const upTo = Math.min(room.head, room.floor + left);
      this.#sql.deleteUpTo.run(room.key, upTo);
      if (upTo === room.head) this.#sql.deleteRoom.run(room.key);
      else this.#sql.raiseFloor.run(upTo, room.key);
      left -= Math.max(1, upTo - room.floor);
    }
    return limit;
  }

  /** Examines no more rows than it may delete, plus those stored while the clock was ahead. */
  #deleteOldest(before: number, limit: number, now: number): number {
    const oldest = this.#sql.oldest.all(limit) as unknown as OldMessage[];
    const firstToStay = oldest.findIndex(({ at }) => at >= before && at <= now);
    if (firstToStay !== -1) oldest.length = firstToStay;
    const next = this.#sql.nextInTime.get(oldest.at(-1)?.seq ?? 0, now) as Pick<OldMessage, "at"> | undefined;
    const isNextOld = next !== undefined && next.at < before;
    const gone = isNextOld ? oldest : oldest.slice(0, oldest.findLastIndex(({ at }) => at < before) + 1);
    const floors = new Map(gone.map(({ room, cursor }) => [room, cursor])); // the last one per room
    for (const [room, floor] of floors) this.#sql.raiseFloor.run(floor, room);
    this.#sql.deleteOldest.run(gone.at(-1)?.seq ?? 0);
    return gone.length;
  }

  /** See `Restoration.moveCursors`. */
  moveCursors(now: number): number {
    const moves = this.#sql.moves.all({ now }) as unknown as { key: number; by: number }[];
    for (const { key, by } of moves) {
      this.#sql.moveMessages.run({ key, by });
      this.#sql.moveRoom.run({ key, by, now });
    }
    return moves.length;
  }

  /**
   * Writes the file's first page unchanged, which a full disk refuses. Also reads the end of both tables, the
   * most that can be checked without reading the whole file.
   */
  probeWrite(): void {
    this.#sql.touch.run();
    this.#sql.edges.get();
  }

  #newborn({ videoId, epoch }: Claim, head: number): RoomRow {
    return this.#sql.newborn.get({ videoId, epoch, head }) as unknown as RoomRow;
  }

  #row(videoId: string): RoomRow | undefined {
    return this.#sql.room.get(videoId) as RoomRow | undefined;
  }
}

function toRecord({ key: _, epoch: __, readAt, endedAt, ...rest }: RoomRow, now: number): RoomRecord {
  return { ...withEnd(rest), readAgoMs: now - readAt, endedAgoMs: endedAt === null ? null : now - endedAt };
}
