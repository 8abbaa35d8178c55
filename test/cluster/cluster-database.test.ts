/** How instances handle their database: it is emptied, fails over, goes away, or is behind a pooler. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { SCHEMA_VERSION } from "../../src/store/postgres/postgres-schema.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { Line } from "../chaos/line.ts";
import { eventually } from "../support/eventually.ts";
import { assertSame, CHAT, SETTINGS, setUpInstances, VIDEO } from "../support/instances.ts";
import { LeapingClock } from "../support/leaping-clock.ts";
import { noPooler, poolerTo } from "../support/pooler.ts";
import { noOwnPostgres, ownPostgres, testPostgres, UNHEARD } from "../support/postgres-server.ts";
import { metric, type TestRelay } from "../support/relay.ts";

const { skip, server } = await testPostgres();

const setUp = (t: TestContext) => setUpInstances(t, server);

describe("instances whose PostgreSQL changes", { skip, timeout: 300_000 }, () => {
  it("close streams without an end frame if the tables were emptied, and begin above every old cursor", async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(5);
    const relays = [
      await start({ RELAY_STORE_LISTEN_URL: UNHEARD }),
      await start({ RELAY_STORE_LISTEN_URL: UNHEARD }),
    ];
    const streams = [await watch(relays[0] as TestRelay), await watch(relays[1] as TestRelay)];
    await assertSame(streams, 5);
    await run(url, "truncate store, room, message, interest");
    for (const stream of streams) assert.equal(await stream.ended(), undefined);
    const old = streams[0]?.cursors.at(-1) ?? 0;
    for (const relay of relays) {
      const back = await watch(relay, { lastEventId: old });
      await back.untilMessages(1);
      assert.ok(back.init.cursor > old);
    }
    assert.deepEqual(await run(url, "select schema_version from store"), [
      { schema_version: SCHEMA_VERSION },
    ]);
  });

  it("report a lost database and its return, even if they only follow", async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    upstream.chat(VIDEO, CHAT).say(3);
    const { port } = new URL(url);
    const line = await Line.to(Number(port));
    t.after(() => line[Symbol.asyncDispose]());
    await watch(await start());
    const follower = await start({ RELAY_STORE: url.replace(`:${port}/`, `:${line.port}/`) });
    const following = await watch(follower);
    await following.untilMessages(3);
    line.leadsTo = 1; // nobody listens there
    line.cut();
    await eventually(0, () => metric(follower, "relay_store_available"));
    line.leadsTo = Number(port);
    await eventually(1, () => metric(follower, "relay_store_available"));
  });

  it("stop within eight seconds if it does not answer", async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    upstream.chat(VIDEO, CHAT).say(3);
    const { port } = new URL(url);
    const line = await Line.to(Number(port));
    t.after(() => line[Symbol.asyncDispose]());
    const clock = new LeapingClock();
    const relay = await start({ RELAY_STORE: url.replace(`:${port}/`, `:${line.port}/`) }, clock);
    const stream = await watch(relay);
    await stream.untilMessages(3);
    line.silence();
    const stopping = relay.service.stop();
    for (let leapt = 0; leapt < 8000; leapt += 100) {
      clock.leap(100);
      await turn();
    }
    await stopping;
  });

  it("skip nothing silently after a failover that may have lost data", async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(5);
    const relay = await start({ RELAY_STORE_LISTEN_URL: UNHEARD });
    const stream = await watch(relay);
    await stream.untilMessages(5);
    await run(url, "update store set lineage = 'another server'");
    assert.equal(await stream.ended(), undefined);
    const old = stream.cursors.at(-1) ?? 0;
    const back = await watch(relay, { lastEventId: old });
    assert.ok(back.init.cursor > old, `${back.init.cursor} and ${old}`);
    chat.say(3);
    await back.until(() => back.ids.length >= 3);
    const all = await watch(relay, { lastEventId: 0 });
    await all.untilMessages(8);
    assert.deepEqual(
      all.ids,
      chat.ledger.map(({ id }) => id),
      "the history stays",
    );
  });

  it("work through a pooler in transaction mode, with LISTEN at the server and without LISTEN", {
    skip: noPooler,
  }, async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const schema = new URL(url).searchParams.get("options")?.replace("-c search_path=", "") ?? "";
    const RELAY_STORE = await poolerTo(t, url, schema);
    const direct = { RELAY_STORE, RELAY_STORE_LISTEN_URL: url };
    const relays = [await start(direct), await start(direct), await start({ RELAY_STORE })];
    const streams = await Promise.all(relays.map((relay) => watch(relay)));
    for (let said = 6; said <= 15; said += 3) {
      chat.say(3);
      await assertSame(streams, said);
    }
    const hears = async () => Promise.all(relays.map((relay) => metric(relay, "relay_store_notify")));
    await eventually("1,1,0", async () => (await hears()).join());
    await relays[0]?.service.stop();
    chat.say(3);
    await assertSame(streams.slice(1), 18);
  });

  it("keep viewers while PostgreSQL is away, call no upstream, and continue when it is back", {
    skip: noOwnPostgres(),
  }, async (t) => {
    const own = await ownPostgres(t);
    const { upstream, start, watch } = await setUpInstances(t, own);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const clock = new LeapingClock();
    const relays = [await start({}, clock), await start({}, clock)];
    const streams = await Promise.all(relays.map((relay) => watch(relay)));
    await assertSame(streams, 3);
    await own.stop();
    for (const relay of relays) await readiness(relay, 503);
    clock.leap(2 * Number(SETTINGS.RELAY_LEASE_MS)); // no lease can be proved any more
    for (const relay of relays) await readiness(relay, 503); // calls in flight have arrived
    const asked = upstream.requests.length;
    chat.say(4);
    for (let polls = 0; polls < 20; polls++) {
      clock.leap(CHAT.timeoutMs);
      for (const relay of relays) await readiness(relay, 503);
    }
    assert.equal(upstream.requests.length, asked);
    await own.start();
    for (const relay of relays) await readiness(relay, 200);
    chat.say(2);
    await assertSame(streams, 9);
  });
});

/** Resolves once an instance answers so whether it is ready. */
async function readiness({ url }: TestRelay, status: number): Promise<void> {
  await eventually(status, async () => (await fetch(`${url}/readyz`)).status);
}
