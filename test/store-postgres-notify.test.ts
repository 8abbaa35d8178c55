/** How instances on one PostgreSQL wake each other. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, systemClock } from "../src/clock.ts";
import { Notifications } from "../src/store/postgres/notifications.ts";
import { Pools } from "../src/store/postgres/pools.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { countedClock } from "./support/counted-clock.ts";
import { ownSchema, testPostgres } from "./support/postgres-server.ts";

const HEARTBEAT_MS = 3000;

const { skip, server } = await testPostgres();

/** The notifications of an instance that listens, and the notices it got. */
async function listening(t: TestContext, url: string, listenUrl?: string, clock: Clock = systemClock) {
  const connections = new Pools(url, listenUrl, systemClock);
  const events = new EventEmitter();
  const notices: string[] = [];
  const notifications = new Notifications({
    connections,
    clock,
    telemetry: new Telemetry(silentLog),
    onNotice: (videoId, notice) => {
      notices.push(`${videoId}:${notice}`);
      events.emit(videoId);
    },
    onListening: () => events.emit("listening"),
  });
  t.after(async () => {
    notifications.close();
    await connections.close();
  });
  await once(events, "listening");
  assert.ok(notifications.isReceiving);
  return { connections, notifications, notices, events };
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
