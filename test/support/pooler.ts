/** pgbouncer in transaction mode in front of a server: each statement may get another connection. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { installedPostgres, run } from "../chaos/cluster/postgres.ts";
import { freePorts } from "../chaos/service.ts";
import { untilSucceeds } from "./eventually.ts";
import { without } from "./needs.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** Why there is no pooler; false if there is one. */
export const noPooler = without("pgbouncer");

/**
 * The URL of `schema` by a pooler of that server, which asks for no password; the pooler goes with the test.
 */
export async function poolerTo(t: TestContext, server: string, schema: string): Promise<string> {
  const installed = installedPostgres();
  const user = typeof installed === "string" ? {} : installed.user;
  const folder = await mkdtemp(join(tmpdir(), "relay-pooler-"));
  const [ownPort = 0] = await freePorts(1);
  const { hostname, port, pathname, username } = new URL(server);
  const ini = join(folder, "pgbouncer.ini");
  const users = join(folder, "users.txt");
  writeFileSync(users, `"${username}" ""\n`);
  writeFileSync(
    ini,
    `[databases]
pooled = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} connect_query='set search_path = ${schema}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 5
server_login_retry = 1
`,
  );
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [folder, ini, users]) chownSync(path, user.uid, user.gid);
  const child = spawn(PROGRAM, ["-q", ini], { ...user, cwd: folder, stdio: "ignore" });
  t.after(async () => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    await rm(folder, { recursive: true, force: true });
  });
  const pooled = `postgres://${username}@127.0.0.1:${ownPort}/pooled`;
  await untilSucceeds(() => run(pooled, "select 1"));
  return pooled;
}
