/**
 * The functions that prune. Pruning stops before the first message that is not counted yet, and names its
 * room as `behind`.
 */

import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { BLOCK, BLOCK_DIGITS, BLOCK_KEY } from "../author-blocks.ts";

/** A message that the retention may delete. */
const UNKEPT = "not exists (select from room r where r.video_id = m.video_id and r.is_kept)";
const OLDEST = `(select seq, at, video_id, cursor from message m where seq > begun and ${UNKEPT} order by seq limit places)`;

/**
 * A room that ended while the clock was in the past stays as long as its last message, whose time is later,
 * or, without messages, as long as it was read.
 */
const IS_DUE = `not r.is_kept and final_at < before and not exists (select from message m
          where m.video_id = r.video_id and m.cursor = r.head - r.shift and m.at >= before) and r.checkpoint_at < before`;

/** Whether the item `i` is a block of authors whose messages are all gone, `last` the last of them. */
const IS_PAST = (ofRoom: string, last: string) => `${ofRoom} and i.key >= '${BLOCK_KEY}'
          and i.key < '${BLOCK_KEY}' || lpad(((${last} - i.born) / ${BLOCK})::text, ${BLOCK_DIGITS}, '0')`;

/** The retention leaves out rooms that are kept. */
const PRUNE = `create function relay_prune(before timestamptz, most int)
  returns table (entries int, behind text) language plpgsql as $$
  #variable_conflict use_column
  declare
    moment timestamptz := clock_timestamp();
    places int := most;
    gone room;
    pruned int;
    last bigint;
    begun bigint;
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
      select r.* into gone from room r where ${IS_DUE} and lease_until < moment
        order by final_at limit 1 for update skip locked;
      exit when not found;
      pruned := relay_prune_oldest(gone.video_id, null, places);
      if pruned = 0 then
        return query select most - places, gone.video_id;
        return;
      end if;
      places := places - pruned;
    end loop;
    if places <= 0 then
      return query select most, null::text;
      return;
    end if;
    begun := relay_first_unkept() - 1;
    -- Kept messages may lie between others that are all too young.
    if begun is null or exists (select from message where seq = begun + 1 and at between before and moment) then
      return query select most - places, null::text;
      return;
    end if;
    select min(seq) into stay from ${OLDEST} o where at >= before and at <= moment;
    select coalesce(max(seq), begun), coalesce(max(seq) filter (where at < before), 0) into passed_last, old_last
      from ${OLDEST} o where stay is null or seq < stay;
    select at into next_at from message m
      where seq > passed_last and at <= moment and ${UNKEPT} order by seq limit 1;
    last := case when next_at < before then passed_last else old_last end;
    select m.seq, m.video_id into uncounted, late
      from ${OLDEST} m
      join room r on r.video_id = m.video_id
      left join tally t on t.video_id = r.video_id and t.born = r.base - r.shift
      where m.seq <= last and m.cursor > coalesce(t.cursor, r.floor - r.shift) order by m.seq limit 1;
    last := least(last, uncounted - 1);
    with deleted as (delete from message m where seq <= last and seq > begun and ${UNKEPT} returning video_id, cursor),
      ends as (select video_id, max(cursor) as last from deleted group by 1),
      forgotten as (
        delete from tally_item i using room r, ends d
        where r.video_id = d.video_id and ${IS_PAST("i.video_id = r.video_id and i.born = r.base - r.shift", "d.last")}
      ),
      raised as (
        update room r set floor = greatest(r.floor, d.last + r.shift) from ends d where r.video_id = d.video_id
      )
    select count(*) into old from deleted;
    return query select most - places + old, late;
  end $$;`;

/**
 * Deletes the room's oldest messages before the cursor `stay`, and a final room without messages. Returns how
 * many entries that were, or 0 if the oldest message is not counted yet. No function has a row of a table as
 * a parameter: it would keep `pg_restore --clean` from dropping the table.
 */
const PRUNE_OLDEST = `create function relay_prune_oldest(v text, stay bigint, most int) returns int language plpgsql as $$
  declare
    counted bigint;
    deleted int;
    last bigint;
    gone room;
  begin
    select * into gone from room where video_id = v;
    select coalesce(max(t.cursor), gone.floor - gone.shift) into counted
      from tally t where t.video_id = gone.video_id and t.born = gone.base - gone.shift;
    with oldest as (
      delete from message where video_id = gone.video_id and cursor in
        (select cursor from message where video_id = gone.video_id and cursor <= counted
          and (stay is null or cursor < stay) order by cursor limit most)
      returning cursor
    )
    select count(*), max(cursor) into deleted, last from oldest;
    if gone.final_at is not null and not exists (select from message where video_id = gone.video_id) then
      -- In the order in which a count writes them, so that the two never wait for each other.
      delete from tally t where t.video_id = gone.video_id and t.born = gone.base - gone.shift;
      delete from tally_item i where i.video_id = gone.video_id and i.born = gone.base - gone.shift;
      delete from room where video_id = gone.video_id;
      return greatest(1, deleted);
    end if;
    delete from tally_item i
      where ${IS_PAST("i.video_id = gone.video_id and i.born = gone.base - gone.shift", "last")};
    update room set floor = greatest(floor, last + gone.shift) where video_id = gone.video_id and deleted > 0;
    return deleted;
  end $$;`;

/** What a recording may name of the room `r`: its video, whichever of its chats the room is. */
const VIDEO_OF_ROOM = `replace(r.video_id, '${REPLAY_SUFFIX}', '')`;

/** A room ends no earlier than its last message was stored, as the clock may be in the past. */
const LAST_AT = `(select greatest(r.final_at, max(m.at)) from message m
          where r.final_at is not null and m.video_id = r.video_id and m.cursor = r.head - r.shift)`;

/** For `SizeLimited.pruneRooms`. */
const PRUNE_ROOM = `create function relay_prune_room_2(recorded text[], moment timestamptz, kept interval, most int)
  returns table (entries int, behind text) language plpgsql as $$
  #variable_conflict use_column
  declare
    before timestamptz := moment - kept;
    names text[] := recorded || array(select name from recording);
    gone room;
    stay bigint;
    pruned int;
  begin
    if not pg_try_advisory_xact_lock('message'::regclass::int, 1) then
      return query select 0, null::text;
      return;
    end if;
    -- Waits for an append in hand: skipping a locked room would delete from a recorded one instead.
    select r.* into gone from room r
      where case when r.final_at is null
          then (select m.at from message m where m.video_id = r.video_id order by m.cursor limit 1) < before
          else ${LAST_AT} not between before and moment + kept and r.lease_until < clock_timestamp() end
      order by ${VIDEO_OF_ROOM} = any(names) or coalesce(string_to_array(r.channels, ' ') && names, false),
        ${LAST_AT} nulls last, r.base
      limit 1 for update;
    if not found then
      return query select 0, null::text;
      return;
    end if;
    select min(o.cursor) into stay
      from (select cursor, at from message where video_id = gone.video_id order by cursor limit most) o
      where gone.final_at is null and o.at >= before;
    pruned := relay_prune_oldest(gone.video_id, stay, most);
    if pruned = 0 then
      return query select 0, gone.video_id;
      return;
    end if;
    perform pg_stat_force_next_flush(); -- the next look at the size must know of it
    return query select pruned, null::text;
  end $$;`;

/**
 * The first message of a room that is not kept, in the order of commits. Messages that a kept room has in one
 * run of that order are passed at once, by a binary search of their last one.
 */
const FIRST_UNKEPT = `create function relay_first_unkept() returns bigint language plpgsql as $$
  declare
    passed bigint := 0;
    oldest record;
    low bigint;
    high bigint;
    middle bigint;
  begin
    loop
      select m.seq, m.cursor, m.video_id, r.head - r.shift as last, r.is_kept into oldest
        from message m left join room r on r.video_id = m.video_id where m.seq > passed order by m.seq limit 1;
      if oldest.is_kept is not true then return oldest.seq; end if;
      low := oldest.cursor;
      high := oldest.last;
      while low < high loop
        middle := (low + high + 1) / 2;
        if exists (select from message where video_id = oldest.video_id and cursor = middle
            and seq - oldest.seq = cursor - oldest.cursor) then
          low := middle;
        else
          high := middle - 1;
        end if;
      end loop;
      passed := oldest.seq + low - oldest.cursor;
    end loop;
  end $$;`;

export const PRUNING = [FIRST_UNKEPT, PRUNE_OLDEST, PRUNE, PRUNE_ROOM].join("\n\n  ");
