/**
 * The store's operations on an open database, one method each, with statements prepared once. The caller
 * provides the transaction; a refused write has changed nothing. `now`: wall milliseconds. Body and details
 * stay text throughout.
 */
import { statfsSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RoomEnd } from "../../protocol/chat.ts";
import { type ChatKey, otherChat, REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import type { AuthorSearch, Span } from "../author-blocks.ts";
import { assertOwner } from "../fence.ts";
import { lastBefore } from "../last-before.ts";
import { type LastTimes, MessageTimes, type TimeKind } from "../message-times.ts";
import type { TakenRoom } from "../ownership.ts";
import {
  type Claim,
  type FeaturedChoice,
  type MessageSearch,
  type RoomAccount,
  type RoomRecord,
  type RoomSummary,
  type TypedPart,
  UNHELD,
} from "../port.ts";
import type { EncodedMessage, StoredMessage } from "../stored-message.ts";
import { withTotals } from "../stored-totals.ts";
import { gapInPlaceOf, isReadable, namesIn, type OnUnreadable, withEnd } from "../strict-rows.ts";
import { pruningOn } from "./pruning.ts";
import { diskFull } from "./sqlite-error.ts";
import { recordingsOn } from "./sqlite-recordings.ts";
import { APPLICATION_ID, AUTHOR_ID, IS_RARE, LOST_AUTHOR, prepared, TYPE } from "./sqlite-schema.ts";
import { Tallies } from "./sqlite-tallies.ts";

/** Times are wall milliseconds, in all calls too. */
interface RoomRow extends Omit<RoomRecord, "readAgoMs" | "end" | "endedAgoMs"> {
  /** The number of the row, which is its column `key`; the chat's key is its column `video_id`. */
  rowid: number;
  epoch: number;
  readAt: number;
  end: string | null;
  endedAt: number | null;
}

/** A message that an append has added, by its index among those given. */
interface AddedMessage {
  index: number;
  storedAt: number;
}

type TallyRow = Record<"rowid" | "head" | "uncounted", number>;
type SummaryRow = Omit<RoomSummary, "end" | "isKept"> & { end: string | null; isKept: number };
type AccountRow = SummaryRow & { totals: string | null; uncounted: number; kept: number };

/** With this many messages, a step of `moveCursors` takes no further room. */
const MOVED_AT_ONCE = 200_000;

const ROOM = `key as rowid, video_id as key, epoch, base, floor, head, checkpoint, checkpoint_at as readAt,
  ending as end, ended_at as endedAt, video`;

const SUMMARY = `video_id as key, floor, head, ending as end, :now - checkpoint_at as readAgoMs,
  (select at from message where room = key and cursor = floor + 1) as firstAt,
  (select at from message where room = key and cursor = head) as lastAt, is_kept as isKept, video,
  (select count(*) from message where room = key and id >= 'gap:' and id < 'gap;') as gaps`;

const MESSAGE = "cursor, id, body, details, at as storedAt";

/** The number of stored messages that the totals do not count yet. */
const UNCOUNTED = "head - max(floor, coalesce(tally.cursor, floor)) as uncounted";
const TALLIED = "room left join tally on tally.room = key";

/** The cursors of a room's messages of one type, from the index alone. */
const OF_TYPE = `select cursor from message where room = :room and ${IS_RARE} and ${TYPE} = :type
  and cursor > :after and cursor <= :to order by cursor`;

/** The base to which a room moves: the clock's time, or a cursor after its head that no client can hold. */
function movedBase(room: "room" | "live"): string {
  return `max(:now, ${room}.head + 1 + case when ${room}.base > :now or exists (select 1 from message
    where message.room = ${room}.key and cursor = ${room}.head and at > :now) then ${UNHELD} else 0 end)`;
}

/** The statements that find whether a message is before a time, by the kind of time. */
function placesOf(times: Record<TimeKind, string>): Record<`${TimeKind}Before`, string> {
  const before = (kind: TimeKind) =>
    `select coalesce(${times[kind]} < ?, 1) as isBefore from message where room = ? and cursor = ?`;
  return { atBefore: before("at"), saidBefore: before("said"), offsetBefore: before("offset") };
}

const SQL = {
  take: `update room set epoch = epoch + 1 where video_id = ? returning ${ROOM}`,
  newborn: `insert into room (video_id, epoch, base, floor, head) values (:key, :epoch, :head, :head, :head)
    returning ${ROOM}`,
  room: `select ${ROOM} from room where video_id = ?`,
  channels: "select channels from room where video_id = ?",
  setChannels: "update room set channels = :names where video_id = :key and channels is not :names",
  hasChannel: `select 1 from room
    where instr(' ' || channels || ' ', ' ' || :channel || ' ') > 0 or instr(video, :shown) > 0 limit 1`,
  setVideo: "update room set video = :video where video_id = :key",
  keep: "update room set is_kept = 1 where video_id = ? and is_kept = 0",
  getFeatured: `select featured_id as messageId, featured_at as at from room
    where video_id = ? and featured_id is not null`,
  setFeatured: `update room set featured_id = :messageId, featured_at = iif(:messageId is null, null, :now)
    where video_id = :key and coalesce(featured_id, :messageId) is not null`,
  unfinishedRooms: "select video_id as key from room where ended_at is null and checkpoint_at >= ?",
  listRooms: `select ${SUMMARY} from room order by checkpoint_at desc limit :limit`,
  account: `select ${SUMMARY}, totals, ${UNCOUNTED}, head - floor as kept
    from ${TALLIED} where video_id = :key`,
  tally: `select key as rowid, head, ${UNCOUNTED} from ${TALLIED} where video_id = ?`,
  tallies: `select key as rowid, head, ${UNCOUNTED}, video_id as key from ${TALLIED}
    where video_id > ? order by video_id limit ?`,
  insert: `insert into message (room, cursor, at, said, offset_ms, id, body, details) values (?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (room, id) do nothing`,
  moveOn: `update room set head = ?, checkpoint = ?, checkpoint_at = ?, ending = null, ended_at = null
    where key = ?`,
  finish: "update room set ending = ?, ended_at = ? where key = ?",
  read: `select ${MESSAGE} from message
    where room = (select key from room where video_id = ?) and cursor > ? order by cursor limit ?`,
  firstOfType: `${OF_TYPE} limit :limit`,
  lastOfType: `${OF_TYPE} desc limit :limit`,
  messageAt: `select ${MESSAGE} from message where room = ? and cursor = ?`,
  times: "select at, said, offset_ms as offset from message where room = ? and cursor = ?",
  ...placesOf({ at: "at", said: "said", offset: "offset_ms" }),
  messageById: `select ${MESSAGE} from message
    where room = (select key from room where video_id = ?) and id = ?`,
  byIdPrefix: `select ${MESSAGE} from message
    where room = (select key from room where video_id = :key)
      and id >= :idPrefix and id < :idPrefix || char(0x10ffff)`,
  byAuthor: `select ${MESSAGE} from message
    where room = (select key from room where video_id = :key) and ${AUTHOR_ID} in (:authorId, ${LOST_AUTHOR})`,
  overwrite: "update message set body = ?, details = ? where room = ? and id = ?",
  // Shifts by more than the room's span, so the new cursors exceed all old ones, and none collide on the way.
  // A replay moves behind its live chat, whichever of the two moves first.
  moves: `select key as rowid, by from (select room.key, max(${movedBase("room")}, coalesce(live.head
        + case when live.base <> :now and live.key > :after then ${movedBase("live")} - live.base else 0 end + 1,
        0)) - room.base as by,
      sum(room.head - room.floor + 1) over (order by room.key) - (room.head - room.floor + 1) as others
      from room left join room live on live.key <> room.key
        and live.video_id = replace(room.video_id, '${REPLAY_SUFFIX}', '')
      where room.base <> :now and room.key > :after)
    where others < ${MOVED_AT_ONCE} order by key`,
  moveRoom: `update room set epoch = max(epoch, :now) + 1, base = base + :by, floor = floor + :by, head = head + :by
    where key = :rowid`,
  moveMessages: "update message set cursor = cursor + :by where room = :rowid",
  touch: `pragma application_id = ${APPLICATION_ID}`,
  edges: "select (select max(key) from room), (select max(seq) from message)",
} as const;

/**
 * The operations on rooms and messages.
 *
 * @public for chaos runs, which wrap `append` in a running service
 */
export class RoomTables {
  /** Null if the database is in memory. */
  readonly #path: string | null;
  readonly #sql: Record<keyof typeof SQL, StatementSync>;
  readonly #tallies: Tallies;
  readonly #onUnreadable: OnUnreadable;

  constructor(database: DatabaseSync, tallies: Tallies, onUnreadable: OnUnreadable) {
    this.#path = database.location();
    this.#sql = prepared(database, SQL);
    this.#tallies = tallies;
    this.#onUnreadable = onUnreadable;
  }

  /** See `Ownership.take`. */
  take(now: number, key: ChatKey): TakenRoom {
    const row = this.#sql.take.get(key) as RoomRow | undefined;
    if (!row) {
      const others = this.#row(otherChat(key))?.head ?? 0;
      return { epoch: now + 1, head: Math.max(now, others + 1), room: undefined };
    }
    return { epoch: row.epoch, head: row.head, room: this.#record(row, now) };
  }

  /**
   * Returns the added messages, whose cursors start at `expectedHead + 1`: their indexes, and when they were
   * stored, as `MessageTimes` says.
   */
  append(
    now: number,
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[],
  ): AddedMessage[] {
    const room = this.#row(claim.key) ?? this.#newborn(claim, expectedHead);
    assertOwner(room, claim, expectedHead);
    const added: AddedMessage[] = [];
    const last = messages.length > 0 ? this.#sql.times.get(room.rowid, expectedHead) : undefined;
    const times = new MessageTimes(now, last as LastTimes | undefined);
    for (const [index, message] of messages.entries()) {
      const { id, body, details } = message;
      const cursor = expectedHead + added.length + 1;
      const { at, said, offset } = times.of(message);
      const { changes } = this.#sql.insert.run(room.rowid, cursor, at, said, offset, id, body, details);
      if (changes === 1) added.push({ index, storedAt: at });
    }
    for (const { id, body, details } of overwriting) this.#sql.overwrite.run(body, details, room.rowid, id);
    this.#sql.moveOn.run(expectedHead + added.length, checkpoint, now, room.rowid);
    return added;
  }

  /** Returns the head of the finished room. */
  finish(now: number, claim: Claim, end: RoomEnd): number {
    const room = this.#row(claim.key);
    assertOwner(room, claim);
    this.#sql.finish.run(JSON.stringify(end), now, room.rowid);
    return room.head;
  }

  read(key: ChatKey, after: number, limit: number): StoredMessage[] {
    return this.#messages(key, this.#sql.read.all(key, after, limit));
  }

  /** See `Store.readTypes`. */
  readTypes(key: ChatKey, { types, isNewest, ...part }: TypedPart): StoredMessage[] {
    const room = this.#row(key)?.rowid ?? null;
    const ofType = isNewest ? this.#sql.lastOfType : this.#sql.firstOfType;
    const cursors = types
      .flatMap((type) => ofType.all({ room, type, ...part }))
      .map(({ cursor }) => Number(cursor))
      .sort((one, other) => one - other);
    const asked = isNewest ? cursors.slice(-part.limit) : cursors.slice(0, part.limit);
    const rows = asked.map((cursor) => this.#sql.messageAt.get(room, cursor));
    return this.#messages(
      key,
      rows.filter((row) => row !== undefined),
    );
  }

  /** See `Store.placeOfAuthor`. */
  placeOfAuthor(key: ChatKey, search: AuthorSearch): Span {
    const room = this.#row(key);
    const isOfRoom = room !== undefined && room.base <= search.after; // it may have been deleted meanwhile
    return isOfRoom ? this.#tallies.placeOfAuthor(room.rowid, search) : search;
  }

  /** See `Store.cursorAt`. */
  cursorAt(key: ChatKey, time: number, kind: TimeKind = "at"): number | undefined {
    const room = this.#row(key);
    const before = this.#sql[`${kind}Before`];
    return room && lastBefore(room, (cursor) => before.get(time, room.rowid, cursor)?.isBefore === 1);
  }

  messagesById(key: ChatKey, ids: readonly string[]): StoredMessage[] {
    const rows = ids.map((id) => this.#sql.messageById.get(key, id));
    return this.#messages(
      key,
      rows.filter((row) => row !== undefined),
    );
  }

  find(key: ChatKey, by: MessageSearch): StoredMessage[] {
    const found =
      "idPrefix" in by ? this.#sql.byIdPrefix.all({ key, ...by }) : this.#sql.byAuthor.all({ key, ...by });
    return this.#messages(key, found);
  }

  getRoom(now: number, key: ChatKey): RoomRecord | undefined {
    const row = this.#row(key);
    return row && this.#record(row, now);
  }

  getChannels(key: ChatKey): string[] {
    return namesIn(this.#sql.channels.get(key)?.channels);
  }

  setChannels(key: ChatKey, names: readonly string[]): void {
    this.#sql.setChannels.run({ key, names: names.join(" ") });
  }

  hasChannel(channel: string, shown: string): boolean {
    return this.#sql.hasChannel.get({ channel, shown }) !== undefined;
  }

  setVideo(key: ChatKey, video: string): void {
    this.#sql.setVideo.run({ key, video });
  }

  keep(key: ChatKey): void {
    this.#sql.keep.run(key);
  }

  getFeatured(key: ChatKey): FeaturedChoice | undefined {
    const row = this.#sql.getFeatured.get(key) as FeaturedChoice | undefined;
    return row && { ...row };
  }

  setFeatured(now: number, key: ChatKey, messageId: string | null): void {
    this.#sql.setFeatured.run({ now, key, messageId });
  }

  unfinishedRooms(since: number): ChatKey[] {
    return this.#sql.unfinishedRooms.all(since).map(({ key }) => String(key));
  }

  listRooms(now: number, limit: number): RoomSummary[] {
    const rows = this.#sql.listRooms.all({ limit, now }) as unknown as SummaryRow[];
    return rows.map((row) => ({ ...withEnd(row, this.#onUnreadable), isKept: row.isKept === 1 }));
  }

  getAccount(now: number, key: ChatKey): RoomAccount | undefined {
    const row = this.#sql.account.get({ key, now }) as unknown as AccountRow | undefined;
    return row && { ...withTotals(withEnd(row, this.#onUnreadable)), isKept: row.isKept === 1 };
  }

  /** See `Tallying.tally`. */
  tally(key: ChatKey, limit: number): number {
    const read = () => this.#sql.tally.get(key) as TallyRow | undefined;
    const room = read();
    if (room) this.#tallies.count(room.rowid, room.head, limit);
    return read()?.uncounted ?? 0;
  }

  /** See `Tallying.tallyRooms`. */
  tallyRooms(after: ChatKey, limit: number): ChatKey | undefined {
    let left = limit;
    const rooms = this.#sql.tallies.all(after, limit) as unknown as (TallyRow & { key: ChatKey })[];
    let done = after;
    for (const { rowid, key, head, uncounted } of rooms) {
      if (uncounted > 0) left -= this.#tallies.count(rowid, head, left);
      if (left === 0) return done;
      done = key;
    }
    return rooms.length < limit ? undefined : done;
  }

  /**
   * A step of `Restoration.moveCursors`: moves the next rooms after the row of this number, in the
   * order of their rows. Returns the numbers of the rows that it has moved; none at the end.
   */
  moveCursors(now: number, after: number): number[] {
    const moves = this.#sql.moves.all({ now, after }) as unknown as { rowid: number; by: number }[];
    for (const { rowid, by } of moves) {
      this.#sql.moveMessages.run({ rowid, by });
      this.#sql.moveRoom.run({ rowid, by, now });
      this.#tallies.move(rowid, by);
    }
    return moves.map(({ rowid }) => rowid);
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

  #newborn({ key, epoch }: Claim, head: number): RoomRow {
    return this.#sql.newborn.get({ key, epoch, head }) as unknown as RoomRow;
  }

  #row(key: ChatKey): RoomRow | undefined {
    return this.#sql.room.get(key) as RoomRow | undefined;
  }

  #messages(key: ChatKey, rows: readonly object[]): StoredMessage[] {
    // The driver's rows have no prototype; messages are plain objects, as they are after a thread.
    return (rows as StoredMessage[]).map((found) => {
      const row = { ...found };
      if (isReadable(row)) return row;
      this.#onUnreadable({ part: "message", key, cursor: row.cursor });
      return gapInPlaceOf(row);
    });
  }

  #record({ rowid: _, epoch: __, readAt, endedAt, ...rest }: RoomRow, now: number): RoomRecord {
    const endedAgoMs = endedAt === null ? null : now - endedAt;
    return { ...withEnd(rest, this.#onUnreadable), readAgoMs: now - readAt, endedAgoMs };
  }
}

/** All operations of a store on an open database. */
export type Tables = ReturnType<typeof tablesOn>;

export function tablesOn(database: DatabaseSync, onUnreadable: OnUnreadable) {
  const tallies = new Tallies(database, onUnreadable);
  return Object.assign(
    new RoomTables(database, tallies, onUnreadable),
    pruningOn(database, tallies),
    recordingsOn(database),
  );
}
