/** A dump of PostgreSQL's own tools that is restored by the command of docs/cluster.md. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { installedPostgres, run } from "../chaos/cluster/postgres.ts";
import { ROOT } from "../support/command.ts";
import { type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { messages, own, readAll } from "../support/store-reading.ts";
import { openFor, ROOM, temporaryFile } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();
const execute = promisify(execFile);
const LIMIT = { timeout: 120_000 };

const documented = (command: RegExp) =>
  command.exec(readFileSync(join(ROOT, "docs/cluster.md"), "utf8"))?.[0] ?? assert.fail(`${command}`);

/** Runs a command of the document on a database. */
async function inShell(command: string, url: string, file: string): Promise<void> {
  const installed = installedPostgres();
  const bin = typeof installed === "string" ? "" : installed.bin;
  const env = { PATH: `${bin}:${process.env.PATH}`, RELAY_STORE: url };
  await execute("sh", ["-ec", command.replace("relay.dump", file)], { env });
}

async function newDatabase(t: TestContext): Promise<string> {
  const { url } = server as PostgresServer;
  const name = `relay_${randomBytes(6).toString("hex")}`;
  await run(url, `create database ${name}`);
  t.after(() => run(url, `drop database ${name} with (force)`));
  return Object.assign(new URL(url), { pathname: name }).href;
}

/** A database with a room of these messages in it. */
async function filled(t: TestContext, ids: readonly string[]): Promise<string> {
  const url = await newDatabase(t);
  const store = await openFor(t, url);
  const hold = await own(store, ROOM);
  await store.append(hold, hold.head, messages(ids), "");
  await store.close();
  return url;
}

const RESTORE = /^pg_restore --clean --if-exists .*$/m;
const ids = ["a", "b"];
const OTHERS = ["x", "y", "z"];

describe("a dump", { skip }, () => {
  for (const [name, command] of [
    ["as documented", documented(RESTORE)],
    ["without a transaction", documented(RESTORE).replace("--single-transaction", "")],
  ] as const) {
    it(`takes the place of another database, restored ${name}`, LIMIT, async (t) => {
      const file = await temporaryFile(t);
      await inShell(documented(/^pg_dump .*$/m), await filled(t, ids), file);
      const url = await filled(t, OTHERS);
      await inShell(command, url, file);
      const store = await openFor(t, url);
      assert.equal(await store.moveCursors(), 1);
      const { base = 0, head = 0 } = (await store.getRoom(ROOM)) ?? {};
      const restored = await readAll(store, ROOM);
      assert.deepEqual(
        restored.map(({ id, cursor }) => [id, cursor - base]),
        [
          ["a", 1],
          ["b", 2],
        ],
      );
      const hold = await own(store, ROOM);
      await store.append(hold, head, messages(["c"]), "");
      assert.equal(await store.prune(-60_000, 100), 3);
      await store.setChannels(ROOM, ["@a"]);
    });
  }
});

describe("a database that was restored in part", { skip }, () => {
  const refusal = /^postgres:\S+ is half restored: .*Restore the dump again as docs\/cluster.md says/;

  it("is refused by that name if its tables are of two versions", LIMIT, async (t) => {
    const url = await filled(t, OTHERS);
    await run(url, "drop function relay_move");
    const opening = openStore(url, systemClock, new Telemetry(silentLog));
    await assert.rejects(opening, { name: "StoreOpenError", message: refusal });
  });

  it("is refused by that name at the start after a restore if a room lacks messages", LIMIT, async (t) => {
    const url = await filled(t, OTHERS);
    await run(url, "delete from message where id = 'z'");
    const store = await openFor(t, url);
    await assert.rejects(store.moveCursors(), { name: "StoreError", message: refusal });
  });
});
