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
import { messages, own, readAll, stored } from "../support/store-reading.ts";
import { openFor, ROOM, temporaryFile } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();
const execute = promisify(execFile);
const LIMIT = { timeout: 120_000 };
const BASE = 1_700_000_000_000;

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

/** A dump of a database of the first schema, with these messages in a room. */
async function firstDump(t: TestContext, ids: readonly string[]): Promise<string> {
  const url = await newDatabase(t);
  await run(url, readFileSync(join(import.meta.dirname, "../support/first-postgres-schema.sql"), "utf8"));
  await run(url, "update store set schema_version = 1");
  const [first, last] = [BASE, BASE + ids.length];
  await run(
    url,
    `insert into room (video_id, base, floor, head, state, epoch, lease_until, checkpoint, checkpoint_at)
     values ('${ROOM}', ${first}, ${first}, ${last}, 'polling', 1, 'epoch', '', clock_timestamp())`,
  );
  for (const { cursor, id, body, details, storedAt } of stored(first, ids))
    await run(
      url,
      "insert into message (video_id, cursor, id, body, details, at) values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000))",
      [ROOM, cursor, id, body, details, storedAt],
    );
  const file = await temporaryFile(t);
  await inShell(documented(/^pg_dump .*$/m), url, file);
  return file;
}

/** A database of today's schema with a room of other messages in it. */
async function filled(t: TestContext): Promise<string> {
  const url = await newDatabase(t);
  const store = await openFor(t, url);
  const hold = await own(store, ROOM);
  await store.append(hold, hold.head, messages(["x", "y", "z"]), "");
  await store.close();
  return url;
}

const RESTORE = /^pg_restore --clean --if-exists .*$/m;
const ids = ["a", "b"];

describe("a dump of the first schema", { skip }, () => {
  for (const [name, command] of [
    ["as documented", documented(RESTORE)],
    ["without a transaction", documented(RESTORE).replace("--single-transaction", "")],
  ] as const) {
    it(`takes the place of a newer database, restored ${name}`, LIMIT, async (t) => {
      const file = await firstDump(t, ids);
      const url = await filled(t);
      await inShell(command, url, file);
      const store = await openFor(t, url);
      assert.equal(await store.moveCursors(), 1);
      const { base = 0, head = 0 } = (await store.getRoom(ROOM)) ?? {};
      assert.deepEqual(await readAll(store, ROOM), stored(base, ids));
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
    const url = await filled(t);
    await run(url, "update store set schema_version = 1");
    const opening = openStore(url, systemClock, new Telemetry(silentLog));
    await assert.rejects(opening, { name: "StoreOpenError", message: refusal });
  });

  it("is refused by that name at the start after a restore if a room lacks messages", LIMIT, async (t) => {
    const url = await filled(t);
    await run(url, "delete from message where id = 'z'");
    const store = await openFor(t, url);
    await assert.rejects(store.moveCursors(), { name: "StoreError", message: refusal });
  });
});
