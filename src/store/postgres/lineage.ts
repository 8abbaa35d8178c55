/**
 * The lineage of the database: the server's position in its history. After a failover, on another server, or
 * from a backup, the store may lack cursors that instances have sent. Then all rooms, with their messages,
 * move to cursors that no client can hold.
 */
import { StoreError } from "../store-error.ts";
import type { Database } from "./pools.ts";
import { HALF_RESTORED } from "./postgres-error.ts";
import { LINEAGE, OLDEST_VERSION, SCHEMA_VERSION } from "./postgres-schema.ts";
import { SQL } from "./postgres-tables.ts";

/** The move writes one row per room: a million rooms take a few seconds. */
const MOVE_LIMIT_MS = 600_000;

/** Recreates the row of `store` after the tables were emptied. */
const REFOUND = `insert into store (schema_version, oldest_version, generation, lineage)
  values (${SCHEMA_VERSION}, ${OLDEST_VERSION}, floor(extract(epoch from clock_timestamp()) * 1000), ${LINEAGE}) on conflict do nothing`;

/** A room that lacks its newest message. */
const HALF = `select from room r where checkpoint is not null and head > floor
  and not exists (select from message m where m.video_id = r.video_id and m.cursor = r.head - r.shift) limit 1`;

/**
 * Records the server's lineage. Moves all rooms if the lineage has changed, unless they are kept (a failover
 * that loses nothing), and if the store was restored. Resolves to the number of moved rooms. Rejects with the
 * errors of PostgreSQL, and with `StoreError` if the store was restored in part.
 */
export function adoptLineage(
  connections: Database,
  { isRestored, isKept }: { isRestored: boolean; isKept: boolean },
): Promise<number> {
  return connections.alone(async (client) => {
    if (isRestored && (await client.query(HALF)).rowCount)
      throw new StoreError("unavailable", `${connections.place} ${HALF_RESTORED}`);
    await client.query(`set statement_timeout = ${MOVE_LIMIT_MS}`);
    await client.query(REFOUND);
    const move = { text: SQL.move, values: [isRestored, isKept], query_timeout: MOVE_LIMIT_MS };
    const { rows } = await client.query<{ rooms: number }>(move);
    return rows[0]?.rooms ?? 0;
  });
}
