/** How a PostgreSQL store is opened, and the one line that says why it cannot be. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { toConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { startService } from "../../src/cli/service.ts";
import { SETTINGS } from "../../src/cli/setting-table.ts";
import { openStore, StoreOpenError } from "../../src/store/open.ts";
import { clientConfig, Pools } from "../../src/store/postgres/pools.ts";
import { unavailable } from "../../src/store/postgres/postgres-error.ts";
import { migrateSchema, SCHEMA_VERSION, STEPS } from "../../src/store/postgres/postgres-schema.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { portOf } from "../chaos/line.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";
import {
  noOwnPostgres,
  ownPostgres,
  ownSchema,
  testPostgres,
  withSearchPath,
} from "../support/postgres-server.ts";
import { messages, own } from "../support/store-reading.ts";
import { openFor, ROOM } from "../support/store-subject.ts";

const SECRET = "s3cret-p4ssw0rd";
const LIMIT = { timeout: 60_000 };
const { skip, server } = await testPostgres();

/** The line by which a store is refused. */
async function refusal(url: string, clock: Clock = systemClock): Promise<string> {
  const error = await openStore(url, clock, new Telemetry(silentLog)).then(
    async (store) => {
      await store.close();
      return undefined;
    },
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof StoreOpenError, String(error));
  assert.doesNotMatch(error.message, /\n/);
  assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, new RegExp(SECRET));
  return error.message;
}

/** No time passes for the test but what the clock is advanced: what waits at all does not end. */
function standing(t: TestContext): FakeClock {
  t.mock.timers.enable({ apis: ["setTimeout"] }); // the driver's own limits
  return new FakeClock();
}

function withPassword(url: string, user: string): string {
  return url.replace("//relay@", `//${user}:${SECRET}@`);
}

describe("a PostgreSQL URL that leads nowhere", () => {
  it("is reported in one line if it cannot be read", async () => {
    assert.match(
      await refusal(`postgres://relay:${SECRET}@host:port:port/x`),
      /URL cannot be read.*use postgres:/,
    );
  });

  it("is reported in one line if nothing listens for a while", async () => {
    const port = await unusedPort();
    let passed = 0;
    const sleep = async (ms: number) => {
      passed += ms;
    };
    const passing = { ...systemClock, sleep, monotonic: () => passed };
    const url = `postgres://relay:${SECRET}@127.0.0.1:${port}/chat`;
    const opening = openStore(url, passing, new Telemetry(silentLog));
    await assert.rejects(opening, (error: Error) => {
      assert.match(error.message, new RegExp(`127.0.0.1:${port}/chat cannot be reached.*ECONNREFUSED`));
      assert.doesNotMatch(error.message, new RegExp(SECRET));
      return error instanceof StoreOpenError;
    });
    assert.equal(passed, 12_000 + 300, "the start, and the limit of its close");
  });
});

it("a server that is gone later is named with what to check", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
  const { message, trouble } = unavailable(refused, "postgres://db.example:5432/chat");
  assert.equal(trouble, "the database cannot be reached");
  assert.match(
    message,
    /^postgres:\S+ cannot be reached: check that the server runs,.*\(connect ECONNREFUSED/,
  );
});

describe("a start that is stopped while it waits for PostgreSQL", () => {
  it("leaves no connection open, and opens no other", LIMIT, async (t) => {
    const clock = standing(t);
    const silent = createServer().listen(0, "127.0.0.1");
    t.after(() => silent.close());
    await once(silent, "listening");
    const connected = once(silent, "connection");
    const RELAY_STORE = `postgres://relay@127.0.0.1:${portOf(silent)}/chat`;
    const config = toConfig(readFlags(SETTINGS, [], { RELAY_STORE, RELAY_PORT: "0" }).values);
    const stopped = new AbortController();
    const parts = { clock, telemetry: new Telemetry(silentLog), stopped: stopped.signal };
    const starting = startService(config, parts);
    const [socket] = (await connected) as [Socket];
    const more = once(silent, "connection").then(() => "another connection");
    const closed = once(socket.resume(), "close").then(() => "closed");
    const refused = assert.rejects(starting, (reason) => reason === "SIGTERM");
    stopped.abort("SIGTERM");
    await clock.advance(2000);
    await refused;
    assert.equal(await Promise.race([closed, more]), "closed");
  });
});

describe("a PostgreSQL server", { skip }, () => {
  it("refuses a wrong password and a missing database at once", {
    ...LIMIT,
    skip: noOwnPostgres(),
  }, async (t) => {
    const server = await ownPostgres(t);
    await server.demandPassword("guarded", "another password");
    const clock = standing(t);
    const url = withPassword(server.url, "guarded");
    assert.match(
      await refusal(url, clock),
      /refuses the user or the password.*password authentication failed/,
    );
    const silent = server.url.replace("//relay@", "//guarded@");
    assert.match(await refusal(silent, clock), /demands a password: name it in the URL or PGPASSWORD/);
    const none = server.url.replace(/\/postgres$/, "/nowhere");
    assert.match(await refusal(none, clock), /\/nowhere has no such database: create it/);
  });

  it("is refused if its encoding cannot store every text", { ...LIMIT, skip: noOwnPostgres() }, async (t) => {
    const server = await ownPostgres(t);
    const clock = standing(t);
    await run(server.url, "create database latin encoding 'LATIN1' template template0");
    const latin = server.url.replace(/\/postgres$/, "/latin");
    assert.match(await refusal(latin, clock), /\/latin has the encoding LATIN1: use a database .*UTF8$/);
    assert.deepEqual(await run(latin, "select relname from pg_class where relname = 'store'"), []);
  });

  it("is refused if it needs a newer program, and left unchanged", async (t) => {
    const url = await schema(t);
    await (await openFor(t, url)).close();
    await run(url, "update store set schema_version = 99, oldest_version = 98");
    assert.match(await refusal(url), /has schema 99.*knows 98 at least.*start a newer program/);
    const versions = await run(url, "select schema_version, oldest_version from store");
    assert.deepEqual(versions, [{ schema_version: 99, oldest_version: 98 }]);
  });

  it("is used if a newer program has only added to it", async (t) => {
    const url = await schema(t);
    await (await openFor(t, url)).close();
    await run(url, "update store set schema_version = 99");
    const store = await openFor(t, url);
    const claim = await own(store, ROOM);
    assert.equal((await store.append(claim, claim.head, messages(["a"]), "")).length, 1);
    assert.deepEqual(await run(url, "select schema_version from store"), [{ schema_version: 99 }]);
  });

  it("is migrated once by four instances that start together", async (t) => {
    const url = await schema(t);
    const stores = await Promise.all([1, 2, 3, 4].map(() => openFor(t, url)));
    const claims = await Promise.all(stores.map((store) => store.ownership.take(ROOM)));
    assert.equal(claims.filter(Boolean).length, 1, "one owner");
    const versions = await run(url, "select schema_version, oldest_version from store");
    assert.deepEqual(versions, [{ schema_version: SCHEMA_VERSION, oldest_version: SCHEMA_VERSION }]);
  });

  /** Brings the database to the schema of a later program, and resolves to the steps that it played. */
  async function migrate(t: TestContext, url: string, steps: readonly string[]): Promise<number[]> {
    const client = new Client(clientConfig(url));
    t.after(() => client.end());
    await client.connect();
    const played: number[] = [];
    const upgrade = (toSchema: number, step: () => Promise<unknown>) => {
      played.push(toSchema);
      return step();
    };
    assert.equal(await migrateSchema(client, "refused", upgrade, steps), SCHEMA_VERSION + steps.length - 1);
    return played;
  }
  const INVENTED = "alter table room add column invented text";

  it("is upgraded once by four newer instances that start together, while an older one goes on", async (t) => {
    const url = await schema(t);
    const store = await openFor(t, url);
    const claim = await own(store, ROOM);
    await store.append(claim, claim.head, messages(["a"]), "");
    const played = await Promise.all([1, 2, 3, 4].map(() => migrate(t, url, [...STEPS, INVENTED])));
    assert.deepEqual(played.flat(), [SCHEMA_VERSION + 1]);
    assert.equal((await store.append(claim, claim.head + 1, messages(["b"]), "")).length, 1);
    assert.deepEqual(await run(url, "select video_id, invented from room"), [
      { video_id: ROOM, invented: null },
    ]);
  });

  it("is made with all steps, which do not count as an upgrade", async (t) => {
    assert.deepEqual(await migrate(t, await schema(t), [...STEPS, INVENTED]), []);
  });

  it("stays as it was if a step fails", async (t) => {
    const url = await schema(t);
    await (await openFor(t, url)).close();
    await assert.rejects(migrate(t, url, [...STEPS, INVENTED, "nonsense"]), { code: "42601" });
    assert.deepEqual(await migrate(t, url, [...STEPS, INVENTED]), [SCHEMA_VERSION + 1]);
  });

  it("is refused if no step upgrades it, and left unchanged", async (t) => {
    const url = await schema(t);
    await (await openFor(t, url)).close();
    await run(url, "update store set schema_version = 10, oldest_version = 1");
    assert.match(
      await refusal(url),
      /has schema 10, this program upgrades none before 11: export its chats with the version that wrote it, or name another database$/,
    );
    assert.deepEqual(await run(url, "select schema_version from store"), [{ schema_version: 10 }]);
  });

  for (const name of ['"Relay Prod"', '"RelayProd"', '"it\'s $1"'])
    it(`is used in the schema ${name}`, async (t) => {
      assert.ok(server);
      const url = await ownSchema(t, server, name);
      const store = await openFor(t, url);
      const claim = await own(store, ROOM);
      assert.equal((await store.append(claim, claim.head, messages(["a"]), "")).length, 1);
      const again = await openFor(t, url);
      assert.equal((await again.getRoom(ROOM))?.head, claim.head + 1);
    });

  it("is refused at once if search_path leads to no schema, or cannot be read", LIMIT, async (t) => {
    assert.ok(server);
    const clock = standing(t);
    assert.match(await refusal(withSearchPath(server.url, "nowhere"), clock), /search_path.*create it/);
    assert.match(
      await refusal(withSearchPath(server.url, "Relay Prod"), clock),
      /setting.*"search_path": "Relay Prod"/,
    );
  });

  it("gets waiting statements over new connections if those in use are lost", async (t) => {
    assert.ok(server);
    const connections = new Pools(server.url, undefined, systemClock);
    t.after(() => connections.close());
    const slow = "select pg_sleep(0.6)";
    const answers = Promise.allSettled(Array.from({ length: 9 }, () => connections.query("writes", slow)));
    const running = `from pg_stat_activity where query = '${slow}' and state = 'active'`;
    await eventually(3, async () => (await connections.query("reads", `select ${running}`)).length);
    await connections.query("reads", `select pg_terminate_backend(pid) ${running}`);
    assert.deepEqual(
      (await answers).map(({ status }) => status),
      Array.from({ length: 9 }, (_, n) => (n < 3 ? "rejected" : "fulfilled")),
    );
  });

  async function schema(t: TestContext): Promise<string> {
    assert.ok(server);
    return ownSchema(t, server);
  }
});

async function unusedPort(): Promise<number> {
  const listening = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  const { port } = listening.address() as { port: number };
  await new Promise((resolve) => listening.close(resolve));
  return port;
}
