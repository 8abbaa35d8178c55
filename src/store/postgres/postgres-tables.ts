/**
 * The statements on rooms and messages, and the conversion of their rows for the port. Times and ages are the
 * database's.
 */
import type { RoomRecord, RoomSummary } from "../port.ts";
import type { EncodedMessage } from "../stored-message.ts";
import { type OnUnreadable, withEnd } from "../strict-rows.ts";
import { fromColumn } from "./column-text.ts";
import { IS_RARE, LINEAGE, TYPE } from "./postgres-schema.ts";

export const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;
const ago = (column: string) => `(extract(epoch from clock_timestamp() - ${column}) * 1000)::float8`;

const ROOM = `r.video_id as key, r.base, r.floor, r.head, r.checkpoint, ${ago("r.checkpoint_at")} as "readAgoMs",
  r.detail as "end", ${ago("r.final_at")} as "endedAgoMs", r.video`;

/**
 * A value of room $1 as a subquery: computed once per statement, so the planner still uses the messages'
 * index.
 */
const ofRoom = (value: string) => `(select ${value} from room where video_id = $1)`;
const MESSAGE = `cursor + ${ofRoom("shift")} as cursor, id, body, details, ${ms("at")} as "storedAt"`;
const KEPT = `from message where video_id = $1 and cursor > ${ofRoom("floor - shift")}`;

/** What a message takes in the three indexes that find it, in bytes. */
const INDEXED_BYTES = 200;

/** A lease this far ahead was set before the database's clock was set back, and would last too long. */
export const FAR_AHEAD = "lease_until > clock_timestamp() + interval '1 hour'";

/** A `RoomSummary` of the room `r`. */
export const SUMMARY = `r.video_id as key, r.floor, r.head, r.detail as "end", ${ago("r.checkpoint_at")} as "readAgoMs",
  (select ${ms("at")} from message where video_id = r.video_id and cursor = r.floor - r.shift + 1) as "firstAt",
  (select ${ms("at")} from message where video_id = r.video_id and cursor = r.head - r.shift) as "lastAt",
  r.is_kept as "isKept", r.video,
  (select count(*) from message where video_id = r.video_id and id >= 'gap:' and id < 'gap;') as gaps`;

/**
 * The messages of the types $2 after $3 up to $4, at most $5. Takes at most $5 of each type from the index,
 * then the first or last $5 of these.
 */
const ofTypes = (order: "asc" | "desc") => {
  const most = `order by cursor ${order} limit $5`;
  return `select ${MESSAGE} from message where video_id = $1 and cursor in (
      select cursor from unnest($2::text[]) as wanted (type), lateral (
        select cursor from message
        where video_id = $1 and ${IS_RARE} and ${TYPE} = wanted.type
          and cursor > ${ofRoom("greatest($3, floor) - shift")} and cursor <= ${ofRoom("$4 - shift")} ${most}
      ) found ${most}
    ) order by message.cursor`;
};

/**
 * A binary search for the place of the time $2: one look at the index of the primary key per step. `low` and
 * `high` are as in `last-before.ts`.
 */
const placeBefore = (time: string) =>
  `with recursive search (low, high) as (
      select floor - shift, head - shift from room where video_id = $1 and checkpoint is not null
      union all
      select case when is_before then middle else low end, case when is_before then high else middle - 1 end
      from (select low, high, (low + high + 1) / 2 as middle from search where low < high) step,
        lateral (select coalesce(${time} < $2, true) as is_before from message where video_id = $1 and cursor = middle) look
    )
    select low + ${ofRoom("shift")} as cursor from search where low = high`;

const APPEND = `select * from relay_append_3($1, $2, $3, $4, $5, $6, $7, $8::float8 * interval '1 ms',
  to_timestamp($9::float8 / 1000), $10, $11, $12, $13)`;

export const SQL = {
  // See `Ownership.take`. $4: the video's other chat. If the server or its history has changed, nothing is
  // taken until the rooms have moved.
  take: `with here as (select lineage = ${LINEAGE} as is_same from store), taken as (
      insert into room as r (video_id, base, floor, head, state, owner, epoch, lease_until)
      select $1, born, born, born, 'bootstrapping', $2, at + 1, clock_timestamp() + $3::float8 * interval '1 ms'
      from here, (select at, greatest(at, (select head + 1 from room where video_id = $4)) as born
        from (select ${ms("clock_timestamp()")} as at) clock) birth where is_same
      on conflict (video_id) do update set owner = $2, epoch = r.epoch + 1, lease_until = excluded.lease_until
      where r.owner = $2 or r.lease_until <= clock_timestamp()
        or r.${FAR_AHEAD}
      returning ${ROOM}, r.epoch
    )
    select is_same, ${ms("clock_timestamp()")} as now, taken.* from here left join taken on true`,
  // Deletes a room that was never read; in any other room, it changes only owner, epoch and lease.
  giveBack: `with mine as (select * from unnest($1::text[], $2::bigint[]) as mine (video_id, epoch)), gone as (
      delete from room r using mine
      where r.video_id = mine.video_id and r.epoch = mine.epoch and r.owner is not null and r.checkpoint is null
    )
    update room r set owner = null, epoch = r.epoch + 1, lease_until = 'epoch' from mine
    where r.video_id = mine.video_id and r.epoch = mine.epoch and r.owner is not null and r.checkpoint is not null
    returning r.video_id, r.final_at is null as is_open`,
  renew: `update room r set lease_until = clock_timestamp() + $3::float8 * interval '1 ms'
    from unnest($1::text[], $2::bigint[]) as mine (video_id, epoch)
    where r.video_id = mine.video_id and r.epoch = mine.epoch and r.owner is not null
    returning r.video_id, ${ms("clock_timestamp()")} as now`,
  append: APPEND,
  appendAndOverwrite: `with done as (
      ${APPEND}
    ), over as (
      update message m set body = o.body, details = o.details
      from unnest($14::text[], $15::text[], $16::text[]) as o (id, body, details), done
      where done.added is not null and m.video_id = $1 and m.id = o.id
    )
    select * from done`,
  finish: "select * from relay_finish($1, $2, $3, $4)",
  read: `select ${MESSAGE} from message
    where video_id = $1 and cursor > ${ofRoom("greatest($2, floor) - shift")} order by message.cursor limit $3`,
  firstOfTypes: ofTypes("asc"),
  lastOfTypes: ofTypes("desc"),
  cursorAt: placeBefore(ms("at")),
  cursorSaid: placeBefore("said"),
  cursorOffset: placeBefore("offset_ms"),
  messagesById: `select ${MESSAGE} ${KEPT} and id = any($2)`,
  byIdPrefix: `select ${MESSAGE} ${KEPT} and id >= $2 and id < $2 || chr(1114111)`,
  // Examines all messages after $3 up to $4.
  byText: `select ${MESSAGE} ${KEPT} and cursor > ${ofRoom("$3 - shift")} and cursor <= ${ofRoom("$4 - shift")}
    and strpos(details, $2) > 0`,
  room: `select ${ROOM} from room r where video_id = $1 and checkpoint is not null`,
  channels: "select channels from room where video_id = $1",
  setChannels: "update room set channels = $2 where video_id = $1 and channels is distinct from $2",
  hasChannel: `select 1 from room
    where $1 = any (string_to_array(channels, ' ')) or strpos(video, $2) > 0 limit 1`,
  setVideo: "update room set video = $2 where video_id = $1",
  keep: "update room set is_kept = true where video_id = $1 and not is_kept",
  getFeatured: `select featured_id as "messageId", featured_at as at from room
    where video_id = $1 and featured_id is not null`,
  setFeatured: `update room set featured_id = $2::text,
      featured_at = case when $2::text is not null then ${ms("clock_timestamp()")} end
    where video_id = $1 and coalesce(featured_id, $2::text) is not null`,
  listRooms: `select ${SUMMARY} from room r where checkpoint is not null order by checkpoint_at desc limit $1`,
  age: `select ${ms("clock_timestamp()")} as now, ${ms("least(first, ended)")} as "oldestAt"
    from (select (select at from message where seq = relay_first_unkept()) as first,
      (select min(final_at) from room where not is_kept) as ended) pruned`,
  prune: `select * from relay_prune(case when $1::float8 < 'Infinity'
    then coalesce(to_timestamp($3::float8 / 1000), clock_timestamp()) - $1 * interval '1 ms' else '-infinity' end, $2)`,
  pruneRoom: `select * from relay_prune_room_2($1, greatest(clock_timestamp(), to_timestamp($4::float8 / 1000)),
    $2::float8 * interval '1 ms', $3)`,
  // The files do not shrink, so the rows that are there are counted, as statistics know them, and the newest
  // ones measured.
  used: `select coalesce(sum(n_live_tup), 0)::float8 * (
      select coalesce(avg(pg_column_size(m)), 0)::float8 + ${INDEXED_BYTES}
      from (select * from message order by seq desc limit 1000) m
    ) as bytes from pg_stat_user_tables where relid = 'message'::regclass`,
  move: `select relay_move(${LINEAGE}, $1, $2) as rooms`,
  touch: "update store set one = one",
  size: "select sum(pg_total_relation_size(name))::bigint as bytes from unnest('{room,message}'::regclass[]) name",
} as const;

export type RoomRow = Omit<RoomRecord, "end"> & { end: string | null };
export type SummaryRow = Omit<RoomSummary, "end"> & { end: string | null };

/** The result of `take`; all columns except `is_same` and `now` are null if the room was not taken. */
export type TakenRow = { is_same: boolean; now: number } & (
  | { epoch: null }
  | (Omit<RoomRow, "checkpoint"> & { epoch: number; checkpoint: string | null })
);

export function toRecord(row: RoomRow, onUnreadable: OnUnreadable): RoomRecord {
  return { ...withEnd(row, onUnreadable), checkpoint: fromColumn(row.checkpoint) };
}

export function toMessage<Row extends EncodedMessage>(row: Row): Row {
  const { id, body, details } = row;
  return { ...row, id: fromColumn(id), body: fromColumn(body), details: fromColumn(details) };
}

/** The room's current state, which a fenced write returns. */
export interface FenceRow {
  epoch: number;
  head: number;
}
