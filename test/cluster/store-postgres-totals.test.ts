/** The totals of rooms in a database that several instances use. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import { TALLY_SQL } from "../../src/store/postgres/postgres-tallies.ts";
import { encodeMessage } from "../../src/store/stored-message.ts";
import { NO_TOTALS } from "../../src/store/totals.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { eventually } from "../support/eventually.ts";
import { ownSchemaAndTime, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { own } from "../support/store-reading.ts";
import { BORN_MS, type FullStore, openFor, ROOM } from "../support/store-subject.ts";
import { paid, said } from "../support/totals-judge.ts";

const { skip, server } = await testPostgres();

const AUTHORS = 9;

const chats = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) =>
    encodeMessage(said("superchat", `s${from + n}`, { ...paid(0.1), authorId: `UC${n % AUTHORS}` })),
  );

async function counted(store: FullStore) {
  const { totals, uncounted } = (await store.getAccount(ROOM)) ?? {};
  return { count: totals?.paid.EUR?.count, authors: totals?.authors, uncounted };
}

/** A room of 100 uncounted messages, and two stores on its database. */
async function uncountedRoom(t: TestContext) {
  const { url, setTime } = await ownSchemaAndTime(t, server as PostgresServer);
  await setTime(BORN_MS); // then no head passes a multiple of 500, at which a store counts by itself
  const stores = [await openFor(t, url), await openFor(t, url)] as const;
  const hold = await own(stores[0], ROOM);
  await stores[0].append(hold, hold.head, chats(0, 100), "");
  return { url, stores, hold };
}

const WAITING = "select from pg_locks where not granted and relation = 'tally_item'::regclass";

describe("the totals in PostgreSQL", { skip }, () => {
  it("count each message once, even if two instances count at the same time", async (t) => {
    const { stores, hold } = await uncountedRoom(t);
    const [one, two] = stores;
    const count = async (store: FullStore) => {
      while ((await store.tally(ROOM, 7)) > 0);
    };
    await Promise.all([count(one), count(two), one.append(hold, hold.head + 100, chats(100, 130), "")]);
    assert.deepEqual(await counted(two), { count: 130, authors: AUTHORS, uncounted: 0 });
  });

  it("continue at the floor if messages were pruned uncounted", async (t) => {
    const { url, stores, hold } = await uncountedRoom(t);
    await stores[0].tally(ROOM, 10);
    await run(url, "delete from message where seq <= (select min(seq) + 29 from message)");
    await run(url, "update room set floor = floor + 30");
    assert.equal((await stores[1].getAccount(ROOM))?.uncounted, 0);
    assert.deepEqual(await counted(stores[0]), { count: 80, authors: AUTHORS, uncounted: 0 });
    await stores[0].append(hold, hold.head + 100, chats(100, 101), "");
    assert.equal((await counted(stores[1])).count, 81);
  });

  /** Counts a hundred and one messages, while another instance finds the totals of the hundred unreadable. */
  async function foundUnreadable(t: TestContext, isPruned: boolean) {
    const { url, stores, hold } = await uncountedRoom(t);
    await counted(stores[0]);
    if (isPruned) await run(url, "with gone as (delete from message) update room set floor = head");
    await stores[0].append(hold, hold.head + 100, chats(100, 101), "");
    const [tally] = await run<{ born: string; cursor: string }>(url, "select * from tally");
    await using held = new AsyncDisposableStack();
    const client = held.adopt(new Client({ connectionString: url }), (each) => each.end());
    await client.connect();
    await client.query("begin; lock table tally_item in access exclusive mode");
    const counting = stores[1].tally(ROOM, 10); // reads the totals, and waits for the items
    await eventually(1, async () => (await run(url, WAITING)).length);
    await client.query(TALLY_SQL.forget, [ROOM, tally?.born, tally?.cursor, JSON.stringify(NO_TOTALS)]);
    await client.query("commit");
    assert.equal(await counting, 1);
    return await counted(stores[0]);
  }

  it("are not continued once another instance has found them unreadable", async (t) => {
    assert.deepEqual(await foundUnreadable(t, false), { count: 101, authors: AUTHORS, uncounted: 0 });
  });

  it("are not continued then even if all the messages that they counted are deleted", async (t) => {
    assert.deepEqual(await foundUnreadable(t, true), { count: 1, authors: 1, uncounted: 0 });
  });
});
