/** Stores on a disk whose rows a test damages behind the service's back. */
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { run } from "../chaos/cluster/postgres.ts";
import { ownSchema, type PostgresServer } from "./postgres-server.ts";
import { temporaryFile } from "./store-subject.ts";

export interface DamageablePlace {
  url: string;
  write(sql: string): Promise<unknown>;
}

export async function damageableSchema(t: TestContext, server: PostgresServer): Promise<DamageablePlace> {
  const url = await ownSchema(t, server);
  return { url, write: (sql) => run(url, sql) };
}

export async function damageableFile(t: TestContext): Promise<DamageablePlace> {
  const path = await temporaryFile(t);
  const write = async (sql: string) => {
    using database = new DatabaseSync(path);
    database.exec(sql);
  };
  return { url: `sqlite:${path}`, write };
}
