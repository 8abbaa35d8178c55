/** The engine's statements, and the rows they bring, in the port's terms. Times are the database's unless one is given. */
import type { RoomEnd } from "../../protocol/chat.ts";
import type { Claim, RoomRecord, RoomSummary } from "../port.ts";
import type { StoredMessage } from "../stored-message.ts";
import { fromColumn } from "./text.ts";

/** The time in parameter $n, in milliseconds since 1970; the database's own where that is null. */
const moment = (n: number) => `coalesce(to_timestamp($${n}::float8 / 1000), clock_timestamp())`;
export const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;
const span = (n: number) => `$${n}::float8 * interval '1 ms'`;

/** A room as it stands: open, where it was claimed since its end. */
const ROOM = `r.video_id, r.epoch, r.base, r.floor, r.head, r.checkpoint, ${ms("r.checkpoint_at")} as checkpoint_at,
  case when r.claimed_at is null then r.detail end as detail,
  case when r.claimed_at is null then ${ms("r.final_at")} end as final_at`;

const MESSAGE = "cursor, id, body, details";

export const SQL = {
  // A newborn's epoch comes from the clock as its cursors do: it is above every epoch of a room of that name that was
  // pruned, or lost with its store, so no claim of that time can pass for a new one.
  claim: `insert into room as r (video_id, base, floor, head, state, owner, epoch, lease_until, claimed_at)
    select $1, ${ms("at")}, ${ms("at")}, ${ms("at")}, 'bootstrapping', $2, ${ms("at")} + 1,
      clock_timestamp() + ${span(3)}, at
    from (select ${moment(4)} as at) born
    on conflict (video_id) do update set owner = $2, epoch = r.epoch + 1, claimed_at = excluded.claimed_at,
      lease_until = excluded.lease_until,
      state = case when r.final_at is null and r.checkpoint is not null then r.state else 'bootstrapping' end
    where r.owner = $2 or r.lease_until <= clock_timestamp()
    returning ${ROOM}, r.detail as last_detail`,
  // Never one that has ended: whoever takes a room over goes on with what is open.
  takeOver: `update room r set owner = $2, epoch = r.epoch + 1, lease_until = clock_timestamp() + ${span(3)}
    where r.video_id = $1 and r.final_at is null and r.checkpoint is not null
      and (r.owner = $2 or r.lease_until <= clock_timestamp())
    returning ${ROOM}, null as last_detail`,
  append: `select * from relay_append_1($1, $2, $3, $4, $5, $6, $7, $8, ${moment(9)}, ${span(10)})`,
  appendAndOverwrite: `with done as (
      select * from relay_append_1($1, $2, $3, $4, $5, $6, $7, $8, ${moment(9)}, ${span(10)})
    ), over as (
      update message m set body = o.body, details = o.details
      from unnest($11::text[], $12::text[], $13::text[]) as o (id, body, details), done
      where done.added is not null and m.video_id = $1 and m.id = o.id
    )
    select * from done`,
  finish: `select * from relay_finish_1($1, $2, $3, $4, $5, ${moment(6)})`,
  abandon: "select * from relay_abandon_1($1, $2)",
  read: `select ${MESSAGE} from message
    where video_id = $1 and cursor > greatest($2, (select floor from room where video_id = $1))
    order by cursor limit $3`,
  messagesById: `select ${MESSAGE} from message m where m.video_id = $1 and m.id = any($2)
    and m.cursor > (select floor from room where video_id = $1)`,
  byIdPrefix: `select ${MESSAGE} from message where video_id = $1 and id >= $2 and id < $2 || chr(1114111)
    and cursor > (select floor from room where video_id = $1)`,
  // All messages of the room are looked at: an index by authors would cost every append.
  byText: `select ${MESSAGE} from message where video_id = $1 and strpos(details, $2) > 0
    and cursor > (select floor from room where video_id = $1)`,
  room: `select ${ROOM} from room r where video_id = $1`,
  roomAndOwner: `select ${ROOM}, r.state = 'bootstrapping' as is_opening, r.lease_until > clock_timestamp() as is_owned
    from room r where video_id = $1`,
  unfinishedRooms: `select ${ROOM} from room r where final_at is null and checkpoint_at >= to_timestamp($1::float8 / 1000)`,
  listRooms: `select r.video_id, r.floor, r.head, case when r.claimed_at is null then r.detail end as detail,
      ${ms("r.checkpoint_at")} as read_at,
      (select ${ms("at")} from message where video_id = r.video_id and cursor = r.floor + 1) as first_at,
      (select ${ms("at")} from message where video_id = r.video_id and cursor = r.head) as last_at,
      (select count(*) from message where video_id = r.video_id and id >= 'gap:' and id < 'gap;') as gaps
    from room r where checkpoint_at is not null order by checkpoint_at desc limit $1`,
  prune: `select relay_prune_1(to_timestamp($1::float8 / 1000), $2, ${moment(3)}) as entries`,
  move: `select relay_move_1(${ms(moment(1))}) as rooms`,
  touch: "update store set one = one",
  size: "select sum(pg_total_relation_size(name))::bigint as bytes from unnest('{room,message}'::regclass[]) name",
} as const;

export interface RoomRow {
  video_id: string;
  epoch: number;
  base: number;
  floor: number;
  head: number;
  checkpoint: string | null;
  checkpoint_at: number | null;
  detail: string | null;
  final_at: number | null;
}

export interface ClaimedRow extends RoomRow {
  last_detail: string | null;
}

export function toRecord(row: RoomRow): RoomRecord & Claim {
  const { video_id: videoId, epoch, base, floor, head, checkpoint } = row;
  return {
    videoId,
    epoch,
    base,
    floor,
    head,
    checkpoint: checkpoint === null ? null : fromColumn(checkpoint),
    checkpointAt: row.checkpoint_at,
    end: toEnd(row.detail),
    endedAt: row.final_at,
  };
}

export interface SummaryRow extends Pick<RoomRow, "video_id" | "floor" | "head" | "detail"> {
  read_at: number | null;
  first_at: number | null;
  last_at: number | null;
  gaps: number;
}

export function toSummary(row: SummaryRow): RoomSummary {
  const { video_id: videoId, floor, head, gaps } = row;
  const times = { readAt: row.read_at, firstAt: row.first_at, lastAt: row.last_at };
  return { videoId, floor, head, end: toEnd(row.detail), ...times, gaps };
}

export function toEnd(detail: string | null): RoomEnd | null {
  return detail === null ? null : (JSON.parse(detail) as RoomEnd);
}

export function toMessage({ cursor, id, body, details }: StoredMessage): StoredMessage {
  return { id: fromColumn(id), body: fromColumn(body), details: fromColumn(details), cursor };
}

/** What a fenced write found: the room as it stands. */
export interface FenceRow {
  epoch: number;
  head: number;
  is_final: boolean;
}
