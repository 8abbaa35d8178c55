/**
 * Several instances on one PostgreSQL: one reads each chat, all serve it, and any of them can be replaced.
 */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import type { Simulator } from "../../simulator/index.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { eventually } from "../support/eventually.ts";
import { assertSame, CHAT, setUpInstances, VIDEO } from "../support/instances.ts";
import { itemsOf, type LogAnswer, polledUpToNow, readEvents, readLog } from "../support/log.ts";
import { textAction } from "../support/opening.ts";
import { testPostgres } from "../support/postgres-server.ts";
import { metric, roomsIn } from "../support/relay.ts";

const BOOTSTRAP_KINDS = ["sw.js", "sw.js_data", "popout", "watch", "next"];

const { skip, server } = await testPostgres();

const setUp = (t: TestContext) => setUpInstances(t, server);

const bootstraps = ({ requests }: Simulator) =>
  requests.filter(({ kind }) => BOOTSTRAP_KINDS.includes(kind)).length;

describe("instances on one PostgreSQL", { skip, timeout: 300_000 }, () => {
  it("read a chat once, and serve the same messages under the same cursors", async (t) => {
    const { upstream, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const relays = await Promise.all([start(), start(), start()]);
    const streams = await Promise.all(relays.map((relay) => watch(relay)));
    for (let said = 4; said <= 20; said += 4) {
      chat.say(4);
      await assertSame(streams, said);
    }
    // On a busy machine, a late answer is completed from a further page, whose own token is asked once.
    assert.equal(upstream.requests.filter(({ kind }) => kind === "sw.js").length, 1);
    const tokens = upstream.requests.flatMap(({ continuation }) => continuation ?? []);
    assert.ok(tokens.length > 5);
    assert.equal(new Set(tokens).size, tokens.length, "one poller asks for each token once");
    chat.end("reload-only");
    for (const stream of streams) assert.equal((await stream.ended())?.event, "end");
  });

  it("serve one log, by pages, polls and events, to its end", async (t) => {
    const { upstream, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const settings = { RELAY_LOG_SSE_MS: "0" };
    const relays = await Promise.all([start(settings), start(settings)]);
    const streams = await Promise.all(relays.map((relay) => watch(relay)));
    await assertSame(streams, 3);
    const everywhere = (query: Record<string, string>) =>
      Promise.all(relays.map(({ url }) => readLog(url, VIDEO, query)));
    const same = async (answers: Promise<LogAnswer[]>) => {
      const [first = assert.fail(), ...others] = await answers;
      const told = ({ status, text, next, isClosed, headers }: LogAnswer) => [
        ...[status, text, next, isClosed],
        ...[headers.get("etag"), headers.get("cache-control")],
      ];
      for (const other of others) assert.deepEqual(told(other), told(first));
      return first;
    };
    const page = await same(everywhere({ offset: "-1" }));
    assert.equal(page.cursors.length, 3);
    for (const { url } of relays) assert.deepEqual(await polledUpToNow(url, VIDEO), JSON.parse(page.text));
    const polled = everywhere({ offset: page.next, live: "long-poll" });
    for (const relay of relays) await eventually(2, () => metric(relay, "relay_viewers"));
    chat.say(1);
    const { next } = await same(polled);
    const closed = everywhere({ offset: next, live: "long-poll" });
    for (const relay of relays) await eventually(2, () => metric(relay, "relay_viewers"));
    chat.end("reload-only");
    const end = await same(closed);
    assert.deepEqual([end.status, end.next, end.isClosed], [204, next, true]);
    for (const query of [{ offset: next }, { offset: "now" }, { offset: next, live: "long-poll" }])
      assert.deepEqual([(await same(everywhere(query))).isClosed, query], [true, query]);
    const all = await same(everywhere({ offset: "-1" }));
    assert.equal(all.cursors.length, 4);
    for (const { url } of relays) {
      const { events } = await readEvents(url, VIDEO, "-1");
      assert.deepEqual(itemsOf(events), JSON.parse(all.text));
      const control = { streamNextOffset: next, streamClosed: true, upToDate: true };
      assert.deepEqual(events.at(-1), { event: "control", data: control });
    }
  });

  it("continue from the checkpoint if a lease expires just while a viewer's room is being opened", async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const owner = await start();
    const seen = await watch(owner);
    await seen.untilMessages(3);
    await owner.service.stop();
    const before = bootstraps(upstream);
    const relay = await start();
    await run(url, "update room set owner = 'dead', lease_until = clock_timestamp() + interval '1 s'");
    // An instance that finds the lease valid then waits for the row, until the lease is over.
    const held = new Client({ connectionString: url });
    await using ending = new AsyncDisposableStack();
    ending.defer(() => held.end());
    await held.connect();
    await held.query("begin; select from room for update");
    const coming = watch(relay, { lastEventId: seen.cursors.at(-1) ?? 0 });
    const waiting =
      "select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database() and query like 'with here as (%')";
    await eventually(1, async () => (await run(url, waiting)).length);
    await held.query("select pg_sleep_until(lease_until) from room; rollback");
    const back = await coming;
    chat.say(2);
    await back.untilMessages(2);
    assert.equal(bootstraps(upstream), before);
    assert.equal(await metric(relay, "relay_rooms_resumed_total"), 1);
  });

  it("continue from the checkpoint if another one read a chat meanwhile that waits to be opened", async (t) => {
    const { upstream, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const pages = () =>
      upstream.requests.filter(({ kind, videoId }) => kind === "popout" && videoId === VIDEO).length;
    const relay = await start({ RELAY_GATE_SPACING_MS: "1000" }); // opens one chat at a time
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
    const answer = async (response: ServerResponse) => {
      await isRead;
      response.writeHead(404).end();
    };
    upstream.fault({ on: "popout", videoId: "another-one", times: 1, as: { answer } });
    const refused = fetch(`${relay.url}/v1/stream?videoId=another-one`);
    await upstream.requested("popout", { videoId: "another-one" });
    const coming = watch(relay);
    await roomsIn(relay, "bootstrapping", 2);
    const other = await start();
    await (await watch(other)).untilMessages(3);
    await other.service.stop();
    chat.say(2);
    read();
    await (await coming).untilMessages(5);
    assert.equal(pages(), 1);
    assert.equal((await refused).status, 404);
    assert.equal(await metric(relay, "relay_rooms_resumed_total"), 1);
  });

  it("release a room once it has had no viewer on any of them for the grace time", async (t) => {
    const { upstream, url, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const graceMs = 2000; // a machine that is held up must not let it pass between two counts
    const [owner, other] = [
      await start({ RELAY_GRACE_MS: `${graceMs}` }),
      await start({ RELAY_GRACE_MS: `${graceMs}` }),
    ];
    const first = await watch(owner);
    const second = await watch(other);
    await first.close();
    await roomsIn(owner, "lingering");
    // The wait is real: the database's clock decides whether a viewer elsewhere keeps the room.
    for (const until = performance.now() + 1.5 * graceMs; performance.now() < until; ) {
      chat.say(1);
      await second.untilMessages(chat.ledger.length);
    }
    assert.equal(await stateOf(url), "polling", "the other's viewer keeps it");
    const leftAt = performance.now();
    await second.close();
    await eventually("released", () => stateOf(url));
    const tookMs = performance.now() - leftAt;
    assert.ok(tookMs >= graceMs - 50, `released after ${tookMs} ms`);
    await roomsIn(owner, "lingering", 0);
    const again = await watch(other, { lastEventId: second.cursors.at(-1) ?? second.init.cursor });
    assert.equal(again.init.cursor, second.cursors.at(-1) ?? second.init.cursor);
  });

  it("blank deleted messages for later viewers of each instance", async (t) => {
    const { upstream, start, watch } = await setUp(t);
    const chat = upstream.chat(VIDEO, CHAT);
    const relays = [await start({ RELAY_DELETED: "blank" }), await start({ RELAY_DELETED: "blank" })];
    const live = await Promise.all(relays.map((relay) => watch(relay)));
    chat.say([textAction("a"), textAction("b")]);
    await assertSame(live, 2);
    chat.say([{ markChatItemAsDeletedAction: { targetItemId: "a" } }]);
    await assertSame(live, 3);
    for (const relay of relays) {
      const later = await (await watch(relay, { backfill: 10 })).untilMessages(3);
      assert.deepEqual(
        later.map(({ message }) => message.message),
        ["", "b", ""],
      );
    }
  });
});

async function stateOf(url: string): Promise<string | undefined> {
  return (await run<{ state: string }>(url, "select state from room"))[0]?.state;
}
