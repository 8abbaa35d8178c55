/**
 * What the store does to an open database: one method for each operation, on statements prepared once. The
 * caller brings the transaction; a refused write has changed nothing. Body and details go in and come out
 * as the text they are.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RoomEnd } from "../protocol/chat.ts";
import type { EncodedMessage, StoredMessage } from "../protocol/message.ts";
import { assertOwner } from "./fence.ts";
import type { Claim, RoomRecord } from "./port.ts";

type RoomRow = Omit<RoomRecord & Claim, "end"> & { key: number; end: string | null };

const ROOM = `key, video_id as videoId, epoch, base, floor, head,
  checkpoint, checkpoint_at as checkpointAt, ending as end, ended_at as endedAt`;

const SQL = {
  // A newborn's epoch comes from the clock as its cursors do: it is above every epoch of a room of that
  // name that was pruned, or lost with its store, so no claim of that time can pass for a new one.
  claim: `insert into room (video_id, epoch, base, floor, head) values (:videoId, :now + 1, :now, :now, :now)
    on conflict (video_id) do update set epoch = epoch + 1, ending = null, ended_at = null
    returning ${ROOM}`,
  room: `select ${ROOM} from room where video_id = ?`,
  openRooms: `select ${ROOM} from room where ended_at is null and checkpoint_at >= ?`,
  add: `insert into message (room, cursor, at, id, body, details) values (?, ?, ?, ?, ?, ?)
    on conflict (room, id) do nothing`,
  move: "update room set head = ?, checkpoint = ?, checkpoint_at = ? where key = ?",
  finish: "update room set ending = ?, ended_at = ? where key = ?",
  read: `select cursor, id, body, details from message
    where room = (select key from room where video_id = ?) and cursor > ? order by cursor limit ?`,
  find: `select cursor, id, body, details from message
    where room = (select key from room where video_id = ?) and id = ?`,
  oldest: "select seq, at from message order by seq limit ?",
  raiseFloors: `update room set floor = gone.cursor
    from (select room, max(cursor) as cursor from message where seq <= ? group by room) as gone
    where key = gone.room`,
  forget: "delete from message where seq <= ?",
  forgetRooms: `delete from room
    where key in (select key from room where floor = head and ended_at < ? limit ?)`,
  touch: "update room set head = head where false",
  edges: "select (select max(key) from room), (select max(seq) from message)",
} as const;

export class Tables {
  readonly #sql: Record<keyof typeof SQL, StatementSync>;

  constructor(database: DatabaseSync) {
    this.#sql = Object.fromEntries(
      Object.entries(SQL).map(([name, text]) => [name, database.prepare(text)]),
    ) as Record<keyof typeof SQL, StatementSync>;
  }

  claim(videoId: string, now: number): RoomRecord & Claim {
    return toRecord(this.#sql.claim.get({ videoId, now }) as unknown as RoomRow);
  }

  /** Returns the indexes of the messages that were added; they have the cursors from `expectedHead + 1` on. */
  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    now: number,
  ): number[] {
    const room = this.#row(claim.videoId);
    assertOwner(room, claim, expectedHead);
    const added: number[] = [];
    for (const [index, { id, body, details }] of messages.entries()) {
      const cursor = expectedHead + added.length + 1;
      const { changes } = this.#sql.add.run(room.key, cursor, now, id, body, details);
      if (changes === 1) added.push(index);
    }
    this.#sql.move.run(expectedHead + added.length, checkpoint, now, room.key);
    return added;
  }

  /** Returns the head that the room was finished at. */
  finish(claim: Claim, end: RoomEnd, now: number): number {
    const room = this.#row(claim.videoId);
    assertOwner(room, claim);
    this.#sql.finish.run(JSON.stringify(end), now, room.key);
    return room.head;
  }

  read(videoId: string, after: number, limit: number): StoredMessage[] {
    return this.#sql.read.all(videoId, after, limit) as unknown as StoredMessage[];
  }

  find(videoId: string, ids: readonly string[]): StoredMessage[] {
    return ids.flatMap((id) => (this.#sql.find.get(videoId, id) as StoredMessage | undefined) ?? []);
  }

  room(videoId: string): RoomRecord | undefined {
    const row = this.#row(videoId);
    return row && toRecord(row);
  }

  openRooms(since: number): RoomRecord[] {
    return (this.#sql.openRooms.all(since) as unknown as RoomRow[]).map(toRecord);
  }

  /** See `Retention.prune`. Looks at no more rows than it may delete: the oldest ones, up to the first to stay. */
  prune(before: number, limit: number): number {
    const oldest = this.#sql.oldest.all(limit) as unknown as { seq: number; at: number }[];
    const firstToStay = oldest.findIndex(({ at }) => at >= before);
    const gone = firstToStay === -1 ? oldest : oldest.slice(0, firstToStay);
    const last = gone.at(-1);
    if (last) {
      this.#sql.raiseFloors.run(last.seq);
      this.#sql.forget.run(last.seq);
    }
    this.#sql.forgetRooms.run(before, limit);
    return gone.length;
  }

  /** A write that changes nothing, and the edge of both tables: what can be told without reading all of a file. */
  check(): void {
    this.#sql.touch.run();
    this.#sql.edges.get();
  }

  #row(videoId: string): RoomRow | undefined {
    return this.#sql.room.get(videoId) as RoomRow | undefined;
  }
}

function toRecord({ key: _, end, ...rest }: RoomRow): RoomRecord & Claim {
  return { ...rest, end: end === null ? null : (JSON.parse(end) as RoomEnd) };
}
