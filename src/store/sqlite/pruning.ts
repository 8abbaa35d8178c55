/**
 * The retention in the store file: deletes rooms that ended or were left, then the oldest messages of all
 * rooms; and what the limit of the file's size deletes: room by room. The file keeps its size: new messages
 * use the freed pages. The caller provides the transaction.
 */
import type { DatabaseSync } from "node:sqlite";
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { lastBefore } from "../last-before.ts";
import { prepared } from "./sqlite-schema.ts";
import type { Tallies } from "./sqlite-tallies.ts";

/** `rowid`: the number of the row, which is its column `key`. */
type Room = Record<"rowid" | "floor" | "head", number>;
type OldMessage = Record<"seq" | "room" | "cursor" | "at" | "head" | "isKept", number>;

/** An open room that was read within this time may be adopted, however short the retention is. */
const ADOPTABLE_MS = 3_600_000;

/** The rooms that a recording names, or those that none does, as `:isRecorded` says. */
const OF_RECORDINGS = `exists (
    select 1 from (select value as name from json_each(:recorded) union all select name from recording)
    where name = replace(video_id, '${REPLAY_SUFFIX}', '') or instr(' ' || channels || ' ', ' ' || name || ' ') > 0
  ) = :isRecorded`;

/** A room that was read and ended while the clock was in the past has messages of later times. */
const IS_LAST_OLD = "not exists (select 1 from message where room = key and cursor = head and at >= :before)";

const SQL = {
  // One without messages that ended while the clock was in the past was read later.
  longestFinished: `select key as rowid, floor, head from room where ended_at < :before and checkpoint_at < :before
    and is_kept = 0 and ${IS_LAST_OLD} order by ended_at limit 1`,
  // Left by a process that was stopped or killed, and not taken since.
  abandoned: `select key as rowid, floor, head from room where ended_at is null and checkpoint_at < :before
    and is_kept = 0 and ${IS_LAST_OLD} and video_id not in (select value from json_each(:held)) order by key limit 1`,
  deleteUpTo: "delete from message where room = ? and cursor <= ?",
  raiseFloor: "update room set floor = ? where key = ?",
  deleteRoom: "delete from room where key = ?",
  next: `select seq, room, cursor, at, head, is_kept as isKept from message left join room on key = room
    where seq > ? and at <= ? order by seq limit 1`,
  seqOf: "select seq from message where room = ? and cursor = ?",
  deleteMessage: "delete from message where seq = ?",
  finishedFirst: `select key as rowid, floor, head from room
    where ended_at not between :before and :after and ${OF_RECORDINGS} order by ended_at limit 1`,
  openedFirst: `select key as rowid, floor, head from room
    where ended_at is null and ${OF_RECORDINGS}
      and (select at from message where room = key order by cursor limit 1) < :before
    order by key limit 1`,
  oldestOfRoom: "select cursor, at from message where room = ? order by cursor limit ?",
  firstEnd: "select min(ended_at) as at from room where is_kept = 0",
  usedBytes: `select (page_count - freelist_count) * page_size as bytes
    from pragma_page_count, pragma_freelist_count, pragma_page_size`,
} as const;

/** The operations of `Retention` and `SizeLimited`. */
export function pruningOn(database: DatabaseSync, tallies: Tallies) {
  const sql = prepared(database, SQL);

  /** Deletes the room's messages up to a cursor, and the room with its last message, unless it `stays`. */
  function deleteUpTo({ rowid, head }: Room, upTo: number, stays = false): void {
    if (upTo < head || stays) {
      tallies.count(rowid, upTo, Number.MAX_SAFE_INTEGER);
      tallies.prune(rowid, upTo);
      sql.raiseFloor.run(upTo, rowid);
    } else {
      tallies.delete(rowid);
      sql.deleteRoom.run(rowid);
    }
    sql.deleteUpTo.run(rowid, upTo);
  }

  /**
   * Messages after `seq` stored by `latest`, in commit order, except in kept rooms. An import is one run and
   * is skipped at once.
   */
  function* unkept(seq: number, latest: number): Generator<OldMessage> {
    for (let after = seq; ; ) {
      const found = sql.next.get(after, latest) as OldMessage | undefined;
      if (!found) return;
      after = found.isKept ? lastOfRun(found) : found.seq;
      if (!found.isKept) yield found;
    }
  }

  /** The last of the room's messages that follow this one without another room's between them. */
  function lastOfRun({ room, cursor, seq, head }: OldMessage): number {
    const isOfRun = (later: number) => Number(sql.seqOf.get(room, later)?.seq) - seq === later - cursor;
    return seq + lastBefore({ floor: cursor, head }, isOfRun) - cursor;
  }

  /** Examines no more rows than it may delete, plus those stored while the clock was ahead. */
  function deleteOldest(before: number, limit: number, now: number): number {
    const oldest: OldMessage[] = [];
    for (const message of unkept(0, Number.MAX_SAFE_INTEGER)) {
      if (message.at >= before && message.at <= now) break;
      if (oldest.push(message) === limit) break;
    }
    const [next] = unkept(oldest.at(-1)?.seq ?? 0, now).take(1);
    const isNextOld = next !== undefined && next.at < before;
    const gone = isNextOld ? oldest : oldest.slice(0, oldest.findLastIndex(({ at }) => at < before) + 1);
    const floors = new Map(gone.map(({ room, cursor }) => [room, cursor])); // the last one per room
    for (const [room, floor] of floors) {
      tallies.count(room, floor, gone.length);
      tallies.prune(room, floor);
      sql.raiseFloor.run(floor, room);
    }
    for (const { seq } of gone) sql.deleteMessage.run(seq);
    return gone.length;
  }

  /** Deletes the oldest messages of an open room that are older than `before`. */
  function deleteOldestOf(room: Room, before: number, limit: number): number {
    const oldest = sql.oldestOfRoom.all(room.rowid, limit) as Pick<OldMessage, "cursor" | "at">[];
    const firstToStay = oldest.findIndex(({ at }) => at >= before);
    if (firstToStay !== -1) oldest.length = firstToStay;
    deleteUpTo(room, oldest.at(-1)?.cursor ?? room.floor, true);
    return oldest.length;
  }

  return {
    usedBytes: (): number => Number(sql.usedBytes.get()?.bytes),

    /** See `SizeLimited.pruneRooms`. */
    pruneRooms(now: number, recorded: readonly string[], keptMs: number, limit: number): number {
      const before = now - keptMs;
      for (const isRecorded of [0, 1]) {
        const asked = { recorded: JSON.stringify(recorded), isRecorded, before };
        const finished = sql.finishedFirst.get({ ...asked, after: now + keptMs }) as Room | undefined;
        if (finished) {
          const upTo = Math.min(finished.head, finished.floor + limit);
          deleteUpTo(finished, upTo);
          return Math.max(1, upTo - finished.floor);
        }
        const open = sql.openedFirst.get(asked) as Room | undefined;
        if (open) return deleteOldestOf(open, before, limit);
      }
      return 0;
    },

    /** See `Retention.age`. */
    oldestAt(): number {
      const [first] = unkept(0, Number.MAX_SAFE_INTEGER).take(1);
      return Math.min(
        first?.at ?? Number.POSITIVE_INFINITY,
        Number(sql.firstEnd.get()?.at ?? Number.POSITIVE_INFINITY),
      );
    },

    /** See `Retention.prune`. `held`: the rooms that this process owns. */
    prune(now: number, held: readonly string[], keptMs: number, limit: number): number {
      const before = now - keptMs;
      const unread = { before: Math.min(before, now - ADOPTABLE_MS), held: JSON.stringify(held) };
      let left = limit;
      while (left > 0) {
        const found = sql.longestFinished.get({ before }) ?? sql.abandoned.get(unread);
        const room = found as Room | undefined;
        if (!room) return limit - left + deleteOldest(before, left, now);
        const upTo = Math.min(room.head, room.floor + left);
        deleteUpTo(room, upTo);
        left -= Math.max(1, upTo - room.floor);
      }
      return limit;
    },
  };
}
