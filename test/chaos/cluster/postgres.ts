/**
 * A throw-away PostgreSQL server on a free port, started from the programs that are installed, as a user that
 * may run it. It can be killed as by a power cut, and started again on what it has stored.
 */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { untilSucceeds } from "../../support/eventually.ts";
import { atExit } from "../at-exit.ts";
import { freePorts } from "../service.ts";

const OLDEST = 15;
const PROGRAMS = ["initdb", "postgres", "pg_ctl", "pg_basebackup", "pg_dump", "psql"];
const execute = promisify(execFile);

export interface Postgres {
  /** Names a database that may be filled. */
  url: string;
  port: number;
  /** Ends the server; by default as a power cut would. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  /** Makes a user who has to give that password. */
  demandPassword(user: string, password: string): Promise<void>;
  /** Ends it, and removes what it has stored. */
  remove(): Promise<void>;
}

/** What a server is started with, or a word on why none can be. */
export type Installed = { bin: string; user: { uid?: number; gid?: number } } | string;

export function installedPostgres(): Installed {
  const bin = binaries();
  if (!bin) return `no PostgreSQL ${OLDEST} or newer is installed`;
  return { bin, user: userToRunAs() ?? {} };
}

/** The rows of one statement, on a connection of its own. */
export async function run<Row extends object>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {}); // a query that is under way rejects
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Backs a database up into a file as SQL. */
export async function dump({ bin }: Exclude<Installed, string>, from: Postgres, file: string): Promise<void> {
  await execute(join(bin, "pg_dump"), ["--dbname", from.url, "--file", file]);
}

/** Fills an empty database from such a file. */
export async function restore(
  { bin }: Exclude<Installed, string>,
  to: Postgres,
  file: string,
): Promise<void> {
  await execute(join(bin, "psql"), ["-q", "-v", "ON_ERROR_STOP=1", "--dbname", to.url, "--file", file]);
}

/** The folder of the newest server's programs; undefined where none is new enough. */
function binaries(): string | undefined {
  const folders = [...globSync("/usr/lib/postgresql/*/bin"), ...(process.env.PATH ?? "").split(":")];
  return folders.findLast(
    (folder) => PROGRAMS.every((name) => existsSync(join(folder, name))) && versionOf(folder) >= OLDEST,
  );
}

function versionOf(folder: string): number {
  const said = execFileSync(join(folder, "postgres"), ["--version"], { encoding: "utf8" });
  return Number(/ (\d+)/.exec(said)?.[1]);
}

/** PostgreSQL refuses to run as root. Empty: as ourselves. */
function userToRunAs(): { uid?: number; gid?: number } | undefined {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) =>
        Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // the next one
    }
  }
  return undefined;
}

interface PostgresOptions {
  /** The server whose commits it follows, as a standby. */
  primary?: Postgres;
  /** Whether commits wait for the disk. */
  isDurable?: boolean;
}

/** Resolves once it answers. */
export async function startPostgres(
  { bin, user }: Exclude<Installed, string>,
  { primary, isDurable = false }: PostgresOptions = {},
): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), "relay-postgres-"));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const asUser = { ...user, cwd: folder };
  const [program, args] = primary
    ? ["pg_basebackup", ["-h", "127.0.0.1", "-p", `${primary.port}`, "-R", "-c", "fast"]]
    : ["initdb", ["-A", "trust", "-E", "UTF8", "--locale=C"]];
  const common = ["-D", data, "-U", "relay", "--no-sync"];
  await execute(join(bin, program), [...common, ...args], asUser);
  const [port = 0] = await freePorts(1);
  const settings = [
    `unix_socket_directories=${folder}`,
    "listen_addresses=127.0.0.1",
    `fsync=${isDurable ? "on" : "off"}`,
    "max_connections=200",
  ];
  const serverArgs = ["-D", data, "-p", `${port}`, ...settings.flatMap((setting) => ["-c", setting])];
  const url = `postgres://relay@127.0.0.1:${port}/postgres`;

  let child: ReturnType<typeof spawn> | undefined;
  const start = async () => {
    child = spawn(join(bin, "postgres"), serverArgs, { ...asUser, stdio: "ignore" });
    await untilSucceeds(() => run(url, "select 1"));
  };
  const stop = async (signal: NodeJS.Signals = "SIGQUIT") => {
    const stopping = child;
    child = undefined;
    if (!stopping || stopping.exitCode !== null) return;
    const exited = once(stopping, "exit");
    stopping.kill(signal);
    await exited;
  };
  const cancelExit = atExit(() => {
    spawnSync(join(bin, "pg_ctl"), ["stop", "-D", data, "-m", "immediate"], asUser); // waits for its end
    rmSync(folder, { recursive: true, force: true });
  });
  const remove = async () => {
    await stop();
    cancelExit();
    await rm(folder, { recursive: true, force: true });
  };
  const demandPassword = async (user: string, password: string) => {
    const rules = join(data, "pg_hba.conf");
    writeFileSync(rules, `host all ${user} 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, "utf8")}`);
    await run(url, `create role ${user} login password '${password}'`);
    await run(url, "select pg_reload_conf()");
  };
  await start();
  return { url, port, start, stop, demandPassword, remove };
}
