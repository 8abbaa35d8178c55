/**
 * Opens the store file, and holds its schema as a list of steps. A file of another program, of a newer schema
 * or of one before the first step is refused unchanged; any other is upgraded step by step.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { EARLIER_SCHEMA, HALF_FILLED, StoreError } from "../store-error.ts";
import { BEGINS_PLAIN } from "../stored-message.ts";

export interface StoreOptions {
  /**
   * Whether the service blanks messages that were deleted in the chat. If so, the file has an index of
   * authors, and SQLite overwrites the old data with zeros.
   */
  isBlanking: boolean;
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

/** Marks the file as ours: "lchr". */
export const APPLICATION_ID = 0x6c636872;

/** The maximum wait of a statement for another program that has locked the file, for example to repair it. */
const BUSY_TIMEOUT_MS = 1000;

/** The schema that the first step makes of an empty file. */
const FIRST_SCHEMA = 8;

/**
 * Each further step takes a file to the next schema. A released step never changes.
 *
 * The messages of all rooms are in the order of their commits. So an append writes at the end of the table,
 * and pruning deletes old pages from its start without an index by time. A table `without rowid` with the key
 * (room, cursor) keeps rows above 1 KB in pages of their own: with it, the file was 3.2 times the size of its
 * messages, and not 1.3. In a table with rowids, a row can fill a whole page. `room` is a small number
 * because it occurs in three trees.
 *
 * `room.channels`: the names of the room's channel, separated by spaces. `room.video`: what the video is, as
 * JSON. `room.featured_id` and `_at`: the message that was chosen last to be featured, and when.
 * `message.said` and `offset_ms`: the times of `MessageTimes`. `tally.cursor` is the last cursor that the
 * totals count; a room without a row in `tally` is not counted yet.
 */
export const STEPS: readonly string[] = [
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
     ended_at integer,
     channels text,
     is_kept integer not null default 0,
     video text,
     featured_id text,
     featured_at integer
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
     said integer,
     offset_ms integer,
     unique (room, cursor),
     unique (room, id)
   ) strict;
   create index message_rare on message (room, ${TYPE}, cursor) where ${IS_RARE};
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
     authors text,
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
];

/** The schema after these steps. */
const schemaOf = (steps: readonly string[]): number => FIRST_SCHEMA + steps.length - 1;

export const SCHEMA_VERSION = schemaOf(STEPS);

/** This table exists in a file that a migration has not filled completely. It holds the last `seq` copied. */
export const MIGRATION_TABLE = "relay_migration";

/**
 * Opens the file, or creates it. Every commit is on disk before it returns. `half`: whether to accept a file
 * that a migration has not filled completely. `upgrade` plays each step of an older file. Throws
 * `StoreError` "unavailable" for a refused file, and as `schemaVersion` does; otherwise the errors of SQLite.
 */
export function openDatabase(
  path: string,
  { isBlanking }: StoreOptions = FILE_DEFAULTS,
  half: "refused" | "wanted" = "refused",
  upgrade: (toSchema: number, step: () => void) => void = (_, step) => step(),
  steps = STEPS,
): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const version = schemaVersion(database, path, steps);
    if (half === "refused" && isHalf(database))
      throw new StoreError("unavailable", `store ${path} ${HALF_FILLED}`);
    database.exec("pragma journal_mode = wal; pragma synchronous = full;");
    for (const [index, step] of steps.entries()) {
      const toSchema = FIRST_SCHEMA + index;
      const apply = () => applyStep(database, toSchema, step);
      if (version === 0) apply();
      else if (version < toSchema) upgrade(toSchema, apply);
    }
    database.exec(isBlanking ? BLANKING : KEEPING);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * The schema of the file; 0 if it is empty. Throws `StoreError` for a file of another program, and for one of
 * a schema to which or from which no step leads.
 */
export function schemaVersion(database: DatabaseSync, path: string, steps = STEPS): number {
  const refuse = (reason: string) => new StoreError("unavailable", `store ${path} ${reason}`);
  const version = pragma(database, "user_version");
  const isEmpty = database.prepare("select 1 from sqlite_schema").get() === undefined;
  if (pragma(database, "application_id") !== APPLICATION_ID && !(isEmpty && version === 0)) {
    throw refuse("is a database of another program: name another file");
  }
  if (version > schemaOf(steps)) {
    throw refuse(
      `has schema ${version}, this program knows ${schemaOf(steps)}: start a newer program, or name another file`,
    );
  }
  if (version > 0 && version < FIRST_SCHEMA)
    throw refuse(`${EARLIER_SCHEMA(version, FIRST_SCHEMA)}, or name another file`);
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
