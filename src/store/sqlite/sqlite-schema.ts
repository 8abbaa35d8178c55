/**
 * Opens the store file, and holds its schema as a list of steps. A file of another program or of a newer
 * schema is refused unchanged; an older one is upgraded step by step.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { beganAsReplay, ENDED_TEXT, isImported, READ_REPLAY } from "../earlier-rooms.ts";
import { HALF_FILLED, StoreError } from "../port.ts";
import { BEGINS_PLAIN } from "../stored-message.ts";

export interface StoreOptions {
  /**
   * Whether the service blanks messages that were deleted in the chat. If so, the file has an index of
   * authors, and SQLite overwrites the old data with zeros.
   */
  isBlanking: boolean;
  /** How far the first cursors of rooms are ahead of the clock, if the store is in memory. */
  aheadMs?: number;
}

export const FILE_DEFAULTS: StoreOptions = { isBlanking: false };

/** The author of a message, or this if its details are damaged (which would fail every write to the row). */
export const LOST_AUTHOR = "''";
export const AUTHOR_ID = `case when json_valid(details) then details ->> '$.authorId' else ${LOST_AUTHOR} end`;

/**
 * Every message but plain chat, and its type as its text begins. A message that does not begin with a type is
 * damaged, and is read as a gap.
 */
export const IS_RARE = `substr(body, 1, ${BEGINS_PLAIN.length}) <> '${BEGINS_PLAIN}'`;
export const TYPE = `case when body glob '{"type":"?*"*' then substr(body, 10, instr(substr(body, 10), '"') - 1)
  else 'gap' end`;

/** An index that most services do not need, and zeros over deleted or overwritten data. */
const BLANKING = `create index if not exists message_of_author on message (room, ${AUTHOR_ID});
  pragma secure_delete = on;`;
const KEEPING = "drop index if exists message_of_author;";

/** For a step: whether a room that was read as a replay is one from its beginning. */
const BEGAN_AS_REPLAY = beganAsReplay(
  "instr",
  "(select details from message where room = key order by cursor limit 1)",
);

/** Marks the file as ours: "lchr". */
export const APPLICATION_ID = 0x6c636872;

/** The maximum wait of a statement for another program that has locked the file, for example to repair it. */
const BUSY_TIMEOUT_MS = 1000;

/**
 * Step n takes a file from schema n to n + 1. A released step never changes.
 *
 * The messages of all rooms are in the order of their commits. So an append writes at the end of the table,
 * and pruning deletes old pages from its start without an index by time. A table `without rowid` with the key
 * (room, cursor) keeps rows above 1 KB in pages of their own: with it, the file was 3.2 times the size of its
 * messages, and not 1.3. In a table with rowids, a row can fill a whole page. `room` is a small number
 * because it occurs in three trees. `tally.cursor` is the last cursor that the totals count; a room without a
 * row in `tally` is not counted yet.
 */
const STEPS: readonly string[] = [
  `create table room (
     key integer primary key,
     video_id text not null unique,
     epoch integer not null,
     base integer not null,
     floor integer not null,
     head integer not null,
     checkpoint text,
     checkpoint_at integer,
     ending text,
     ended_at integer
   ) strict;
   create index room_open on room (key) where ended_at is null;
   create index room_ended on room (ended_at) where ended_at is not null;
   create table message (
     seq integer primary key,
     room integer not null,
     cursor integer not null,
     at integer not null,
     id text not null,
     body text not null,
     details text not null,
     unique (room, cursor),
     unique (room, id)
   ) strict;
   create table tally (
     room integer primary key,
     cursor integer not null,
     totals text not null
   ) strict;
   create table tally_item (
     room integer not null,
     key text not null,
     author text,
     first text,
     payment text,
     primary key (room, key)
   ) strict, without rowid;
   create index tally_item_author on tally_item (room, author) where author is not null;
   create index tally_item_first on tally_item (room, first) where first is not null;
   create table recording (
     name text primary key,
     since integer not null,
     state text not null,
     video_id text,
     error text
   ) strict, without rowid;`,
  `create index message_rare on message (room, ${TYPE}, cursor) where ${IS_RARE};`,
  // The names of the room's channel, separated by spaces.
  "alter table room add column channels text;",
  // A room is one chat of its video. A live chat into which a replay was read is over.
  `update room set video_id = video_id || '${REPLAY_SUFFIX}'
     where video_id not like '%${REPLAY_SUFFIX}' and ${READ_REPLAY} and ${BEGAN_AS_REPLAY};
   update room set ending = '${ENDED_TEXT}', ended_at = coalesce(ended_at, checkpoint_at)
     where video_id not like '%${REPLAY_SUFFIX}' and ${READ_REPLAY};`,
  // The retention leaves imported chats out.
  `alter table room add column is_kept integer not null default 0;
   update room set is_kept = 1 where ${isImported("instr")};`,
  // The times of \`MessageTimes\`, which earlier messages lack, and what the room's video is, as JSON.
  `alter table message add column said integer;
   alter table message add column offset_ms integer;
   alter table room add column video text;`,
  // The message that was chosen last to be featured, and when.
  `alter table room add column featured_id text;
   alter table room add column featured_at integer;`,
];

export const SCHEMA_VERSION = STEPS.length;

/** This table exists in a file that a migration has not filled completely. It holds the last `seq` copied. */
export const MIGRATION_TABLE = "relay_migration";

/**
 * Opens the file, or creates it. Every commit is on disk before it returns. `half`: whether to accept a file
 * that a migration has not filled completely. `upgrade` plays each step of an older file. Throws
 * `StoreError` "unavailable" for a refused file, for one of another program and for one of a newer schema;
 * otherwise the errors of SQLite.
 */
export function openDatabase(
  path: string,
  { isBlanking }: StoreOptions = FILE_DEFAULTS,
  half: "refused" | "wanted" = "refused",
  upgrade: (toSchema: number, step: () => void) => void = (_, step) => step(),
): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const version = schemaVersion(database, path);
    if (half === "refused" && isHalf(database))
      throw new StoreError("unavailable", `store ${path} ${HALF_FILLED}`);
    database.exec("pragma journal_mode = wal; pragma synchronous = full;");
    for (const [index, step] of STEPS.entries()) {
      const apply = () => applyStep(database, index + 1, step);
      if (index >= version && version > 0) upgrade(index + 1, apply);
      else if (index >= version) apply();
    }
    database.exec(isBlanking ? BLANKING : KEEPING);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Throws `StoreError` for a file of another program and for one of a newer schema. */
export function schemaVersion(database: DatabaseSync, path: string): number {
  const refuse = (reason: string) => new StoreError("unavailable", `store ${path} ${reason}`);
  const version = pragma(database, "user_version");
  const isEmpty = database.prepare("select 1 from sqlite_schema").get() === undefined;
  if (pragma(database, "application_id") !== APPLICATION_ID && !(isEmpty && version === 0)) {
    throw refuse("is a database of another program: name another file");
  }
  if (version > STEPS.length) {
    throw refuse(
      `has schema ${version}, this program knows ${STEPS.length}: start a newer program, or name another file`,
    );
  }
  return version;
}

/** Prepares each statement once, under its name. */
export function prepared<S extends Record<string, string>>(
  database: DatabaseSync,
  sql: S,
): Record<keyof S, StatementSync> {
  const statements = Object.entries(sql).map(([name, text]) => [name, database.prepare(text)]);
  return Object.fromEntries(statements) as Record<keyof S, StatementSync>;
}

export function isHalf(database: DatabaseSync): boolean {
  const found = database.prepare("select 1 from sqlite_schema where name = ?").get(MIGRATION_TABLE);
  return found !== undefined;
}

function applyStep(database: DatabaseSync, version: number, step: string): void {
  database.exec("begin immediate");
  try {
    database.exec(`${step} pragma application_id = ${APPLICATION_ID}; pragma user_version = ${version};`);
    database.exec("commit");
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}

function pragma(database: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(database.prepare(`pragma ${name}`).get()?.[name]);
}
