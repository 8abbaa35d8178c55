/** A check of a database: the line that it prints, and that it changes nothing. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SCHEMA_VERSION } from "../../src/store/postgres/postgres-schema.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { outcome, Run } from "../support/command.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";

const { skip, server } = await testPostgres();

const check = async (url: string) => {
  const env = { RELAY_STORE: url, RELAY_MAX_VIEWERS: "10" };
  const { code, out } = await outcome(["serve", "--check", "--port", "0"], { env });
  return { code, line: /^.* store +(.*)$/m.exec(out)?.[1] ?? "", out };
};

describe("serve --check of a database", { skip }, () => {
  it("makes no table, and describes the database, also while an instance uses it", async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const before = await check(url);
    assert.equal(before.code, 0, before.out);
    assert.match(before.line, /^new, the start makes it: postgres:\/\//);
    const tables = "select relname from pg_class where relnamespace = current_schema()::regnamespace";
    assert.deepEqual(await run(url, tables), []);
    const serve = new Run(["--port", "0", "--store", url]);
    await serve.printed(/listening on/);
    try {
      const { code, line } = await check(url);
      assert.equal(code, 0);
      const found = `^schema ${SCHEMA_VERSION}, 0 rooms, .*; a running service has it, so it was only looked at: `;
      if (!new RegExp(found).test(line)) {
        const users = await run(url, "select application_name, backend_start from pg_stat_activity");
        assert.fail([line, JSON.stringify(users), serve.out, serve.error].join("\n"));
      }
      assert.doesNotMatch(line, /password|@/);
    } finally {
      serve.signal("SIGTERM");
      await serve.exited;
    }
  });

  it("says so of a newer schema, and of one before the first, and changes neither", async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const serve = new Run(["--port", "0", "--store", url]);
    await serve.printed(/listening on/);
    serve.signal("SIGTERM");
    await serve.exited;
    await run(url, "update store set schema_version = 10");
    const older = await check(url);
    assert.equal(older.code, 1);
    assert.match(
      older.line,
      /^the service cannot start on it: .* has schema 10, .*: export its chats .*, or name another database$/,
    );
    await run(url, `update store set schema_version = ${SCHEMA_VERSION + 1}`);
    assert.equal((await check(url)).code, 0); // an older program may use it
    await run(url, `update store set oldest_version = ${SCHEMA_VERSION + 1}`);
    const newer = await check(url);
    assert.equal(newer.code, 1);
    assert.match(
      newer.line,
      /^the service cannot start on it: .*start a newer program, or name another database$/,
    );
    assert.deepEqual(await run(url, "select schema_version from store"), [
      { schema_version: SCHEMA_VERSION + 1 },
    ]);
  });
});
