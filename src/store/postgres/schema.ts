/**
 * The tables and functions in the database, as a list of steps, taken by one instance at a time. A step that was
 * released never changes, and a function that changes gets a new name: so old and new instances run side by side.
 */
import type { Client } from "pg";
import { HALF_FILLED, StoreError } from "../port.ts";

/** The key of the lock under which one instance migrates, the same for every release. */
const MIGRATION_LOCK = 7_107_324_115;

/** Stands in a database that a migration has not filled to its end, and holds how far it has. */
export const MIGRATION_TABLE = "relay_migration";

/** Where the server stands in its history: it moves on when a standby is promoted, or another server put in its place. */
export const LINEAGE = `(select system_identifier::text from pg_control_system())
  || ':' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;

/**
 * Every write is one statement, with a fence in it: an instance that is frozen or cut off never holds a lock, and a
 * connection pooler may give each statement another connection. `moment` is what `now()` would be.
 *
 * Columns that an append sets are in no index, so that it updates a room in place (HOT). Text is stored with its NULs
 * escaped (see `text.ts`), and never compressed: it is short, and its size is what it takes up.
 */
const STEPS: readonly string[] = [
  `create table store (
     one boolean primary key default true check (one),
     schema_version int not null,
     oldest_version int not null,
     generation bigint not null,
     lineage text not null
   );
   insert into store (schema_version, oldest_version, generation, lineage)
     values (0, 1, floor(extract(epoch from clock_timestamp()) * 1000), ${LINEAGE});

   create table room (
     video_id text collate "C" primary key,
     base bigint not null,
     floor bigint not null,
     head bigint not null,
     state text not null check (state in ('bootstrapping', 'polling', 'lingering', 'ended', 'released', 'failed')),
     detail text,
     final_state text,
     final_at timestamptz,
     claimed_at timestamptz,
     owner text,
     epoch bigint not null,
     lease_until timestamptz not null,
     checkpoint text,
     checkpoint_at timestamptz,
     check (base <= floor and floor <= head)
   ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   create index room_live on room (video_id) where final_at is null;
   create index room_final on room (final_at) where final_at is not null;
   create index room_claimed on room (claimed_at) where claimed_at is not null;

   create table message (
     video_id text collate "C" not null,
     cursor bigint not null,
     id text collate "C" not null,
     body text not null,
     details text not null,
     at timestamptz not null,
     seq bigint generated always as identity,
     primary key (video_id, cursor),
     unique (video_id, id)
   );
   create unique index message_seq on message (seq);
   alter table message alter column body set storage external, alter column details set storage external;

   create table interest (
     video_id text collate "C",
     instance text,
     viewers int not null,
     until timestamptz not null,
     primary key (video_id, instance)
   ) with (fillfactor = 50);

   create function relay_append_1(
     v text, e bigint, me text, expected bigint, ids text[], bodies text[], more text[], cp text,
     moment timestamptz, ttl interval
   ) returns table (epoch bigint, head bigint, is_final boolean, added int[]) language plpgsql as $$
   #variable_conflict use_column
   declare stored int[] := '{}';
   begin
     perform from room where video_id = v and epoch = e and head = expected
       and (final_at is null or claimed_at is not null) for no key update;
     if not found then
       return query select r.epoch, r.head, r.final_at is not null and r.claimed_at is null, null::int[]
         from room r where r.video_id = v;
       return;
     end if;
     if cardinality(ids) > 0 then
       with fresh as (
         select ord, id, body, details, expected + row_number() over (order by ord) as cursor
         from (select distinct on (b.id) b.id, b.body, b.details, b.ord
           from unnest(ids, bodies, more) with ordinality as b (id, body, details, ord) order by b.id, b.ord) once
         where not exists (select from message m where m.video_id = v and m.id = once.id)
       ), inserted as (
         insert into message (video_id, cursor, id, body, details, at)
         select v, cursor, id, body, details, moment from fresh order by cursor
       )
       select coalesce(array_agg(ord::int order by ord), '{}') into stored from fresh;
     end if;
     return query update room r set head = expected + cardinality(stored), checkpoint = cp, checkpoint_at = moment,
         owner = me, lease_until = clock_timestamp() + ttl, detail = null, final_state = null, final_at = null, claimed_at = null,
         state = case when r.state in ('polling', 'lingering') then r.state else 'polling' end
       where r.video_id = v returning r.epoch, r.head, false, stored;
   end $$;

   create function relay_finish_1(v text, e bigint, me text, final text, what text, moment timestamptz)
   returns table (epoch bigint, head bigint, is_final boolean, outcome text) language plpgsql as $$
   #variable_conflict use_column
   begin
     perform from room where video_id = v and epoch = e and (final_at is null or claimed_at is not null)
       for no key update;
     if not found then
       return query select r.epoch, r.head, r.final_at is not null and r.claimed_at is null, 'fenced'
         from room r where r.video_id = v;
     elsif final = 'released' and exists (select from interest i
         where i.video_id = v and i.instance <> me and i.viewers > 0 and i.until > clock_timestamp()) then
       return query update room r set owner = null, epoch = e + 1, lease_until = 'epoch', claimed_at = null
         where r.video_id = v returning r.epoch, r.head, false, 'free';
     else
       return query update room r set state = final, final_state = final, detail = what, final_at = moment,
           claimed_at = null, owner = null, lease_until = 'epoch'
         where r.video_id = v returning r.epoch, r.head, true, 'final';
     end if;
   end $$;

   create function relay_abandon_1(v text, e bigint)
   returns table (epoch bigint, head bigint, is_final boolean, outcome text, detail text) language plpgsql as $$
   #variable_conflict use_column
   begin
     perform from room where video_id = v and epoch = e and (final_at is null or claimed_at is not null)
       for update;
     if not found then
       return query select r.epoch, r.head, r.final_at is not null and r.claimed_at is null, 'fenced', r.detail
         from room r where r.video_id = v;
     else
       delete from room r where r.video_id = v and r.checkpoint is null;
       return query update room r set epoch = e + 1, owner = null, lease_until = 'epoch', claimed_at = null,
           state = coalesce(r.final_state, 'polling')
         where r.video_id = v returning r.epoch, r.head, r.final_at is not null, 'free', r.detail;
       if not found then return query select e, 0::bigint, false, 'gone', null::text; end if;
     end if;
   end $$;

   create function relay_move_1(moment bigint) returns int language sql as $$
     with moves as (
       select video_id, floor, greatest(moment, head + 1) - base as by from room where base < moment
     ), messages as (
       update message m set cursor = m.cursor + by from moves where m.video_id = moves.video_id and m.cursor > moves.floor
     ), rooms as (
       update room r set epoch = greatest(r.epoch, moment) + 1, owner = null, lease_until = 'epoch',
         base = r.base + by, floor = r.floor + by, head = r.head + by
       from moves where r.video_id = moves.video_id returning 1
     )
     select count(*)::int from rooms;
   $$;

   create function relay_prune_1(before timestamptz, most int, moment timestamptz) returns int language plpgsql as $$
   #variable_conflict use_column
   declare
     places int := most;
     unused_since timestamptz := moment - interval '1 hour';
     gone room;
     up_to bigint;
     stay bigint;
     passed_last bigint;
     old_last bigint;
     next_at timestamptz;
     old int;
   begin
     if not pg_try_advisory_xact_lock('message'::regclass::int, 1) then return 0; end if;
     while places > 0 loop
       select * into gone from room where claimed_at < unused_since and checkpoint is null
         limit 1 for update skip locked;
       if not found then
         select * into gone from room where final_at < before and (claimed_at is null or claimed_at < unused_since)
           order by final_at limit 1 for update skip locked;
       end if;
       exit when not found;
       up_to := least(gone.head, gone.floor + places);
       delete from message where video_id = gone.video_id and cursor <= up_to;
       if up_to = gone.head then delete from room where video_id = gone.video_id;
       else update room set floor = up_to where video_id = gone.video_id; end if;
       places := places - greatest(1, up_to - gone.floor)::int;
     end loop;
     if places <= 0 then return most; end if;
     delete from interest where until < clock_timestamp() - interval '1 hour';
     select min(seq) into stay from (select seq, at from message order by seq limit places) o
       where at >= before and at <= moment;
     select coalesce(max(seq), 0), coalesce(max(seq) filter (where at < before), 0) into passed_last, old_last
       from (select seq, at from message order by seq limit places) o where stay is null or seq < stay;
     select at into next_at from message where seq > passed_last and at <= moment order by seq limit 1;
     up_to := case when next_at < before then passed_last else old_last end;
     with deleted as (delete from message where seq <= up_to returning video_id, cursor),
       raised as (
         update room r set floor = greatest(r.floor, d.last)
         from (select video_id, max(cursor) as last from deleted group by 1) d where r.video_id = d.video_id
       )
     select count(*) into old from deleted;
     return most - places + old;
   end $$;`,

  `create table egress (
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
   ) with (fillfactor = 50);`,
];

export const SCHEMA_VERSION = STEPS.length;

/**
 * Brings the database to this program's schema, in one transaction, on a connection of its own. Throws `StoreError`
 * where a newer program has left it in a form that this one cannot use, or it is `half` of a migration where none is
 * wanted, else what PostgreSQL throws.
 */
export async function migrate(client: Client, half: "refused" | "wanted" = "refused"): Promise<void> {
  const present = await versions(client);
  assertUsable(present, half);
  if (present.schema_version >= SCHEMA_VERSION) return;
  // Whoever stops here in the middle must not stand in the others' way.
  await client.query(
    "begin; set local lock_timeout = '4s'; set local idle_in_transaction_session_timeout = '10s'",
  );
  await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
  const found = await versions(client); // another instance may have been first
  assertUsable(found, half);
  for (const step of STEPS.slice(found.schema_version)) await client.query(step);
  if (found.schema_version < SCHEMA_VERSION)
    await client.query("update store set schema_version = $1", [SCHEMA_VERSION]);
  await client.query("commit");
}

interface Versions {
  schema_version: number;
  oldest_version: number;
  is_half?: boolean;
}

async function versions(client: Client): Promise<Versions> {
  // By the snapshot: what `to_regclass` has not found it may go on not finding in the same transaction.
  const { rows: found } = await client.query<{ names: string[] }>(
    `select array_agg(relname::text) as names from pg_class
     where relname in ('store', '${MIGRATION_TABLE}') and relnamespace = current_schema()::regnamespace`,
  );
  const names = found[0]?.names ?? [];
  if (!names.includes("store")) return { schema_version: 0, oldest_version: 1 };
  const { rows } = await client.query<Versions>("select schema_version, oldest_version from store");
  const emptied = { schema_version: SCHEMA_VERSION, oldest_version: 1 }; // under running instances
  return { ...(rows[0] ?? emptied), is_half: names.includes(MIGRATION_TABLE) };
}

function assertUsable(
  { schema_version, oldest_version, is_half }: Versions,
  half: "refused" | "wanted",
): void {
  if (is_half && half === "refused") throw new StoreError("unavailable", HALF_FILLED);
  if (oldest_version <= SCHEMA_VERSION) return;
  throw new StoreError(
    "unavailable",
    `has schema ${schema_version}, which needs a program that knows ${oldest_version} at least, this one knows ${SCHEMA_VERSION}: start a newer program, or name another database`,
  );
}
