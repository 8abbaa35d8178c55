/** The content of the tables: each room's messages by their cursors in the table. */
import { run } from "./postgres.ts";
import { GRACE_MS } from "./setup.ts";

export interface RoomTable {
  base: number;
  head: number;
  /** The difference between viewers' cursors and those in the table. */
  shift: number;
  ids: ReadonlyMap<number, string>;
  /** How long each gap lasts by its own account, in milliseconds, by the id of its message. */
  gapsMs: ReadonlyMap<string, number>;
}

export type Tables = ReadonlyMap<string, RoomTable>;

/** One statement, so that a room and its messages are of the same moment. */
const TABLES = `select r.video_id, r.base::float8, r.head::float8, r.shift::float8, m.cursor::float8, m.id,
    case when starts_with(m.id, 'gap:') then m.details end gap
  from room r left join message m on m.video_id = r.video_id order by r.video_id, m.cursor`;

interface Row extends Omit<RoomTable, "ids" | "gapsMs"> {
  video_id: string;
  /** Null if the room has no message. */
  cursor: number | null;
  id: string;
  /** The details of a message that marks a gap, as JSON; null for any other. */
  gap: string | null;
}

export async function readTables(url: string): Promise<Tables> {
  const byRoom = Map.groupBy(await run<Row>(url, TABLES), ({ video_id }) => video_id);
  return new Map(
    [...byRoom].map(([videoId, rows]) => {
      const { base = 0, head = 0, shift = 0 } = rows[0] ?? {};
      const ids = new Map(rows.flatMap(({ cursor, id }) => (cursor === null ? [] : [[cursor, id]])));
      const gapsMs = new Map(rows.flatMap(({ id, gap }) => (gap === null ? [] : [[id, lengthMs(gap)]])));
      return [videoId, { base, head, shift, ids, gapsMs }];
    }),
  );
}

/** Two instances with different clocks may have noted the two times, the later one first. */
function lengthMs(details: string): number {
  const { since, until } = JSON.parse(details).gap;
  return Math.abs(Date.parse(until) - Date.parse(since));
}

/**
 * Whether the room was released, or has not been read for the grace time and is read by nobody, which is the
 * same for viewers who come later; false while the database does not answer. The room of an instance that was
 * killed still names it as the owner, after the end of its lease.
 */
export function isReleased(url: string, videoId: string): Promise<boolean> {
  const text = `select from room where video_id = $1 and (state = 'released'
    or lease_until <= clock_timestamp() and checkpoint_at < clock_timestamp() - interval '${GRACE_MS} ms')`;
  return finds(url, text, [videoId]);
}

/** Whether the message is stored; false while the database does not answer. */
export function holds(url: string, videoId: string, id: string): Promise<boolean> {
  return finds(url, "select from message where video_id = $1 and id = $2", [videoId, id]);
}

async function finds(url: string, text: string, values: string[]): Promise<boolean> {
  return (await run(url, text, values).catch(() => [])).length > 0;
}

/** Whether the tables hold the last message of this chat. */
export function isStored(tables: Tables, videoId: string, said: readonly string[]): boolean {
  return [...(tables.get(videoId)?.ids.values() ?? [])].at(-1) === said.at(-1);
}

/**
 * Makes the database itself record each owner that was overtaken during a valid lease, and every change of
 * owner.
 */
export async function watchLeases(url: string): Promise<void> {
  await run(
    url,
    `create table claims (video_id text, is_stolen boolean);
     create function note_claim() returns trigger language plpgsql as $$ begin
       insert into claims values
         (new.video_id, coalesce(old.owner <> new.owner and old.lease_until > clock_timestamp(), false));
       return null;
     end $$;
     create trigger note_claim after update on room for each row
       when (new.owner is not null and new.owner is distinct from old.owner) execute function note_claim();`,
  );
}

export async function claimsNoted(url: string): Promise<{ video_id: string; is_stolen: boolean }[]> {
  return await run(url, "select video_id, is_stolen from claims");
}
