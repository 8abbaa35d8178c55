/**
 * The store's operations on an open database, one method each, with statements prepared once. The caller
 * provides the transaction; a refused write has changed nothing. Body and details stay text throughout.
 */
import { statfsSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RoomEnd } from "../../protocol/chat.ts";
import { assertOwner } from "../fence.ts";
import { lastBefore } from "../last-before.ts";
import type { TakenRoom } from "../ownership.ts";
import type { Claim, MessageSearch, RoomAccount, RoomRecord, RoomSummary } from "../port.ts";
import { MAX_RECORDINGS, type Recording, type RecordingReport } from "../recordings.ts";
import type { EncodedMessage, StoredMessage } from "../stored-message.ts";
import { withTotals } from "../stored-totals.ts";
import { gapInPlaceOf, isReadable, type OnUnreadable, withEnd } from "../strict-rows.ts";
import { diskFull } from "./error.ts";
import { APPLICATION_ID, AUTHOR_ID, prepared } from "./schema.ts";
import { Tallies } from "./tallies.ts";

type OldMessage = Record<"seq" | "room" | "cursor" | "at", number>;
/** Times are wall milliseconds, in all calls too. */
interface RoomRow extends Omit<RoomRecord, "readAgoMs" | "end" | "endedAgoMs"> {
  key: number;
  epoch: number;
  readAt: number;
  end: string | null;
  endedAt: number | null;
}

type TallyRow = Record<"key" | "head" | "uncounted", number>;
type AccountRow = Omit<RoomAccount, "end" | "totals"> & {
  end: string | null;
  totals: string | null;
  kept: number;
};

/** An open room that was read within this time may be adopted, however short the retention is. */
const ADOPTABLE_MS = 3_600_000;
/** With this many messages, a step of `moveCursors` takes no further room. */
const MOVED_AT_ONCE = 200_000;

const ROOM = `key, video_id as videoId, epoch, base, floor, head, checkpoint, checkpoint_at as readAt,
  ending as end, ended_at as endedAt`;

const SUMMARY = `video_id as videoId, floor, head, ending as end, :now - checkpoint_at as readAgoMs,
  (select at from message where room = key and cursor = floor + 1) as firstAt,
  (select at from message where room = key and cursor = head) as lastAt,
  (select count(*) from message where room = key and id >= 'gap:' and id < 'gap;') as gaps`;

/** The number of stored messages that the totals do not count yet. */
const UNCOUNTED = "head - max(floor, coalesce(tally.cursor, floor)) as uncounted";
const TALLIED = "room left join tally on tally.room = key";

/** All recordings, the oldest first. */
export const RECORDINGS =
  "select name, since, state, video_id as videoId, error from recording order by since, name";

const SQL = {
  take: `update room set epoch = epoch + 1 where video_id = ? returning ${ROOM}`,
  newborn: `insert into room (video_id, epoch, base, floor, head) values (:videoId, :epoch, :head, :head, :head)
    returning ${ROOM}`,
  room: `select ${ROOM} from room where video_id = ?`,
  unfinishedRooms: "select video_id as videoId from room where ended_at is null and checkpoint_at >= ?",
  listRooms: `select ${SUMMARY} from room order by checkpoint_at desc limit :limit`,
  account: `select ${SUMMARY}, totals, ${UNCOUNTED}, head - floor as kept
    from ${TALLIED} where video_id = :videoId`,
  tally: `select key, head, ${UNCOUNTED} from ${TALLIED} where video_id = ?`,
  tallies: `select key, head, ${UNCOUNTED}, video_id as videoId from ${TALLIED}
    where video_id > ? order by video_id limit ?`,
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
  // Left by a process that was stopped or killed, and not taken since.
  abandoned: `select key, floor, head from room where ended_at is null and checkpoint_at < ?
    and video_id not in (select value from json_each(?)) order by key limit 1`,
  deleteUpTo: "delete from message where room = ? and cursor <= ?",
  raiseFloor: "update room set floor = ? where key = ?",
  deleteRoom: "delete from room where key = ?",
  oldest: "select seq, room, cursor, at from message order by seq limit ?",
  nextInTime: "select at from message where seq > ? and at <= ? order by seq limit 1",
  deleteOldest: "delete from message where seq <= ?",
  // Shifts by more than the room's span, so the new cursors exceed all old ones, and none collide on the way.
  moves: `select key, by from (select key, max(:now, head + 1) - base as by,
      sum(head - floor + 1) over (order by key) - (head - floor + 1) as others from room where base < :now)
    where others < ${MOVED_AT_ONCE}`,
  moveRoom: `update room set epoch = max(epoch, :now) + 1, base = base + :by, floor = floor + :by, head = head + :by
    where key = :key`,
  moveMessages: "update message set cursor = cursor + :by where room = :key",
  listRecordings: RECORDINGS,
  addRecording: `insert into recording (name, since, state) select :name, :now, 'waiting'
    where (select count(*) from recording) < ${MAX_RECORDINGS} on conflict do nothing`,
  hasRecording: "select 1 from recording where name = ?",
  removeRecording: "delete from recording where name = ?",
  reportRecording: `update recording set state = :state, video_id = :videoId, error = :error
    where name = :name and (state, video_id, error) is not (:state, :videoId, :error)`,
  recordingsToRun: "select name from recording where state <> 'ended'",
  touch: `pragma application_id = ${APPLICATION_ID}`,
  edges: "select (select max(key) from room), (select max(seq) from message)",
} as const;

export class Tables {
  /** Null if the database is in memory. */
  readonly #path: string | null;
  readonly #sql: Record<keyof typeof SQL, StatementSync>;
  readonly #tallies: Tallies;
  readonly #onUnreadable: OnUnreadable;

  constructor(database: DatabaseSync, onUnreadable: OnUnreadable) {
    this.#path = database.location();
    this.#sql = prepared(database, SQL);
    this.#tallies = new Tallies(database, onUnreadable);
    this.#onUnreadable = onUnreadable;
  }

  /**
   * The epoch of a new room comes from the clock, as its cursors do, so it exceeds every epoch of a pruned
   * room.
   */
  take(videoId: string, now: number): TakenRoom {
    const row = this.#sql.take.get(videoId) as RoomRow | undefined;
    if (!row) return { epoch: now + 1, head: now, room: undefined };
    return { epoch: row.epoch, head: row.head, room: this.#record(row, now) };
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
    return this.#messages(videoId, this.#sql.read.all(videoId, after, limit));
  }

  /** See `Store.cursorAt`. */
  cursorAt(videoId: string, time: number): number | undefined {
    const room = this.#row(videoId);
    return room && lastBefore(room, (cursor) => Number(this.#sql.storedAt.get(room.key, cursor)?.at) < time);
  }

  messagesById(videoId: string, ids: readonly string[]): StoredMessage[] {
    const rows = ids.map((id) => this.#sql.messageById.get(videoId, id));
    return this.#messages(
      videoId,
      rows.filter((row) => row !== undefined),
    );
  }

  find(videoId: string, by: MessageSearch): StoredMessage[] {
    const found =
      "idPrefix" in by
        ? this.#sql.byIdPrefix.all({ videoId, ...by })
        : this.#sql.byAuthor.all({ videoId, ...by });
    return this.#messages(videoId, found);
  }

  getRoom(videoId: string, now: number): RoomRecord | undefined {
    const row = this.#row(videoId);
    return row && this.#record(row, now);
  }

  unfinishedRooms(since: number): string[] {
    return this.#sql.unfinishedRooms.all(since).map(({ videoId }) => String(videoId));
  }

  listRooms(limit: number, now: number): RoomSummary[] {
    const rows = this.#sql.listRooms.all({ limit, now }) as unknown as (RoomSummary & {
      end: string | null;
    })[];
    return rows.map((row) => withEnd(row, this.#onUnreadable));
  }

  getAccount(videoId: string, now: number): RoomAccount | undefined {
    const row = this.#sql.account.get({ videoId, now }) as unknown as AccountRow | undefined;
    return row && withTotals(withEnd(row, this.#onUnreadable));
  }

  /** See `Tallying.tally`. */
  tally(videoId: string, limit: number): number {
    const look = () => this.#sql.tally.get(videoId) as TallyRow | undefined;
    const room = look();
    if (room) this.#tallies.count(room.key, room.head, limit);
    return look()?.uncounted ?? 0;
  }

  /** See `Tallying.tallyRooms`. */
  tallyRooms(after: string, limit: number): string | undefined {
    let left = limit;
    const rooms = this.#sql.tallies.all(after, limit) as unknown as (TallyRow & { videoId: string })[];
    let done = after;
    for (const { key, videoId, head, uncounted } of rooms) {
      if (uncounted > 0) left -= this.#tallies.count(key, head, left);
      if (left === 0) return done;
      done = videoId;
    }
    return rooms.length < limit ? undefined : done;
  }

  /** See `Retention.prune`. `held`: the rooms that this process owns. */
  prune(keptMs: number, limit: number, now: number, held: readonly string[]): number {
    const before = now - keptMs;
    const unread = [Math.min(before, now - ADOPTABLE_MS), JSON.stringify(held)] as const;
    let left = limit;
    while (left > 0) {
      const found = this.#sql.longestFinished.get(before) ?? this.#sql.abandoned.get(...unread);
      const room = found as Pick<RoomRow, "key" | "floor" | "head"> | undefined;
      if (!room) return limit - left + this.#deleteOldest(before, left, now);
      const upTo = Math.min(room.head, room.floor + left);
      this.#deleteUpTo(room, upTo);
      left -= Math.max(1, upTo - room.floor);
    }
    return limit;
  }

  /** Deletes the room with its last message. */
  #deleteUpTo({ key, head }: Pick<RoomRow, "key" | "head">, upTo: number): void {
    if (upTo < head) {
      this.#tallies.count(key, upTo, Number.MAX_SAFE_INTEGER);
      this.#sql.raiseFloor.run(upTo, key);
    } else {
      this.#tallies.delete(key);
      this.#sql.deleteRoom.run(key);
    }
    this.#sql.deleteUpTo.run(key, upTo);
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
    for (const [room, floor] of floors) {
      this.#tallies.count(room, floor, gone.length);
      this.#sql.raiseFloor.run(floor, room);
    }
    this.#sql.deleteOldest.run(gone.at(-1)?.seq ?? 0);
    return gone.length;
  }

  /** A step of `Restoration.moveCursors`. Returns the number of rooms that it has moved; 0 at the end. */
  moveCursors(now: number): number {
    const moves = this.#sql.moves.all({ now }) as unknown as { key: number; by: number }[];
    for (const { key, by } of moves) {
      this.#sql.moveMessages.run({ key, by });
      this.#sql.moveRoom.run({ key, by, now });
      this.#tallies.move(key, by);
    }
    return moves.length;
  }

  listRecordings(): Recording[] {
    return this.#sql.listRecordings.all() as unknown as Recording[];
  }

  addRecording(name: string, now: number): "added" | "present" | "full" {
    if (this.#sql.hasRecording.get(name)) return "present";
    return this.#sql.addRecording.run({ name, now }).changes === 1 ? "added" : "full";
  }

  removeRecording(name: string): boolean {
    return this.#sql.removeRecording.run(name).changes === 1;
  }

  /** Writes only changed reports, so that a call without news costs no fsync. */
  runRecordings(reports: readonly RecordingReport[]): string[] {
    for (const { name, state, videoId, error } of reports) {
      this.#sql.reportRecording.run({ name, state, videoId, error });
    }
    return this.#sql.recordingsToRun.all().map(({ name }) => String(name));
  }

  /**
   * Writes the file's first page unchanged, which a full disk refuses. Also reads the end of both tables, the
   * most that can be checked without reading the whole file. Throws if less than `spareBytes` are free.
   */
  probeWrite(spareBytes: number): void {
    this.#sql.touch.run();
    this.#sql.edges.get();
    if (spareBytes === 0 || this.#path === null) return;
    const { bavail, bsize } = statfsSync(this.#path);
    const free = bavail * bsize;
    if (free < spareBytes) throw diskFull(`${free} bytes are free`);
  }

  #newborn({ videoId, epoch }: Claim, head: number): RoomRow {
    return this.#sql.newborn.get({ videoId, epoch, head }) as unknown as RoomRow;
  }

  #row(videoId: string): RoomRow | undefined {
    return this.#sql.room.get(videoId) as RoomRow | undefined;
  }

  #messages(videoId: string, rows: readonly object[]): StoredMessage[] {
    return (rows as StoredMessage[]).map((row) => {
      if (isReadable(row)) return row;
      this.#onUnreadable({ part: "message", videoId, cursor: row.cursor });
      const stored = this.#sql.storedAt.get(this.#row(videoId)?.key ?? 0, row.cursor);
      return gapInPlaceOf(row, Number(stored?.at ?? 0));
    });
  }

  #record({ key: _, epoch: __, readAt, endedAt, ...rest }: RoomRow, now: number): RoomRecord {
    const endedAgoMs = endedAt === null ? null : now - endedAt;
    return { ...withEnd(rest, this.#onUnreadable), readAgoMs: now - readAt, endedAgoMs };
  }
}
