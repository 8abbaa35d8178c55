/**
 * PostgreSQL for tests: a database on the server that RELAY_TEST_POSTGRES names (the user's, or that of the
 * run), or else on a throw-away one.
 */
import { randomBytes } from "node:crypto";
import { after, type TestContext } from "node:test";
import { Client } from "pg";
import { installedPostgres, type Postgres, run, startPostgres } from "../chaos/cluster/postgres.ts";
import { missingBut } from "./needs.ts";

export type PostgresServer = Pick<Postgres, "url">;

/** For RELAY_STORE_LISTEN_URL: nobody listens there, so no notification arrives. */
export const UNHEARD = "postgres://nobody@127.0.0.1:1/none";

type Found = { skip: string; server?: undefined } | { skip: false; server: PostgresServer };

/** To be called at the top of a test file, whose database goes with its tests. */
export async function testPostgres(): Promise<Found> {
  const { RELAY_TEST_POSTGRES: shared } = process.env;
  if (shared) return { skip: false, server: { url: await ownDatabase(shared) } };
  const skip = noOwnPostgres();
  if (skip) return { skip };
  const server = await startInstalled();
  after(() => server.remove());
  return { skip: false, server };
}

/** Why a test cannot have a server of its own; false if it can. */
export function noOwnPostgres(): string | false {
  return typeof installedPostgres() === "string" && missingBut("PostgreSQL", "apt-get install postgresql");
}

/** A server that a test may stop, and that goes with it. */
export async function ownPostgres(t: TestContext): Promise<Postgres> {
  const server = await startInstalled();
  t.after(() => server.remove());
  return server;
}

/** Rejects if none is installed. */
export async function startInstalled(): Promise<Postgres> {
  const installed = installedPostgres();
  if (typeof installed === "string") throw new Error(installed);
  return startPostgres(installed);
}

/** So that files that run at once do not hear each other's notifications, or wait for each other's locks. */
async function ownDatabase(shared: string): Promise<string> {
  const name = uniqueName();
  await run(shared, `create database ${name}`);
  after(() => run(shared, `drop database ${name} with (force)`));
  const url = new URL(shared);
  url.pathname = name;
  return url.href;
}

function uniqueName(): string {
  return `relay_${randomBytes(6).toString("hex")}`;
}

/** The URL of a schema of its own, which goes with the test. `schema`: its name as SQL writes it. */
export async function ownSchema(
  t: TestContext,
  { url }: PostgresServer,
  schema = uniqueName(),
): Promise<string> {
  await run(url, `create schema ${schema}`);
  t.after(() => run(url, `drop schema ${schema} cascade`).catch(() => {}));
  return withSearchPath(url, schema);
}

/**
 * A schema of its own, whose time the test sets, in wall milliseconds, and in which it executes SQL, all on
 * one connection.
 */
export async function ownSchemaAndTime(t: TestContext, server: PostgresServer) {
  const schema = uniqueName();
  // The schema comes first: so its clock is found before PostgreSQL's.
  const url = withSearchPath(server.url, `${schema},pg_catalog`);
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(async () => {
    // A store that still closes may hold the schema.
    await client.query(`drop schema ${schema} cascade`).catch(() => {});
    await client.end();
  });
  await client.query(`create schema ${schema};
    create table wall (at timestamptz not null);
    insert into wall values ('epoch');
    create function clock_timestamp() returns timestamptz language sql volatile as 'select at from wall'`);
  const setTime = async (ms: number) => {
    await client.query("update wall set at = 'epoch'::timestamptz + $1::float8 * interval '1 ms'", [ms]);
  };
  const execute = async (sql: string) => void (await client.query(sql));
  return { url, setTime, execute };
}

export function withSearchPath(url: string, path: string): string {
  const option = `-c search_path=${path.replaceAll(" ", "\\ ")}`;
  return `${url}${url.includes("?") ? "&" : "?"}options=${encodeURIComponent(option)}`;
}
