/** How instances on one PostgreSQL wake each other. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Logger, pino } from "pino";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { Notifications } from "../../src/store/postgres/notifications.ts";
import { Pools } from "../../src/store/postgres/pools.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { countedClock } from "../support/counted-clock.ts";
import { ownSchema, testPostgres } from "../support/postgres-server.ts";

const HEARTBEAT_MS = 3000;
const PROOF_MS = 2000;
const PROOF_AGAIN_MS = 3_600_000;

const { skip, server } = await testPostgres();

/** The notifications of an instance, and the notices it got. */
function notified(
  t: TestContext,
  url: string,
  listenUrl?: string,
  clock: Clock = systemClock,
  log: Logger = silentLog,
) {
  const connections = new Pools(url, listenUrl, systemClock);
  const events = new EventEmitter();
  const notices: string[] = [];
  const notifications = new Notifications({
    connections,
    clock,
    telemetry: new Telemetry(log),
    onNotice: (key, notice) => {
      notices.push(`${key}:${notice}`);
      events.emit(key);
    },
    onListening: () => events.emit("listening"),
  });
  t.after(async () => {
    notifications.close();
    await connections.close();
  });
  return { connections, notifications, notices, events };
}

/** The same, once it listens. */
async function listening(t: TestContext, url: string, listenUrl?: string, clock?: Clock) {
  const instance = notified(t, url, listenUrl, clock);
  await once(instance.events, "listening");
  assert.ok(instance.notifications.isReceiving);
  return instance;
}

describe("notifications", () => {
  it("reach no instance that uses the database in another schema", { skip }, async (t) => {
    assert.ok(server);
    const [one, other] = [await ownSchema(t, server), await ownSchema(t, server, '"Other relay"')];
    const [first, second] = [await listening(t, one), await listening(t, other)];
    const fellow = await listening(t, one, server.url); // one may listen by a URL that names no schema
    first.notifications.publish("first", 1);
    await Promise.all([once(first.events, "first"), once(fellow.events, "first")]);
    second.notifications.publish("second", 2);
    await once(second.events, "second");
    assert.deepEqual(second.notices, ["second:2"]);
  });

  it("say once why no connection for them can be made, and that they arrive in the end", {
    skip,
  }, async (t) => {
    assert.ok(server);
    const lines: { level: number; why?: string; msg: string }[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const url = await ownSchema(t, server);
    const role = `listener_${process.pid}`;
    let tries = 0;
    const triedOften = Promise.withResolvers<void>();
    const counted: Clock = {
      ...systemClock,
      random: () => 0,
      sleep: (ms, signal) => {
        if (++tries === 3) triedOften.resolve();
        return systemClock.sleep(ms, signal);
      },
    };
    const listenUrl = server.url.replace("//relay@", `//${role}@`);
    const { events, connections } = notified(t, url, listenUrl, counted, log);
    await triedOften.promise;
    assert.equal(lines.length, 1, JSON.stringify(lines));
    assert.equal(lines[0]?.level, 40);
    assert.match(lines[0]?.why ?? "", new RegExp(`role "${role}" does not exist`));
    assert.match(lines[0]?.msg ?? "", /^no connection for LISTEN: .*RELAY_STORE_LISTEN_URL/);
    const heard = once(events, "listening");
    await connections.query("writes", `create role ${role} login`);
    t.after(() => run(server.url, `drop role ${role}`));
    await heard;
    assert.deepEqual(
      lines.slice(1).map(({ msg }) => msg),
      ["listening for notifications of other instances"],
    );
  });

  it("are reported once as not arriving, although each later proof fails, too", { skip }, async (t) => {
    assert.ok(server);
    const lines: { msg: string }[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const deaf = `deaf_${process.pid}`;
    await run(server.url, `create database ${deaf}`); // a notification reaches only its own database
    const elsewhere = Object.assign(new URL(server.url), { pathname: deaf }).href;
    const skipping: Clock = {
      ...systemClock,
      random: () => 0,
      sleep: (ms, signal) => systemClock.sleep(ms === PROOF_MS || ms === PROOF_AGAIN_MS ? 0 : ms, signal),
    };
    const { events, notifications, connections } = notified(
      t,
      await ownSchema(t, server),
      elsewhere,
      skipping,
      log,
    );
    for (let proofs = 0; proofs < 3; proofs++) await once(events, "listening");
    assert.equal(notifications.isReceiving, false);
    assert.equal(lines.length, 1, JSON.stringify(lines));
    assert.match(lines[0]?.msg ?? "", /notifications do not arrive.*RELAY_STORE_LISTEN_URL/);
    notifications.close();
    await connections.close();
    await run(server.url, `drop database ${deaf} with (force)`);
  });

  it("count as arriving if the process was frozen until the time for their proof was over", {
    skip,
  }, async (t) => {
    assert.ok(server);
    const stalled: Clock = {
      ...systemClock,
      sleep: (ms, signal) => (ms === PROOF_MS ? Promise.resolve() : systemClock.sleep(ms, signal)),
    };
    const schema = await ownSchema(t, server);
    // In some of them, the proof arrives before the time is looked at.
    for (let instance = 0; instance < 10; instance++) await listening(t, schema, undefined, stalled);
  });

  it("leave no timer of a lost connection", { skip }, async (t) => {
    assert.ok(server);
    const clock = countedClock(systemClock);
    const { connections, events } = await listening(t, await ownSchema(t, server), undefined, clock);
    const again = once(events, "listening");
    await connections.query(
      "reads",
      `select pg_terminate_backend(pid) from pg_stat_activity
     where query = 'listen relay_' || current_schema()::regnamespace::oid`,
    );
    await again;
    await nextTurn();
    assert.equal(clock.pending(HEARTBEAT_MS), 1);
  });
});
