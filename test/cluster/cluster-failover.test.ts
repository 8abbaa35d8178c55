/**
 * A standby that takes the primary's place without its last commits: nothing that viewers were sent is lost
 * silently.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createParser } from "eventsource-parser";
import { startSimulator } from "../../simulator/index.ts";
import { parseVector } from "../../src/protocol/merged-id.ts";
import { installedPostgres, run, startPostgres } from "../chaos/cluster/postgres.ts";
import { Line } from "../chaos/line.ts";
import { eventually } from "../support/eventually.ts";
import { noPooler, poolerTo } from "../support/pooler.ts";
import { UNHEARD } from "../support/postgres-server.ts";
import { startRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "jNQXAC9IVRw";
const installed = installedPostgres();
const skip = typeof installed === "string" ? installed : noPooler;

/** As many messages as the standby has, as get lost with the primary, and as come after it. */
const [KEPT, LOST, LATER] = [5, 4, 6];

interface Sent {
  event: string;
  /** The cursors of all chats after this event; undefined if it names none. */
  cursors: (number | undefined)[] | undefined;
  data: { videoId: string; id: string; cursor: number };
}

/** Both chats on one connection. */
class Merged implements AsyncDisposable {
  readonly events: Sent[] = [];
  readonly #abort = new AbortController();
  readonly #over: Promise<void>;

  constructor(url: string, lastEventId?: string) {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const path = `${url}/v1/merged?videoIds=${VIDEO},${OTHER}`;
    this.#over = this.#read(path, headers).catch(() => {});
  }

  async #read(path: string, headers: Record<string, string>): Promise<void> {
    const parser = createParser({
      onEvent: ({ event = "", id, data }) => {
        if (id !== undefined) this.lastId = id;
        this.events.push({ event, cursors: parseVector(id, 2), data: JSON.parse(data) });
      },
    });
    const { body } = await fetch(path, { headers, signal: this.#abort.signal });
    for await (const bytes of body ?? []) parser.feed(Buffer.from(bytes).toString());
  }

  lastId: string | undefined;

  of(videoId: string): Sent[] {
    return this.events.filter(({ data }) => data.videoId === videoId);
  }

  has(videoId: string, id: string | undefined): boolean {
    return this.of(videoId).some(({ data }) => data.id === id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#over;
  }
}

/**
 * Asserts that no cursor of a chat is that of two messages, and that each message follows the one before it,
 * or an `init`, which shows that some may be lost.
 */
function assertTold(place: number, lines: readonly (readonly Sent[])[]): void {
  const known = new Map<number, string>();
  for (const events of lines) {
    let last = Number.NaN;
    for (const { event, cursors, data } of events) {
      if (event === "init") last = data.cursor;
      if (event !== "message") continue;
      const cursor = cursors?.[place] ?? Number.NaN;
      assert.equal(cursor, last + 1);
      assert.equal(known.get(cursor) ?? data.id, data.id, `of two messages: ${cursor}`);
      known.set(cursor, data.id);
      last = cursor;
    }
  }
}

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
    const other = upstream.chat(OTHER, { kinds: ["text"], timeoutMs: 20, tokens: "reusable" });
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
    const merged = stack.use(new Merged(relays[1]?.url ?? ""));
    const both = [
      [VIDEO, chat],
      [OTHER, other],
    ] as const;
    const isUpToDate = (line: Merged) =>
      both.every(([videoId, { ledger }]) => line.has(videoId, ledger.at(-1)?.id));
    await eventually(2, () => merged.events.filter(({ event }) => event === "init").length);
    other.say(KEPT);
    await eventually(true, () => merged.has(OTHER, other.ledger.at(-1)?.id));
    const rowsOf = async (table: string) => (await run(standby.url, `select from ${table}`)).length;
    await eventually(2 * KEPT, () => rowsOf("message"));
    await run(standby.url, "alter system set primary_conninfo = ''");
    await run(standby.url, "select pg_reload_conf()");
    await eventually(0, () => rowsOf("pg_stat_wal_receiver"));
    for (const [, one] of both) one.say(LOST);
    await Promise.all(streams.map((stream) => stream.untilMessages(KEPT + LOST)));
    await eventually(true, () => isUpToDate(merged));
    const lastId = merged.lastId;
    const last = streams.map(({ cursors }) => cursors.at(-1) ?? 0);
    await primary.stop();
    await run(standby.url, "select pg_promote()");
    line.leadsTo = standby.port;
    line.cut();
    assert.equal(await rowsOf("message"), 2 * KEPT, "the standby lags");
    for (const [, one] of both) one.say(LATER);
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
    const back = stack.use(new Merged(relays[0]?.url ?? "", lastId));
    for (const line of [merged, back]) await eventually(true, () => isUpToDate(line));
    for (const [place, [videoId]] of both.entries())
      assertTold(
        place,
        [merged, back].map((line) => line.of(videoId)),
      );
    const idsOf = (videoId: string) => `select id from message where video_id = '${videoId}' order by cursor`;
    assert.deepEqual(
      (await run<{ id: string }>(standby.url, idsOf(VIDEO))).map(({ id }) => id),
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
