/**
 * A PostgreSQL server for tests: the one that RELAY_TEST_POSTGRES names, or a throw-away one. Where there is neither,
 * `skip` says so.
 */
import { randomBytes } from "node:crypto";
import { after, type TestContext } from "node:test";
import { installedPostgres, type Postgres, run, startPostgres } from "../../chaos/cluster/postgres.ts";

/** A server whose URL names a database that tests may fill; only what is ours can be stopped. */
export type PostgresServer = Pick<Postgres, "url"> & Partial<Postgres>;

type Found = { skip: string; server?: undefined } | { skip: false; server: PostgresServer };

/** To be called at the top of a test file; the server goes with the file's tests. */
export async function testPostgres(): Promise<Found> {
  const url = process.env.RELAY_TEST_POSTGRES;
  if (url) return { skip: false, server: { url } };
  const installed = installedPostgres();
  if (typeof installed === "string") return { skip: `${installed}, and RELAY_TEST_POSTGRES is not set` };
  const server = await startPostgres(installed);
  after(() => server.remove());
  return { skip: false, server };
}

/** The URL of a schema of its own, which goes with the test. `schema`: its name as SQL writes it. */
export async function ownSchema(
  t: TestContext,
  { url }: PostgresServer,
  schema = `relay_${randomBytes(6).toString("hex")}`,
): Promise<string> {
  await run(url, `create schema ${schema}`);
  t.after(() => run(url, `drop schema ${schema} cascade`).catch(() => {}));
  return withSearchPath(url, schema);
}

/** A schema of its own whose time stands where the test sets it, in wall milliseconds. */
export async function ownSchemaAndTime(t: TestContext, server: PostgresServer) {
  const schema = `relay_${randomBytes(6).toString("hex")}`;
  await ownSchema(t, server, schema);
  // The schema comes first: so its clock is found before PostgreSQL's.
  const url = withSearchPath(server.url, `${schema},pg_catalog`);
  await run(url, "create table wall (at timestamptz not null)");
  await run(url, "insert into wall values ('epoch')");
  await run(
    url,
    "create function clock_timestamp() returns timestamptz language sql volatile as 'select at from wall'",
  );
  const setTime = async (ms: number) => {
    await run(url, "update wall set at = 'epoch'::timestamptz + $1::float8 * interval '1 ms'", [ms]);
  };
  return { url, setTime };
}

export function withSearchPath(url: string, path: string): string {
  const option = `-c search_path=${path.replaceAll(" ", "\\ ")}`;
  return `${url}${url.includes("?") ? "&" : "?"}options=${encodeURIComponent(option)}`;
}
