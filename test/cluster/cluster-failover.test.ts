/**
 * A standby that takes the primary's place without its last commits: nothing that viewers were sent is lost
 * silently.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startSimulator } from "../../src/simulator/index.ts";
import { installedPostgres, run, startPostgres } from "../chaos/cluster/postgres.ts";
import { Line } from "../chaos/line.ts";
import { eventually } from "../support/eventually.ts";
import { noPooler, poolerTo } from "../support/pooler.ts";
import { UNHEARD } from "../support/postgres-server.ts";
import { startRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const installed = installedPostgres();
const skip = typeof installed === "string" ? installed : noPooler;

/** As many messages as the standby has, as get lost with the primary, and as come after it. */
const [KEPT, LOST, LATER] = [5, 4, 6];

describe("a lagging standby that is promoted, behind a pooler and without LISTEN", {
  skip,
  timeout: 300_000,
}, () => {
  it("gives no old cursor to another message, and skips none without a sign", async (t) => {
    if (typeof installed === "string") return;
    await using stack = new AsyncDisposableStack();
    const primary = stack.adopt(await startPostgres(installed), (server) => server.remove());
    const standby = stack.adopt(await startPostgres(installed, { primary }), (server) => server.remove());
    const line = stack.use(await Line.to(primary.port));
    const url = await poolerTo(t, primary.url.replace(`:${primary.port}/`, `:${line.port}/`), "public");
    const upstream = stack.use(await startSimulator());
    const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, tokens: "reusable" });
    const settings = {
      RELAY_STORE: url,
      RELAY_STORE_LISTEN_URL: UNHEARD,
      RELAY_DRAIN_MS: "0",
    };
    const relays = [
      stack.use(await startRelay({ upstream, settings })),
      stack.use(await startRelay({ upstream, settings })),
    ];
    const watch = (n: number, lastEventId?: number) =>
      Stream.open(relays[n]?.url ?? "", { videoId: VIDEO, ...(lastEventId && { lastEventId }) });

    chat.say(KEPT);
    const streams = [stack.use(await watch(0)), stack.use(await watch(1))];
    await Promise.all(streams.map((stream) => stream.untilMessages(KEPT)));
    const rowsOf = async (table: string) => (await run(standby.url, `select from ${table}`)).length;
    await eventually(KEPT, () => rowsOf("message"));
    await run(standby.url, "alter system set primary_conninfo = ''");
    await run(standby.url, "select pg_reload_conf()");
    await eventually(0, () => rowsOf("pg_stat_wal_receiver"));
    chat.say(LOST);
    await Promise.all(streams.map((stream) => stream.untilMessages(KEPT + LOST)));
    const last = streams.map(({ cursors }) => cursors.at(-1) ?? 0);
    await primary.stop();
    await run(standby.url, "select pg_promote()");
    line.leadsTo = standby.port;
    line.cut();
    assert.equal(await rowsOf("message"), KEPT, "the standby lags");
    chat.say(LATER);
    for (const stream of streams) {
      await stream.until(() => stream.over, "the end of what was followed");
      assert.equal(await stream.ended(), undefined, "without a word");
    }
    for (const [n, stream] of streams.entries()) {
      await eventually(200, async () => (await fetch(`${relays[n]?.url}/readyz`)).status);
      const sent = new Map(stream.messages.map(({ cursor, message }) => [cursor, message.id]));
      const back = stack.use(await watch(n, last[n]));
      await back.until(() => back.ids.at(-1) === chat.ledger.at(-1)?.id, "the newest message");
      assert.ok(back.init.cursor > (last[n] ?? 0), `told by init.cursor: ${back.init.cursor}`);
      for (const { cursor, message } of back.messages)
        assert.ok(!sent.has(cursor), `cursor ${cursor} was ${sent.get(cursor)} and is ${message.id}`);
    }
    assert.deepEqual(
      (await run<{ id: string }>(standby.url, "select id from message order by cursor")).map(({ id }) => id),
      chat.ledger.map(({ id }) => id),
    );
    const history = stack.use(await Stream.open(relays[0]?.url ?? "", { videoId: VIDEO, lastEventId: 0 }));
    await history.untilMessages(chat.ledger.length);
    assert.deepEqual(
      history.ids,
      chat.ledger.map(({ id }) => id),
      "all that was kept, under its new cursors",
    );
  });
});
