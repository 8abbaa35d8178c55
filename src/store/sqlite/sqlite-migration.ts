/**
 * A store file as one end of a migration. Holds the file's lock, so no service can use the store meanwhile.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { missing } from "../../base/file-trouble.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import type { MigrationEnd, MovedMessage, MovedRoom } from "../migration.ts";
import type { Recording } from "../recording-list.ts";
import { NOT_EMPTY, StoreError } from "../store-error.ts";
import type { TallyItem } from "../totals.ts";
import { FileLock } from "./file-lock.ts";
import { makePrivate } from "./private-file.ts";
import { unavailable } from "./sqlite-error.ts";
import { RECORDINGS } from "./sqlite-recordings.ts";
import { FILE_DEFAULTS, isHalf, MIGRATION_TABLE, openDatabase, prepared } from "./sqlite-schema.ts";

/** The columns of a room that are copied. */
const ROOM = {
  key: "video_id",
  epoch: "epoch",
  base: "base",
  floor: "floor",
  head: "head",
  checkpoint: "checkpoint",
  checkpointAt: "checkpoint_at",
  end: "ending",
  endedAt: "ended_at",
  channels: "channels",
  isKept: "is_kept",
  video: "video",
  featuredId: "featured_id",
  featuredAt: "featured_at",
} as const satisfies Record<Exclude<keyof MovedRoom, "totals" | "countedTo">, string>;

/** A text for each field of a room and its column. */
const ofRoom = (text: (field: string, column: string) => string): string =>
  `${Object.entries(ROOM).map(([field, column]) => text(field, column))}`;

const SQL = {
  rooms: `select ${ofRoom((field, column) => `${column} as "${field}"`)}, totals, cursor as countedTo
    from room left join tally on room = key where video_id > ? order by video_id limit ?`,
  messages: `select seq, video_id as key, cursor, id, body, details, at, said, offset_ms as offset
    from message join room on key = room
    where seq > ? order by seq limit ?`,
  count: "select count(*) as messages from message",
  anyRoom: "select 1 from room limit 1",
  putRoom: `insert into room (${ofRoom((_, column) => column)}) values (${ofRoom((field) => `:${field}`)})
    on conflict (video_id) do update set ${ofRoom((field, column) => `${column} = :${field}`)}`,
  putMessage: `insert into message (room, cursor, at, said, offset_ms, id, body, details)
    values ((select key from room where video_id = :key), :cursor, :at, :said, :offset, :id, :body, :details)
    on conflict (room, cursor) do update set body = :body, details = :details`,
  tallyItems: `select tally_item.key, author, first, payment, authors from tally_item join room on room.key = room
    where video_id = ? and tally_item.key > ? order by tally_item.key limit ?`,
  putTally: `insert into tally (room, cursor, totals) select key, :countedTo, :totals from room
    where video_id = :key and :totals is not null
    on conflict do update set cursor = :countedTo, totals = :totals`,
  putTallyItem: `insert or replace into tally_item (room, key, author, first, payment, authors)
    values ((select key from room where video_id = :room), :key, :author, :first, :payment, :authors)`,
  recordings: RECORDINGS,
  putRecording: `insert or replace into recording (name, since, state, video_id, error)
    values (:name, :since, :state, :videoId, :error)`,
  incomplete: `select video_id from room where head > floor and (head - floor, floor + 1, head)
    is not (select count(*), min(cursor), max(cursor) from message where room = key) limit 1`,
} as const;

type RoomRow = Omit<MovedRoom, "isKept"> & { isKept: number };

export class SqliteMigrationEnd implements MigrationEnd {
  readonly place: string;
  readonly #path: string;
  readonly #lock: FileLock;
  readonly #database: DatabaseSync;
  readonly #sql: Record<keyof typeof SQL, StatementSync>;

  /** Creates the file if it is the target and does not exist. Throws `StoreError` "unavailable". */
  constructor(path: string, role: "from" | "to") {
    this.#path = path;
    this.place = `sqlite:${path}`;
    const why = role === "from" ? missing(path) : undefined;
    if (why) throw new StoreError("unavailable", `store ${path} ${why}`);
    this.#lock = new FileLock(path);
    makePrivate(path);
    try {
      this.#database = openDatabase(path, FILE_DEFAULTS, role === "to" ? "wanted" : "refused");
      this.#sql = prepared(this.#database, SQL);
    } catch (error) {
      this.#lock.release();
      throw unavailable(error, path);
    }
  }

  rooms(after: ChatKey, limit: number): Promise<MovedRoom[]> {
    return this.#do(() =>
      (this.#sql.rooms.all(after, limit) as unknown as RoomRow[]).map((room) => ({
        ...room,
        isKept: room.isKept === 1,
      })),
    );
  }

  tallyItems(key: ChatKey, after: string, limit: number): Promise<TallyItem[]> {
    return this.#do(() =>
      (this.#sql.tallyItems.all(key, after, limit) as unknown as TallyItem[]).map((row) => ({ ...row })),
    );
  }

  messages(seq: number, limit: number): Promise<MovedMessage[]> {
    return this.#do(() =>
      (this.#sql.messages.all(seq, limit) as unknown as MovedMessage[]).map((row) => ({ ...row })),
    );
  }

  countMessages(): Promise<number> {
    return this.#do(() => Number(this.#sql.count.get()?.messages));
  }

  recordings(): Promise<Recording[]> {
    return this.#do(() =>
      (this.#sql.recordings.all() as unknown as Recording[]).map((recording) => ({ ...recording })),
    );
  }

  filledTo(): Promise<number | undefined> {
    return this.#do(() => {
      if (!isHalf(this.#database)) return undefined;
      return Number(this.#database.prepare(`select seq from ${MIGRATION_TABLE}`).get()?.seq);
    });
  }

  begin(): Promise<void> {
    return this.#commit(() => {
      if (this.#sql.anyRoom.get()) throw new StoreError("unavailable", NOT_EMPTY(this.place));
      this.#database.exec(
        `create table ${MIGRATION_TABLE} (seq integer not null) strict; insert into ${MIGRATION_TABLE} values (0)`,
      );
    });
  }

  putRooms(rooms: readonly MovedRoom[]): Promise<void> {
    return this.#commit(() => {
      for (const { totals, countedTo, ...room } of rooms) {
        this.#sql.putRoom.run({ ...room, isKept: Number(room.isKept) });
        this.#sql.putTally.run({ key: room.key, totals, countedTo });
      }
    });
  }

  putTallyItems(key: ChatKey, items: readonly TallyItem[]): Promise<void> {
    return this.#commit(() => {
      for (const item of items) this.#sql.putTallyItem.run({ room: key, ...item });
    });
  }

  putMessages(messages: readonly MovedMessage[]): Promise<void> {
    return this.#commit(() => {
      for (const { seq: _, ...message } of messages) this.#sql.putMessage.run(message);
      this.#database.prepare(`update ${MIGRATION_TABLE} set seq = ?`).run(messages.at(-1)?.seq ?? 0);
    });
  }

  putRecordings(recordings: readonly Recording[]): Promise<void> {
    return this.#commit(() => {
      for (const recording of recordings) this.#sql.putRecording.run({ ...recording });
    });
  }

  incompleteRoom(): Promise<ChatKey | undefined> {
    return this.#do(() => this.#sql.incomplete.get()?.video_id as ChatKey | undefined);
  }

  finish(): Promise<void> {
    return this.#do(() => this.#database.exec(`drop table ${MIGRATION_TABLE}`));
  }

  async close(): Promise<void> {
    this.#database.close();
    this.#lock.release();
  }

  #commit(act: () => void): Promise<void> {
    return this.#do(() => {
      this.#database.exec("begin immediate");
      act();
      this.#database.exec("commit");
    });
  }

  /** Leaves a failed transaction open: no call follows it, and closing the file rolls it back. */
  async #do<T>(act: () => T): Promise<T> {
    try {
      return act();
    } catch (error) {
      throw unavailable(error, this.#path);
    }
  }
}
