/**
 * A history of millions of messages in one room: the time of a page by cursor and by time, and of a search
 * through 20,000 messages; and, while 50 clients walk through it, the longest wait of `/healthz` and the
 * delay of a live chat. In SQLite, and in PostgreSQL if it is installed.
 *
 *     npm run bench -- history [--messages 5000000 --pages 1000 --walkers 50 --seconds 40]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { openDatabase } from "../../src/store/sqlite/sqlite-schema.ts";
import { installedPostgres, run, startPostgres } from "../../test/chaos/cluster/postgres.ts";
import { startReaders, systemMs } from "./readers.ts";
import { cpuMs, type Figures, percentile, report, settings } from "./rounds.ts";
import { type RelayServed, serveRelay } from "./servers.ts";
import { startWalkers } from "./walkers.ts";

const VIDEO = "bench-histo";
const LIVE = "bench-live1";
const DAY_MS = 24 * 3_600_000;
const SPAN_MS = 30 * DAY_MS;
const SEARCHES = 50;
/** Time between two live messages, and between two reads of `/healthz`. */
const LIVE_MS = 100;
const HEALTH_MS = 5;
const VIEWERS = 20;

const { messages, pages, walkers, seconds } = settings({
  messages: 5_000_000,
  pages: 1000,
  walkers: 50,
  seconds: 40,
});
const bornAt = Date.now() - SPAN_MS;
const [floor, head] = [bornAt, bornAt + messages];
const storedAt = (n: number) => bornAt + Math.floor((SPAN_MS * n) / messages);

/** About as large as a chat message with its details. `n`, in seven digits, makes it unlike the others. */
const text = "what people say in a chat, in a few words";
const body = (n: string) =>
  JSON.stringify({
    type: "chat",
    id: `ChwKGkNJYW5uS3FEOGZNREZZ${n}`,
    timestamp: "8:35 AM",
    author: `@viewer-${n}`,
    message: `${text} ${n}`,
    amount: "",
    color: "",
    parts: [{ kind: "text", text: `${text} ${n}` }],
  });
const details = (n: string) =>
  JSON.stringify({
    authorId: `UCaaaaaaaaaaaaaaa${n}`,
    authorPhoto: `https://yt4.ggpht.com/${"p".repeat(90)}`,
    publishedAt: "2026-11-20T20:17:31.123456Z",
    upstreamKind: "liveChatTextMessageRenderer",
  });
const CHECKPOINT = "{}";

function fillFile(path: string): void {
  const database = openDatabase(path);
  const ended = JSON.stringify({ state: "ended", reason: "no more continuations" });
  database.exec("begin");
  database
    .prepare(
      `insert into room (key, video_id, epoch, base, floor, head, checkpoint, checkpoint_at, ending, ended_at)
       values (1, ?, 1, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(VIDEO, floor, floor, head, CHECKPOINT, Date.now(), ended, Date.now());
  const insert = database.prepare(
    "insert into message (room, cursor, at, id, body, details) values (1, ?, ?, ?, ?, ?)",
  );
  for (let n = 1; n <= messages; n++) {
    const name = String(n).padStart(7, "0");
    insert.run(floor + n, storedAt(n), `m${name}`, body(name), details(name));
  }
  database.exec("commit");
  database.close();
}

async function fillServer(url: string): Promise<void> {
  const sql = (json: string) => `replace('${json}', '0000000', lpad(n::text, 7, '0'))`;
  await run(
    url,
    `insert into room (video_id, base, floor, head, state, detail, final_at, epoch, lease_until, checkpoint, checkpoint_at)
     values ($1, $2, $2, $3, 'ended', $4, now(), 1, 'epoch', $5, now())`,
    [VIDEO, floor, head, JSON.stringify({ state: "ended", reason: "no more continuations" }), CHECKPOINT],
  );
  await run(
    url,
    `insert into message (video_id, cursor, id, body, details, at)
     select '${VIDEO}', ${floor} + n, 'm' || n, ${sql(body("0000000"))}, ${sql(details("0000000"))},
       to_timestamp((${bornAt} + ${SPAN_MS}::bigint * n / ${messages}) / 1000.0)
     from generate_series(1, ${messages}) n`,
  );
  await run(url, "analyze message");
}

/** Calls on one connection; each resolves to its time in milliseconds. */
function caller(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (path: string) =>
    new Promise<number>((resolve, reject) => {
      const startedAt = performance.now();
      const request = get({ agent, port, host: "127.0.0.1", path }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path} was answered ${response.statusCode}`));
        response.on("end", () => resolve(performance.now() - startedAt)).resume();
      });
      request.on("error", reject);
    });
}

/** The times of calls one after another. */
async function times(count: number, call: () => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) all.push(await call());
  return all;
}

/** The delay of live messages and of `/healthz` for some seconds. */
async function whileServing({ port, upstream }: RelayServed, chat: Chat) {
  using readers = await startReaders(port, `/v1/stream?videoId=${LIVE}&backfill=0`, VIEWERS);
  const systemOffset = systemMs() - performance.now();
  const health: number[] = [];
  const ask = caller(port);
  const ends = performance.now() + seconds * 1000;
  const asking = (async () => {
    while (performance.now() < ends) {
      health.push(await ask("/healthz"));
      await pause(HEALTH_MS);
    }
  })();
  const delays: number[] = [];
  await readers.received();
  while (performance.now() < ends) {
    const polled = upstream.requested("get_live_chat", { finished: true, videoId: LIVE });
    chat.say(1);
    const [answer] = await polled;
    await pause(LIVE_MS);
    const sentAt = (answer?.finishedAt ?? Number.NaN) + systemOffset;
    delays.push(...(await readers.received()).arrivals.map((at) => at - sentAt));
  }
  await asking;
  return { live: delays, health };
}

async function measure(store: string, url: string): Promise<Figures> {
  await using relay = await serveRelay({
    RELAY_STORE: url,
    RELAY_RETENTION_DAYS: "0",
    RELAY_POLL_MIN_MS: String(LIVE_MS),
  });
  const chat = relay.upstream.chat(LIVE, { kinds: ["text"], timeoutMs: LIVE_MS });
  chat.say(1);
  const path = `/v1/messages?videoId=${VIDEO}`;
  const call = caller(relay.port);
  const anywhere = () => Math.random();
  const byCursor = () => call(`${path}&after=${floor + Math.floor(anywhere() * (messages - 1000))}`);
  const byTime = () => call(`${path}&from=${bornAt + Math.floor(anywhere() * SPAN_MS)}`);
  const bySearch = () =>
    call(`${path}&q=nobody+says+this&after=${floor + Math.floor(anywhere() * (messages / 2))}`);
  for (const warm of [byCursor, byTime, bySearch]) await times(20, warm);
  const usedMs = cpuMs(relay.pid);
  const cursor = await times(pages, byCursor);
  const pageCpuMs = (cpuMs(relay.pid) - usedMs) / pages;
  const time = await times(pages, byTime);
  const search = await times(SEARCHES, bySearch);
  const alone = await whileServing(relay, chat);
  using walking = await startWalkers({
    url: `http://127.0.0.1:${relay.port}${path}`,
    floor,
    head,
    count: walkers,
  });
  const before = await walking.report();
  const startedAt = performance.now();
  const beside = await whileServing(relay, chat);
  const pagesPerSecond = (((await walking.report()) - before) / (performance.now() - startedAt)) * 1000;
  return {
    store,
    messages,
    pageCpuMs,
    cursorP50Ms: percentile(cursor, 0.5),
    cursorP99Ms: percentile(cursor, 0.99),
    timeP50Ms: percentile(time, 0.5),
    timeP99Ms: percentile(time, 0.99),
    searchP50Ms: percentile(search, 0.5),
    healthMaxMs: percentile(alone.health, 1),
    liveP50Ms: percentile(alone.live, 0.5),
    liveP99Ms: percentile(alone.live, 0.99),
    walkers,
    pagesPerSecond,
    besideHealthP99Ms: percentile(beside.health, 0.99),
    besideHealthMaxMs: percentile(beside.health, 1),
    besideLiveP50Ms: percentile(beside.live, 0.5),
    besideLiveP99Ms: percentile(beside.live, 0.99),
  };
}

const rows: Figures[] = [];
const folder = await mkdtemp(join(tmpdir(), "bench-history-"));
const file = join(folder, "relay.db");
fillFile(file);
rows.push(await measure("sqlite", `sqlite:${file}`));
await rm(folder, { recursive: true });
const installed = installedPostgres();
if (typeof installed === "string") console.log(installed);
else {
  const server = await startPostgres(installed);
  await (await serveRelay({ RELAY_STORE: server.url }))[Symbol.asyncDispose](); // creates the tables
  await fillServer(server.url);
  rows.push(await measure("postgres", server.url));
  await server.remove();
}
report("history", rows);
