/** The content of the tables: each room's messages by their cursors in the table. */
import { run } from "./postgres.ts";

export interface RoomTable {
  base: number;
  head: number;
  /** The difference between viewers' cursors and those in the table. */
  shift: number;
  ids: ReadonlyMap<number, string>;
}

export type Tables = ReadonlyMap<string, RoomTable>;

/** A schema without the column `shift` has none. */
const ROOMS = `select video_id, base::float8, head::float8,
    coalesce((to_jsonb(r) ->> 'shift')::float8, 0) as shift
  from room r order by 1`;
const MESSAGES = "select video_id, cursor::float8, id from message order by 1, 2";

export async function readTables(url: string): Promise<Tables> {
  const rooms = await run<{ video_id: string; base: number; head: number; shift: number }>(url, ROOMS);
  const messages = await run<{ video_id: string; cursor: number; id: string }>(url, MESSAGES);
  const byRoom = Map.groupBy(messages, ({ video_id }) => video_id);
  return new Map(
    rooms.map(({ video_id: videoId, base, head, shift }) => {
      const rows = byRoom.get(videoId) ?? [];
      return [videoId, { base, head, shift, ids: new Map(rows.map(({ cursor, id }) => [cursor, id])) }];
    }),
  );
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
