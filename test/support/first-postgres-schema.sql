create table store (
     one boolean primary key default true check (one),
     schema_version int not null,
     oldest_version int not null,
     generation bigint not null,
     lineage text not null
   );
   insert into store (schema_version, oldest_version, generation, lineage)
     values (0, 1, floor(extract(epoch from clock_timestamp()) * 1000), (select system_identifier::text from pg_control_system())
  || ':' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8));

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

   create table tally (
    video_id text collate "C" not null,
    born bigint not null,
    cursor bigint not null,
    totals text not null,
    primary key (video_id, born)
  ) with (fillfactor = 50);

  create table tally_item (
    video_id text collate "C" not null,
    born bigint not null,
    key text collate "C" not null,
    author text collate "C",
    first text collate "C",
    payment text,
    primary key (video_id, born, key)
  );
  create index tally_item_author on tally_item (video_id, born, author) where author is not null;
  create index tally_item_first on tally_item (video_id, born, first) where first is not null;

   create function relay_append(
     v text, e bigint, expected bigint, ids text[], bodies text[], more text[], cp text, ttl interval, written timestamptz
   ) returns table (epoch bigint, head bigint, added int[]) language plpgsql as $$
   #variable_conflict use_column
   declare
     stored int[] := '{}';
     moved bigint;
   begin
     select shift into moved from room where video_id = v and epoch = e and head = expected and owner is not null
       for no key update;
     if not found then
       return query select r.epoch, r.head, null::int[] from room r where r.video_id = v;
       return;
     end if;
     if cardinality(ids) > 0 then
       with fresh as (
         select ord, id, body, details, expected - moved + row_number() over (order by ord) as cursor
         from (select distinct on (b.id) b.id, b.body, b.details, b.ord
           from unnest(ids, bodies, more) with ordinality as b (id, body, details, ord) order by b.id, b.ord) once
         where not exists (select from message m where m.video_id = v and m.id = once.id)
       ), inserted as (
         insert into message (video_id, cursor, id, body, details, at)
         select v, cursor, id, body, details, clock_timestamp() from fresh order by cursor
       )
       select coalesce(array_agg(ord::int order by ord), '{}') into stored from fresh;
     end if;
     return query update room r set head = expected + cardinality(stored), checkpoint = cp,
         checkpoint_at = least(clock_timestamp(), written), lease_until = clock_timestamp() + ttl, state = 'polling',
         detail = null, final_at = null
       where r.video_id = v returning r.epoch, r.head, stored;
   end $$;

   create function relay_finish(v text, e bigint, final text, what text)
   returns table (epoch bigint, head bigint, outcome text) language plpgsql as $$
   #variable_conflict use_column
   declare me text;
   begin
     select owner into me from room where video_id = v and epoch = e and owner is not null and checkpoint is not null
       for no key update;
     if not found then
       return query select r.epoch, r.head, 'fenced' from room r where r.video_id = v;
     elsif final = 'released' and exists (select from interest i
         where i.video_id = v and i.instance <> me and i.viewers > 0 and i.until > clock_timestamp()) then
       return query update room r set owner = null, epoch = e + 1, lease_until = 'epoch'
         where r.video_id = v returning r.epoch, r.head, 'free';
     else
       return query update room r set state = final, detail = what, final_at = clock_timestamp(), owner = null,
           lease_until = 'epoch'
         where r.video_id = v returning r.epoch, r.head, 'final';
     end if;
   end $$;

   create function relay_move(here text, is_restored boolean, is_kept boolean) returns int language plpgsql as $$
   declare
     moment bigint := floor(extract(epoch from clock_timestamp()) * 1000);
     rooms int;
   begin
     perform from store where lineage <> here or is_restored for update;
     if not found then return 0; end if;
     update store set lineage = here, generation = greatest(generation + 1, moment);
     if is_kept then return 0; end if;
     update room r set shift = r.shift + far, base = r.base + far, floor = r.floor + far, head = r.head + far,
       epoch = greatest(r.epoch, moment) + 1, owner = null, lease_until = 'epoch'
     from (select video_id, greatest(moment, head + 1) - base as far from room
       where checkpoint is not null and (base < moment or not is_restored)) m
     where r.video_id = m.video_id;
     get diagnostics rooms = row_count;
     return rooms;
   end $$;

   create function relay_prune(before timestamptz, most int)
  returns table (entries int, behind text) language plpgsql as $$
  #variable_conflict use_column
  declare
    moment timestamptz := clock_timestamp();
    places int := most;
    gone room;
    counted bigint;
    deleted int;
    last bigint;
    stay bigint;
    passed_last bigint;
    old_last bigint;
    next_at timestamptz;
    uncounted bigint;
    late text;
    old int;
  begin
    if not pg_try_advisory_xact_lock('message'::regclass::int, 1) then
      return query select 0, null::text;
      return;
    end if;
    delete from room where checkpoint is null and final_at is null and lease_until < moment - interval '1 hour';
    delete from interest where until < moment - interval '1 hour';
    while places > 0 loop
      select * into gone from room where final_at < before and lease_until < moment
        order by final_at limit 1 for update skip locked;
      exit when not found;
      select coalesce(max(t.cursor), gone.floor - gone.shift) into counted
        from tally t where t.video_id = gone.video_id and t.born = gone.base - gone.shift;
      with oldest as (
        delete from message where video_id = gone.video_id and cursor in
          (select cursor from message where video_id = gone.video_id and cursor <= counted
            order by cursor limit places)
        returning cursor
      )
      select count(*), max(cursor) into deleted, last from oldest;
      if not exists (select from message where video_id = gone.video_id) then
        -- In the order in which a count writes them, so that the two never wait for each other.
        delete from tally t where t.video_id = gone.video_id and t.born = gone.base - gone.shift;
        delete from tally_item i where i.video_id = gone.video_id and i.born = gone.base - gone.shift;
        delete from room where video_id = gone.video_id;
      elsif deleted = 0 then
        return query select most - places, gone.video_id;
        return;
      else update room set floor = greatest(floor, last + gone.shift) where video_id = gone.video_id; end if;
      places := places - greatest(1, deleted);
    end loop;
    if places <= 0 then
      return query select most, null::text;
      return;
    end if;
    select min(seq) into stay from (select seq, at from message order by seq limit places) o
      where at >= before and at <= moment;
    select coalesce(max(seq), 0), coalesce(max(seq) filter (where at < before), 0) into passed_last, old_last
      from (select seq, at from message order by seq limit places) o where stay is null or seq < stay;
    select at into next_at from message where seq > passed_last and at <= moment order by seq limit 1;
    last := case when next_at < before then passed_last else old_last end;
    select m.seq, m.video_id into uncounted, late
      from (select seq, video_id, cursor from message order by seq limit places) m
      join room r on r.video_id = m.video_id
      left join tally t on t.video_id = r.video_id and t.born = r.base - r.shift
      where m.seq <= last and m.cursor > coalesce(t.cursor, r.floor - r.shift) order by m.seq limit 1;
    last := least(last, uncounted - 1);
    with deleted as (delete from message where seq <= last returning video_id, cursor),
      raised as (
        update room r set floor = greatest(r.floor, d.last + r.shift)
        from (select video_id, max(cursor) as last from deleted group by 1) d where r.video_id = d.video_id
      )
    select count(*) into old from deleted;
    return query select most - places + old, late;
  end $$;