/**
 * The functions that prune. Pruning stops before the first message that is not counted yet, and names its
 * room as `behind`.
 */
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { isImported } from "../earlier-rooms.ts";

/** Which messages are pruned in the order of their commits, and from which on. */
interface PrunedMessages {
  /** A condition on the message `m`. */
  are: string;
  /** The place in the order of commits before the first of them. */
  begin: string;
  /** Ends the function if nothing is to be deleted. */
  unless: string;
}

const ALL: PrunedMessages = { are: "true", begin: "0", unless: "" };
const NOT_KEPT: PrunedMessages = {
  are: "not exists (select from room r where r.video_id = m.video_id and r.is_kept)",
  begin: "relay_first_unkept() - 1",
  // Kept messages may lie between others that are all too young.
  unless: `if begun is null or exists (select from message where seq = begun + 1 and at between before and moment) then
      return query select most - places, null::text;
      return;
    end if;`,
};

/** `gone`: the argument that names the room to `relay_prune_oldest`. */
function pruning(create: string, isDue: string, gone: string, messages = ALL): string {
  const oldest = `(select seq, at, video_id, cursor from message m where seq > begun and ${messages.are} order by seq limit places)`;
  return `${create} relay_prune(before timestamptz, most int)
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
      select r.* into gone from room r where ${isDue} and lease_until < moment
        order by final_at limit 1 for update skip locked;
      exit when not found;
      pruned := relay_prune_oldest(${gone}, null, places);
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
    begun := ${messages.begin};
    ${messages.unless}
    select min(seq) into stay from ${oldest} o where at >= before and at <= moment;
    select coalesce(max(seq), begun), coalesce(max(seq) filter (where at < before), 0) into passed_last, old_last
      from ${oldest} o where stay is null or seq < stay;
    select at into next_at from message m
      where seq > passed_last and at <= moment and ${messages.are} order by seq limit 1;
    last := case when next_at < before then passed_last else old_last end;
    select m.seq, m.video_id into uncounted, late
      from ${oldest} m
      join room r on r.video_id = m.video_id
      left join tally t on t.video_id = r.video_id and t.born = r.base - r.shift
      where m.seq <= last and m.cursor > coalesce(t.cursor, r.floor - r.shift) order by m.seq limit 1;
    last := least(last, uncounted - 1);
    with deleted as (delete from message m where seq <= last and seq > begun and ${messages.are} returning video_id, cursor),
      raised as (
        update room r set floor = greatest(r.floor, d.last + r.shift)
        from (select video_id, max(cursor) as last from deleted group by 1) d where r.video_id = d.video_id
      )
    select count(*) into old from deleted;
    return query select most - places + old, late;
  end $$;`;
}

const ENDED_BEFORE = "final_at < before";
const LAST_STORED_BEFORE = `not exists (select from message m
          where m.video_id = r.video_id and m.cursor = r.head - r.shift and m.at >= before)`;

const READ_BEFORE = "r.checkpoint_at < before";
const NOT_KEPT_BY_LAST = `not r.is_kept and ${ENDED_BEFORE} and ${LAST_STORED_BEFORE}`;

export const PRUNING = pruning("create function", ENDED_BEFORE, "gone");

function oldestPruning(given: "gone room" | "v text"): string {
  const isNamed = given === "v text";
  return `create or replace function relay_prune_oldest(${given}, stay bigint, most int) returns int language plpgsql as $$
  declare
    counted bigint;
    deleted int;
    last bigint;
    ${isNamed ? "gone room;" : ""}
  begin
    ${isNamed ? "select * into gone from room where video_id = v;" : ""}
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
    update room set floor = greatest(floor, last + gone.shift) where video_id = gone.video_id and deleted > 0;
    return deleted;
  end $$;`;
}

/** What a recording may name of the room `r`: its video, whichever of its chats the room is. */
export const VIDEO_OF_ROOM = `replace(r.video_id, '${REPLAY_SUFFIX}', '')`;

/** Which rooms have not just ended, of the room `r`. */
interface EndedRooms {
  /** The function's name, and its parameters for the time. */
  name: string;
  time: string;
  /** Further variables. */
  declared: string;
  endedAt: string;
  areOver: string;
}

const BEFORE: EndedRooms = {
  name: "relay_prune_room",
  time: "before timestamptz",
  declared: "",
  endedAt: "r.final_at",
  areOver: "r.final_at < before",
};

/** A room ends no earlier than its last message was stored, as the clock may be in the past. */
const LAST_AT = `(select greatest(r.final_at, max(m.at)) from message m
          where r.final_at is not null and m.video_id = r.video_id and m.cursor = r.head - r.shift)`;
const NOT_AROUND: EndedRooms = {
  name: "relay_prune_room_2",
  time: "moment timestamptz, kept interval",
  declared: "before timestamptz := moment - kept;",
  endedAt: LAST_AT,
  areOver: `${LAST_AT} not between before and moment + kept`,
};

/** `video`: what of the room `r` a recording may name. */
export function roomPruning(create: string, video: string, room = "gone", ended = BEFORE): string {
  return `${create} ${ended.name}(recorded text[], ${ended.time}, most int)
  returns table (entries int, behind text) language plpgsql as $$
  #variable_conflict use_column
  declare
    ${ended.declared}
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
          else ${ended.areOver} and r.lease_until < clock_timestamp() end
      order by ${video} = any(names) or coalesce(string_to_array(r.channels, ' ') && names, false),
        ${ended.endedAt} nulls last, r.base
      limit 1 for update;
    if not found then
      return query select 0, null::text;
      return;
    end if;
    select min(o.cursor) into stay
      from (select cursor, at from message where video_id = gone.video_id order by cursor limit most) o
      where gone.final_at is null and o.at >= before;
    pruned := relay_prune_oldest(${room}, stay, most);
    if pruned = 0 then
      return query select 0, gone.video_id;
      return;
    end if;
    perform pg_stat_force_next_flush(); -- the next look at the size must know of it
    return query select pruned, null::text;
  end $$;`;
}

/**
 * For `SizeLimited.pruneRooms`. `relay_prune_oldest`, which `relay_prune` calls, too, deletes the room's
 * oldest messages before the cursor `stay`, and a final room without messages. It returns how many entries
 * that were, or 0 if the oldest message is not counted yet.
 */
export const ROOM_PRUNING = `${oldestPruning("gone room")}
  ${roomPruning("create or replace function", "r.video_id")}`;

/**
 * A room that ended while the clock was in the past stays as long as its last message, whose time is later.
 * No function has a row of a table as a parameter: it would keep `pg_restore --clean` from dropping the
 * table.
 */
export const PRUNING_BY_LAST = `${oldestPruning("v text")}
  ${pruning("create or replace function", `${ENDED_BEFORE} and ${LAST_STORED_BEFORE}`, "gone.video_id")}
  ${roomPruning("create or replace function", VIDEO_OF_ROOM, "gone.video_id")}
  drop function if exists relay_prune_oldest(room, bigint, int);`;

/**
 * The retention leaves out rooms that are kept. Messages that such a room has in one run of the order of
 * commits are passed at once, by a binary search of their last one.
 */
export const KEEPING = `alter table room add column is_kept boolean not null default false;
  update room set is_kept = true where ${isImported("strpos")};
  create or replace function relay_first_unkept() returns bigint language plpgsql as $$
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
  end $$;
  ${pruning("create or replace function", NOT_KEPT_BY_LAST, "gone.video_id", NOT_KEPT)}
  ${roomPruning("create or replace function", VIDEO_OF_ROOM, "gone.video_id", NOT_AROUND)}`;

/** A room without messages that ended while the clock was in the past stays as long as it was read. */
export const PRUNING_BY_READ = pruning(
  "create or replace function",
  `${NOT_KEPT_BY_LAST} and ${READ_BEFORE}`,
  "gone.video_id",
  NOT_KEPT,
);
