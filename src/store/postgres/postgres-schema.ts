/**
 * The database's tables and functions, as a list of steps that one instance at a time applies. A changed
 * function gets a new name, so old and new instances can run side by side.
 */
import type { Client, QueryConfig } from "pg";
import { EARLIER_SCHEMA, HALF_FILLED, StoreError } from "../store-error.ts";
import { BEGINS_PLAIN } from "../stored-message.ts";
import { APPENDING } from "./append-schema.ts";
import { MOVING } from "./moving-schema.ts";
import { PRUNING } from "./pruning-schema.ts";
import { TALLIES } from "./tally-schema.ts";

/** The time limit of a step: an index is built in about a second per million messages. */
const STEP_LIMIT_MS = 600_000;

/** The key of the lock for the migration, the same in every release. */
const MIGRATION_LOCK = 7_107_324_115;

/** The schema that the first step makes of an empty database. */
const FIRST_SCHEMA = 11;

/** The minimum schema version that a program must know to use a database of this version. */
export const OLDEST_VERSION = FIRST_SCHEMA;

/**
 * This table exists in a database that a migration has not filled completely. It holds the last `seq` copied.
 */
export const MIGRATION_TABLE = "relay_migration";

/** The first schema of `search_path`, which contains all tables. */
export const SCHEMA = "quote_ident(current_schema())::regnamespace";

/**
 * The server's position in its history. It changes if a standby is promoted, or another server takes its
 * place.
 */
export const LINEAGE = `(select system_identifier::text from pg_control_system())
  || ':' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;

/**
 * Every message but plain chat, and its type as its text begins. A message that does not begin with a type is
 * damaged, and is read as a gap.
 */
export const IS_RARE = `left(body, ${BEGINS_PLAIN.length}) <> '${BEGINS_PLAIN}'`;
export const TYPE = `case when body like '{"type":"_%"%' then split_part(body, '"', 4) else 'gap' end collate "C"`;

/**
 * Every write is one statement that includes its fence. So a frozen or cut-off instance never holds a lock,
 * and a pooler may run each statement on another connection. Times are the database's.
 *
 * A message's cursor is `message.cursor + room.shift`, so a room moves to other cursors, with all its
 * messages, in one update. `recording.instance` runs the recording until `run_until`.
 *
 * `room.channels`: the names of the room's channel, separated by spaces. `room.video`: what the video is, as
 * JSON. `room.featured_id` and `_at`: the message that was chosen last to be featured, and when, in
 * milliseconds. `message.said` and `offset_ms`: the times of `MessageTimes`.
 *
 * Appends change no indexed columns, so they update a room in place (HOT). Text is stored with its NULs
 * escaped (see `column-text.ts`) and uncompressed: it is short, and its size counts as it is.
 */
export const STEPS: readonly string[] = [
  `create table store (
     one boolean primary key default true check (one),
     schema_version int not null,
     oldest_version int not null,
     generation bigint not null,
     lineage text not null
   );
   insert into store (schema_version, oldest_version, generation, lineage)
     values (0, ${OLDEST_VERSION}, floor(extract(epoch from clock_timestamp()) * 1000), ${LINEAGE});

   create table room (
     video_id text collate "C" primary key,
     base bigint not null,
     floor bigint not null,
     head bigint not null,
     shift bigint not null default 0,
     state text not null check (state in ('bootstrapping', 'polling', 'ended', 'released', 'failed')),
     detail text,
     final_at timestamptz,
     owner text,
     epoch bigint not null,
     lease_until timestamptz not null,
     checkpoint text,
     checkpoint_at timestamptz,
     channels text,
     is_kept boolean not null default false,
     video text,
     featured_id text,
     featured_at bigint,
     check (base <= floor and floor <= head)
   ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   create index room_live on room (video_id) where final_at is null;
   create index room_final on room (final_at) where final_at is not null;

   create table message (
     video_id text collate "C" not null,
     cursor bigint not null,
     id text collate "C" not null,
     body text not null,
     details text not null,
     at timestamptz not null,
     seq bigint generated always as identity,
     said bigint,
     offset_ms bigint,
     primary key (video_id, cursor),
     unique (video_id, id)
   );
   create unique index message_seq on message (seq);
   create index message_rare on message (video_id, (${TYPE}), cursor) where ${IS_RARE};
   alter table message alter column body set storage external, alter column details set storage external;

   create table interest (
     video_id text collate "C",
     instance text,
     viewers int not null,
     until timestamptz not null,
     primary key (video_id, instance)
   ) with (fillfactor = 50);

   create table egress (
     name text primary key,
     next_at timestamptz not null,
     cooldown_until timestamptz not null default '-infinity',
     pages_until timestamptz not null default '-infinity'
   ) with (fillfactor = 50);

   create table egress_demand (
     name text,
     instance text,
     polls_per_second float8 not null,
     until timestamptz not null,
     primary key (name, instance)
   ) with (fillfactor = 50);

   create table recording (
     name text collate "C" primary key,
     since timestamptz not null,
     state text not null,
     video_id text,
     error text,
     instance text,
     run_until timestamptz not null default '-infinity'
   );

   ${TALLIES}

   ${APPENDING}

   ${MOVING}

   ${PRUNING}`,
];

/** The schema after these steps. */
const schemaOf = (steps: readonly string[]): number => FIRST_SCHEMA + steps.length - 1;

export const SCHEMA_VERSION = schemaOf(STEPS);

/**
 * Brings the database to this program's schema, in one transaction on a connection of its own, and resolves
 * to the schema that it has. `upgrade` plays each step of an older one. Throws `StoreError` if this program
 * cannot use the encoding or a newer schema, if no step leads from an older one, or if the database is `half`
 * of a migration and that is refused; otherwise the errors of PostgreSQL.
 */
export async function migrateSchema(
  client: Client,
  half: "refused" | "wanted" = "refused",
  upgrade: (toSchema: number, step: () => Promise<unknown>) => Promise<unknown> = (_, step) => step(),
  steps = STEPS,
): Promise<number> {
  const present = await usableSchema(client, half, steps);
  if (present >= schemaOf(steps)) return present;
  // An instance that stops in the middle must not block the others.
  await client.query(
    "begin; set local lock_timeout = '4s'; set local idle_in_transaction_session_timeout = '10s'",
  );
  await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
  const locked = await versions(client); // another instance may have been first
  assertUsable(locked, half, steps);
  const found = locked.schema_version;
  for (const [index, text] of steps.entries()) {
    const toSchema = FIRST_SCHEMA + index;
    const step = () => client.query({ text, query_timeout: STEP_LIMIT_MS } as QueryConfig);
    if (found === 0) await step();
    else if (found < toSchema) await upgrade(toSchema, step);
  }
  const schema = Math.max(found, schemaOf(steps));
  if (found < schema) await client.query("update store set schema_version = $1", [schema]);
  await client.query("commit");
  return schema;
}

/**
 * The schema of the database; 0 if it has none yet. Throws `StoreError` if this program cannot use it, as
 * `migrateSchema` does.
 */
export async function usableSchema(
  client: Client,
  half: "refused" | "wanted",
  steps = STEPS,
): Promise<number> {
  await assertEncoding(client);
  const present = await versions(client);
  assertUsable(present, half, steps);
  return present.schema_version;
}

/** In other encodings, a single message with a text that they lack would stop the storing of its chat. */
async function assertEncoding(client: Client): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>("show server_encoding");
  const encoding = rows[0]?.server_encoding ?? "";
  if (["UTF8", "SQL_ASCII"].includes(encoding)) return;
  throw new StoreError("unavailable", `has the encoding ${encoding}: use a database with the encoding UTF8`);
}

interface Versions {
  schema_version: number;
  oldest_version: number;
  is_half?: boolean;
}

async function versions(client: Client): Promise<Versions> {
  // Reads `pg_class` by the statement's snapshot: `to_regclass` may keep missing a new table for the whole
  // transaction.
  const { rows: found } = await client.query<{ names: string[] }>(
    `select array_agg(relname::text) as names from pg_class
     where relname in ('store', '${MIGRATION_TABLE}') and relnamespace = ${SCHEMA}`,
  );
  const names = found[0]?.names ?? [];
  if (!names.includes("store")) return { schema_version: 0, oldest_version: 0 };
  const { rows } = await client.query<Versions>("select schema_version, oldest_version from store");
  const emptied = { schema_version: SCHEMA_VERSION, oldest_version: OLDEST_VERSION }; // while instances run
  return { ...(rows[0] ?? emptied), is_half: names.includes(MIGRATION_TABLE) };
}

function assertUsable(
  { schema_version, oldest_version, is_half }: Versions,
  half: "refused" | "wanted",
  steps: readonly string[],
): void {
  const refuse = (reason: string) => new StoreError("unavailable", reason);
  if (schema_version > 0 && schema_version < FIRST_SCHEMA)
    throw refuse(`${EARLIER_SCHEMA(schema_version, FIRST_SCHEMA)}, or name another database`);
  if (is_half && half === "refused") throw refuse(HALF_FILLED);
  const known = schemaOf(steps);
  if (oldest_version > known)
    throw refuse(
      `has schema ${schema_version}, which needs a program that knows ${oldest_version} at least, this one knows ${known}: start a newer program, or name another database`,
    );
}
