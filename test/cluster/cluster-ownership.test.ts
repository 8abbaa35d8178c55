/**
 * The ownership of rooms among instances on one PostgreSQL, seen at the store itself: how rooms are given
 * back, found, moved and pruned.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { ENDED } from "../../src/protocol/chat.ts";
import type { ObservedStore } from "../../src/store/observed.ts";
import { openStore, SHARED_DEFAULTS } from "../../src/store/open.ts";
import { SWEEP } from "../../src/store/postgres/cluster-watch.ts";
import { SQL } from "../../src/store/postgres/postgres-tables.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { Line } from "../chaos/line.ts";
import { eventually } from "../support/eventually.ts";
import { ownSchema, ownSchemaAndTime, testPostgres, UNHEARD } from "../support/postgres-server.ts";
import { assertStored, messages, own, readAll, stored } from "../support/store-reading.ts";
import { ROOM } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();
const LEASE_MS = 900;
const DAY_MS = 24 * 3_600_000;
const NEVER = new AbortController().signal;
const HELD_ROOMS = 60;

/** A clock that shows another day, and measures rightly. */
const wrongBy = (ms: number): Clock => ({ ...systemClock, now: () => Date.now() + ms });

async function open(t: TestContext, url: string, clock = systemClock): Promise<ObservedStore> {
  const shared = { ...SHARED_DEFAULTS, leaseMs: LEASE_MS, graceMs: 1000, listenUrl: UNHEARD };
  const store = await openStore(url, clock, new Telemetry(silentLog), { shared });
  t.after(() => store.close());
  return store;
}

async function setUp(t: TestContext): Promise<string> {
  assert.ok(server);
  return ownSchema(t, server);
}

/** Another server, as far as a store can see. */
const failOver = (url: string) => run(url, "update store set lineage = 'another'");

describe("rooms of several instances", { skip, timeout: 300_000 }, () => {
  it("are free once the lease is over, if they were given back while the database was away", async (t) => {
    const url = await setUp(t);
    const line = await Line.to(Number(new URL(url).port));
    t.after(() => line[Symbol.asyncDispose]());
    const cutOff = await open(t, url.replace(/:\d+\//, `:${line.port}/`));
    const other = await open(t, url);
    const never = await own(cutOff, ROOM);
    line.leadsTo = 1; // nobody listens there
    line.cut();
    await never.giveBack();
    assert.throws(() => never.assertHeld(), /no longer its owner/);
    line.leadsTo = Number(new URL(url).port);
    assert.equal(await other.ownership.take(ROOM), undefined, "the lease is good yet");
    await run(url, "select pg_sleep_until(lease_until) from room");
    await own(other, ROOM);
  });

  it("are not proved to an instance whose computer has slept for a lease, until it is renewed", async (t) => {
    let sleptMs = 0;
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() + sleptMs,
      uptime: () => systemClock.uptime() + sleptMs,
    };
    const store = await open(t, await setUp(t), clock);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [], "one");
    hold.assertHeld();
    sleptMs = LEASE_MS;
    assert.throws(() => hold.assertHeld(), /its lease cannot be proved/);
    const isProved = () => {
      try {
        hold.assertHeld();
        return true;
      } catch {
        return false;
      }
    };
    await eventually(true, isProved);
  });

  it("are moved with all their messages before the first one is taken, if the database is another one", async (t) => {
    const url = await setUp(t);
    const before = await open(t, url);
    const hold = await own(before, ROOM);
    await before.append(hold, hold.head, messages(["a", "b", "c"]), "one");
    await before.finish(hold, ENDED);
    await before.close();
    await failOver(url);
    const after = await open(t, url);
    const room = await after.getRoom(ROOM);
    assert.ok(room && room.base > hold.head + 3, "no cursor of before is one of now");
    assertStored(await readAll(after, ROOM), stored(room.base, ["a", "b", "c"]));
    const again = await own(after, ROOM);
    const added = await after.append(again, again.head, messages(["c", "d"]), "two");
    assertStored(added, stored(room.head, ["d"]));
    assertStored(await readAll(after, ROOM), stored(room.base, ["a", "b", "c", "d"]));
  });

  it("are moved before an idle instance takes its first one", async (t) => {
    const url = await setUp(t);
    const [owner, idle] = [await open(t, url), await open(t, url)];
    const hold = await own(owner, ROOM);
    await owner.append(hold, hold.head, messages(["a"]), "one");
    await hold.giveBack();
    await failOver(url);
    const taken = await own(idle, ROOM);
    assert.ok(taken.head > hold.head + 1);
    await assert.rejects(
      owner.append(hold, hold.head + 1, messages(["b"]), "two"),
      /fenced|no longer|given way/,
    );
  });

  it("are moved without a write to any message, so that their number does not matter", async (t) => {
    const url = await setUp(t);
    const store = await open(t, url);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, messages([...Array(500).keys()]), "one");
    const places = () => run(url, "select ctid, xmin from message order by cursor");
    const before = await places();
    assert.equal(await store.moveCursors(), 1);
    assert.deepEqual(await places(), before);
    assert.deepEqual((await store.read(ROOM, 0, 1))[0]?.cursor, 1 + ((await store.getRoom(ROOM))?.base ?? 0));
  });

  it("are read page by page in the order of an index, however many messages they hold", async (t) => {
    const url = await setUp(t);
    const store = await open(t, url);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, messages([...Array(5000).keys()]), "one");
    await run(url, "analyze");
    const plan = await run(url, `explain ${SQL.read}`, [ROOM, 0, 100]);
    assert.match(JSON.stringify(plan), /Index Scan using message_pkey/);
    assert.doesNotMatch(JSON.stringify(plan), /Sort/);
  });

  it("are all found by one look if their owner is gone", async (t) => {
    const url = await setUp(t);
    const [gone, other] = [await open(t, url), await open(t, url)];
    const names = Array.from({ length: HELD_ROOMS }, (_, n) => `room-${n}`);
    for (const name of names) {
      const hold = await own(gone, name);
      await gone.append(hold, hold.head, [], "one");
      gone.ownership.setViewers(name, 1);
    }
    await gone.ownership.watchedForMs(ROOM); // written
    await run(url, "update room set owner = null, lease_until = 'epoch'");
    for await (const found of other.ownership.orphans(1000, NEVER)) {
      assert.deepEqual([...found].sort(), names.sort());
      break;
    }
  });

  it("are free, and found, if the clock was set back while their owner was gone", async (t) => {
    const url = await setUp(t);
    const [gone, other] = [await open(t, url), await open(t, url)];
    const hold = await own(gone, ROOM);
    await gone.append(hold, hold.head, [], "one");
    gone.ownership.setViewers(ROOM, 1);
    await gone.ownership.watchedForMs(ROOM); // written
    const ahead = (time: string) =>
      run(
        url,
        `update room set owner = 'gone', epoch = epoch + 1, lease_until = clock_timestamp() + interval '${time}'`,
      );
    await ahead("2 hours");
    const found = other.ownership.orphans(1000, AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
    assert.deepEqual((await found.next()).value, [ROOM]);
    const [swept] = await run<{ lease_left_ms: number }>(url, SWEEP, [[ROOM]]);
    assert.equal(swept?.lease_left_ms, 0);
    await own(other, ROOM);
    await ahead("2 minutes");
    assert.equal(await gone.ownership.take(ROOM), undefined, "the lease is good yet");
  });

  it("are searched for an author by statements of bounded work, however many messages they hold", async (t) => {
    assert.ok(server);
    const { url } = await ownSchemaAndTime(t, server);
    const store = await open(t, url);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [], "one");
    await run(
      url,
      `insert into message (video_id, cursor, id, body, details, at)
        select video_id, head + n, n, $1, '{"authorId":"UC' || n % 30000 || '"}', clock_timestamp()
        from room, generate_series(1, 120000) n`,
      [messages(["a"])[0]?.body],
    );
    await run(url, "update room set head = head + 120000");
    // A statement that examines millions of messages takes longer than its time limit.
    await run(
      url,
      `create function strpos(text, text) returns int language plpgsql as $$
       declare looks int := coalesce(nullif(current_setting('test.looks', true), ''), '0')::int + 1;
       begin
         if looks > 50000 then raise exception 'too many messages for one statement'; end if;
         perform set_config('test.looks', looks::text, true);
         return pg_catalog.strpos($1, $2);
       end $$`,
    );
    const found = await store.find(ROOM, { authorId: "UC7" });
    assert.deepEqual(found.map(({ id }) => id).sort(), ["30007", "60007", "7", "90007"]);
  });

  it("know their age by the database's clock, and lose nothing if an instance's clock is wrong", async (t) => {
    const url = await setUp(t);
    const right = await open(t, url);
    const hold = await own(right, ROOM);
    await right.append(hold, hold.head, messages(["a"]), "one");
    for (const ms of [3_600_000, -3_600_000, 40 * DAY_MS]) {
      const wrong = await open(t, url, wrongBy(ms));
      assert.equal(await wrong.prune(30 * DAY_MS, 100), 0);
      const ago = (await wrong.getRoom(ROOM))?.readAgoMs ?? Number.NaN;
      assert.ok(ago >= 0 && ago < 30_000, `${ago} ms by a clock that is wrong by ${ms} ms`);
    }
    assert.equal((await readAll(right, ROOM)).length, 1);
  });

  it("count their age from the moment at which a checkpoint was written, however late it arrives", async (t) => {
    const url = await setUp(t);
    const store = await open(t, url);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, [], "one");
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    await blocker.query("begin; select from room for update");
    const late = store.append(hold, hold.head, [], "two");
    const waiting = "select from pg_locks where not granted and locktype = 'transactionid'";
    await eventually(1, async () => (await run(url, waiting)).length);
    await blocker.query("select pg_sleep(0.5); rollback");
    await blocker.end();
    await late;
    const { checkpoint, readAgoMs = 0 } = (await store.getRoom(ROOM)) ?? {};
    assert.equal(checkpoint, "two");
    assert.ok(readAgoMs >= 500, `${readAgoMs} ms`);
  });

  it("are pruned in bounded steps after a move, each step from where the last one ended", async (t) => {
    const url = await setUp(t);
    const store = await open(t, url);
    const hold = await own(store, ROOM);
    await store.append(hold, hold.head, messages([...Array(50).keys()]), "one");
    await store.finish(hold, ENDED);
    await failOver(url);
    const moved = await open(t, url);
    const ago = "clock_timestamp() - interval '40 days'";
    await run(url, `update room set checkpoint_at = ${ago}, final_at = ${ago}`);
    await run(url, "update message set at = at - interval '40 days'");
    assert.equal(await moved.prune(30 * DAY_MS, 20), 20);
    const room = await moved.getRoom(ROOM);
    assert.equal((room?.head ?? 0) - (room?.floor ?? 0), 30);
    assert.equal((await readAll(moved, ROOM)).length, 30);
    assert.equal(await moved.prune(30 * DAY_MS, 100), 30);
    assert.equal(await moved.getRoom(ROOM), undefined);
  });

  it("leave nothing behind if they were never read, even if all messages are kept", async (t) => {
    const url = await setUp(t);
    const store = await open(t, url);
    await own(store, ROOM);
    // With another epoch, the store does not renew its lease.
    await run(url, "update room set epoch = epoch + 1, lease_until = clock_timestamp() - interval '2 hours'");
    await run(url, "insert into interest values ('junk', 'gone', 1, clock_timestamp() - interval '2 hours')");
    await store.prune(Number.POSITIVE_INFINITY, 100);
    assert.deepEqual(await run(url, "select video_id from room union select video_id from interest"), []);
  });

  it("exist for nobody before they are first read", async (t) => {
    const url = await setUp(t);
    const [one, other] = [await open(t, url), await open(t, url)];
    const hold = await own(one, ROOM);
    assert.equal(await other.getRoom(ROOM), undefined);
    assert.deepEqual(await other.listRooms(10), []);
    await hold.giveBack();
    assert.deepEqual(await run(url, "select from room"), []);
  });

  it("are recorded by one instance until it leaves or stops reporting on them", async (t) => {
    const url = await setUp(t);
    const [one, other] = [await open(t, url), await open(t, url)];
    const names = ["@a", "@b", "@c"];
    for (const name of names) await one.recordings.addRecording(name);
    const both = await Promise.all(
      [one, other].map(({ recordings }) => recordings.runRecordings([], 60_000)),
    );
    assert.deepEqual(both.flat().sort(), names, "each by one");
    const report = { name: "@a", state: "recording", videoId: ROOM, error: null } as const;
    const [runs, waits] = both[0]?.includes("@a") ? [one, other] : [other, one];
    await waits.recordings.runRecordings([{ ...report, state: "ended" }], 60_000);
    assert.equal(
      (await one.recordings.listRecordings())[0]?.state,
      "waiting",
      "only who runs it reports on it",
    );
    assert.ok((await runs.recordings.runRecordings([report], 0)).includes("@a"));
    assert.ok((await waits.recordings.runRecordings([], 60_000)).includes("@a"), "it no longer says so");
    await waits.close();
    assert.deepEqual(
      (await runs.recordings.runRecordings([], 60_000)).sort(),
      names,
      "all that the other left",
    );
  });

  it("are to move to an instance with viewers of them, or to one that reads far fewer", async (t) => {
    const url = await setUp(t);
    let passedMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const [busy, idle] = [await open(t, url, clock), await open(t, url)];
    const names = Array.from({ length: 5 }, (_, n) => `room-${n}`);
    for (const name of names) {
      const hold = await own(busy, name);
      await busy.append(hold, hold.head, [], "one");
    }
    busy.ownership.setViewers("room-1", 1);
    await busy.ownership.watchedForMs(ROOM);
    assert.deepEqual(await busy.ownership.wantedElsewhere(names), []);
    assert.equal(await busy.ownership.oneTooMany(), undefined);
    idle.ownership.setViewers("room-3", 2);
    await idle.ownership.watchedForMs(ROOM);
    assert.deepEqual(await busy.ownership.wantedElsewhere(names), ["room-3"]);
    assert.deepEqual(await busy.ownership.wantedElsewhere(names, 1), ["room-3"]);
    assert.deepEqual(await busy.ownership.wantedElsewhere(names, 2), []);
    assert.equal(await busy.ownership.oneTooMany(), undefined, "it has only just taken it");
    passedMs = 10_000;
    assert.equal(await busy.ownership.oneTooMany(), "room-3");
    assert.equal(await idle.ownership.oneTooMany(), undefined);
  });
});
