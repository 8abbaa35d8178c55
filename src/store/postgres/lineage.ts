/**
 * Where the server stands in its history. After a failover, on another server, or from a backup, what instances were
 * given may be lost: then all rooms move to cursors that nobody can hold, with what they hold.
 */
import type { Database } from "./connections.ts";
import { LINEAGE, OLDEST_VERSION, SCHEMA_VERSION } from "./schema.ts";
import { SQL } from "./tables.ts";

/** A row is written for each room: a million take some seconds. */
const MOVE_LIMIT_MS = 600_000;

/** After the store was emptied. */
const REFOUND = `insert into store (schema_version, oldest_version, generation, lineage)
  values (${SCHEMA_VERSION}, ${OLDEST_VERSION}, floor(extract(epoch from clock_timestamp()) * 1000), ${LINEAGE}) on conflict do nothing`;

/**
 * Takes up the server's lineage. Rooms move where it was another, unless they are kept (a failover that loses nothing),
 * and where the store was restored. Resolves to the number of rooms moved. Rejects with what PostgreSQL throws.
 */
export function adoptLineage(
  connections: Database,
  { isRestored, isKept }: { isRestored: boolean; isKept: boolean },
): Promise<number> {
  return connections.alone(async (client) => {
    await client.query(`set statement_timeout = ${MOVE_LIMIT_MS}`);
    await client.query(REFOUND);
    const move = { text: SQL.move, values: [isRestored, isKept], query_timeout: MOVE_LIMIT_MS };
    const { rows } = await client.query<{ rooms: number }>(move);
    return rows[0]?.rooms ?? 0;
  });
}
