/** Looks at a database without changing it, in a read-only transaction, also while instances use it. */
import { Client } from "pg";
import type { StoreSummary } from "../store-summary.ts";
import { cannotOpen, fromUrl } from "./open-postgres.ts";
import { APPLICATION, clientConfig, placeOf } from "./pools.ts";
import { SCHEMA_VERSION, usableSchema } from "./postgres-schema.ts";

const SIZE = `select pg_database_size(current_database()) as bytes, exists (select from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name = '${APPLICATION}') as "isInUse"`;
const ROOMS = "select count(*) as rooms from room";

/** Rejects with `StoreError` "unavailable", whose message is one line without a password. */
export async function inspectDatabase(url: string): Promise<StoreSummary> {
  const config = fromUrl(() => clientConfig(url));
  const place = fromUrl(() => placeOf(config));
  const client = new Client({ ...config, application_name: `${APPLICATION} check` });
  client.on("error", () => {}); // the running statement rejects
  try {
    await client.connect();
    await client.query("begin read only");
    const schema = await usableSchema(client, "refused");
    const { bytes = 0, isInUse = false } = (await client.query(SIZE)).rows[0] ?? {};
    const { rooms = 0 } = schema > 0 ? ((await client.query(ROOMS)).rows[0] ?? {}) : {};
    return {
      place,
      schema: schema > 0 ? schema : undefined,
      known: SCHEMA_VERSION,
      rooms: Number(rooms),
      bytes: Number(bytes),
      freeBytes: undefined,
      isInUse,
      isForeign: false,
    };
  } catch (error) {
    throw cannotOpen(error, place);
  } finally {
    await client.end().catch(() => {});
  }
}
