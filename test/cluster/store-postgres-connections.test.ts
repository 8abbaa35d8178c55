/** The connections to PostgreSQL: which statements wait for one, for how long, and what their end leaves. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import { Notifications } from "../../src/store/postgres/notifications.ts";
import { type PoolName, Pools } from "../../src/store/postgres/pools.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { Line } from "../chaos/line.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { testPostgres } from "../support/postgres-server.ts";

const { skip, server } = await testPostgres();

const LOCK = 4711;

/** Connections with one pool that is busy until `free` is called. */
async function busy(t: TestContext, pool: PoolName, count: number) {
  assert.ok(server);
  const clock = new FakeClock();
  const connections = new Pools(server.url, undefined, clock);
  t.after(() => connections.close());
  const holder = new Client(server.url);
  await holder.connect();
  t.after(() => holder.end());
  await holder.query(`select pg_advisory_lock(${LOCK})`);
  const text = `select pg_advisory_xact_lock_shared(${LOCK})`;
  const busy = Array.from({ length: count }, () => connections.query(pool, text));
  const waiting =
    "select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()";
  await eventually(count, async () => (await run(server.url, waiting)).length);
  const free = () => holder.query(`select pg_advisory_unlock(${LOCK})`);
  return { clock, connections, busy, free };
}

describe("statements that wait for a connection to PostgreSQL", { skip }, () => {
  it("keep their place if they write, however long they wait", async (t) => {
    const { clock, connections, busy: first, free } = await busy(t, "writes", 3);
    const writes = [1, 2, 3, 4].map(() => connections.query("writes", "select"));
    await clock.advance(60_000);
    await free();
    await Promise.all([...first, ...writes]);
  });

  it("are given up after a while if they read", async (t) => {
    const { clock, connections, busy: first, free } = await busy(t, "reads", 4);
    const refused = assert.rejects(connections.query("reads", "select"), { kind: "unavailable" });
    await clock.advance(3000);
    await refused;
    await free();
    await Promise.all(first);
    await connections.query("reads", "select");
  });

  it("do not delay the renewal of leases", async (t) => {
    const { connections, busy: first, free } = await busy(t, "writes", 3);
    const write = connections.query("writes", "select");
    await connections.query("leases", "select");
    await free();
    await Promise.all([...first, write]);
  });

  it("are rejected when the store closes", async (t) => {
    const { connections, busy: first, free } = await busy(t, "writes", 3);
    const refused = assert.rejects(connections.query("writes", "select"), { kind: "unavailable" });
    const closing = connections.close();
    await refused;
    await free();
    await Promise.all([...first, closing]);
  });
});

describe("a store that closes while PostgreSQL does not answer", { skip, timeout: 60_000 }, () => {
  const CLOSE_MS = 300;

  /** Connections over a line that can be silenced, for which no time passes but what `clock` is advanced. */
  async function overLine(t: TestContext) {
    assert.ok(server);
    t.mock.timers.enable({ apis: ["setTimeout"] }); // the driver's own limits
    const clock = new FakeClock();
    const url = new URL(server.url);
    const line = await Line.to(Number(url.port));
    t.after(() => line[Symbol.asyncDispose]());
    url.port = `${line.port}`;
    return { clock, line, connections: new Pools(url.href, undefined, clock) };
  }

  it("waits for no statement", async (t) => {
    const { clock, line, connections } = await overLine(t);
    await connections.query("writes", "select");
    line.silence();
    const refused = assert.rejects(connections.query("writes", "select"), { kind: "unavailable" });
    const closing = connections.close();
    await clock.advance(CLOSE_MS);
    await Promise.all([closing, refused]);
  });

  it("waits for no connection attempt", async (t) => {
    const { clock, line, connections } = await overLine(t);
    await connections.query("reads", "select");
    line.silence();
    const telemetry = new Telemetry(silentLog);
    const notifications = new Notifications({
      connections,
      clock,
      telemetry,
      onNotice: () => {},
      onListening: () => {},
    });
    notifications.close();
    const closing = connections.close();
    await clock.advance(CLOSE_MS);
    await closing;
  });
});
