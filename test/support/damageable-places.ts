/** Stores on a disk whose rows a test damages behind the service's back. */
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { run } from "../chaos/cluster/postgres.ts";
import { ownSchema, type PostgresServer } from "./postgres-server.ts";
import { temporaryFile } from "./store-subject.ts";

interface DamageablePlace {
  url: string;
  write(sql: string): Promise<unknown>;
}

interface Kind {
  skip: string | false;
  make(t: TestContext): Promise<DamageablePlace>;
}

/** `found`: the server of the test file, if there is one. */
export function damageablePlaces({
  skip,
  server,
}: {
  skip: string | false;
  server?: PostgresServer | undefined;
}) {
  return {
    SQLite: { skip: false, make: damageableFile },
    PostgreSQL: {
      skip,
      make: async (t) => {
        const url = await ownSchema(t, server as PostgresServer);
        return { url, write: (sql) => run(url, sql) };
      },
    },
  } satisfies Record<string, Kind>;
}

export async function damageableFile(t: TestContext): Promise<DamageablePlace> {
  const path = await temporaryFile(t);
  const write = async (sql: string) => {
    using database = new DatabaseSync(path);
    database.exec(sql);
  };
  return { url: `sqlite:${path}`, write };
}
