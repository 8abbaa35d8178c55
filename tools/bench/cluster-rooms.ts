/**
 * Two instances on one PostgreSQL, with many rooms whose viewers are all on the one that ends: how long each
 * room is not read after a stop, and after a kill. Then a room with very many messages whose database is
 * replaced: how soon an instance serves, and whether all messages can be read from cursor 0.
 */
import { setTimeout as pause } from "node:timers/promises";
import { startSimulator } from "../../simulator/index.ts";
import { installedPostgres, run, startPostgres } from "../../test/chaos/cluster/postgres.ts";
import { untilServed } from "../../test/support/eventually.ts";
import { end, instances, longestPauseMs, ownSchema } from "./cluster-services.ts";
import { type Figures, percentile, report, settings } from "./rounds.ts";

const { rooms, messages } = settings({ rooms: 200, messages: 3_000_000 });
const IDS = Array.from({ length: rooms }, (_, n) => `manyrooms${n}`.padEnd(11, "-").slice(0, 11));
const INTERVAL_MS = 3000;
const WARM_MS = 10_000;
/** Enough for the lease and a check. */
const AFTER_MS = 15_000;
/** A pace that lets two instances carry all rooms. */
const PACE = { RELAY_GATE_CONCURRENCY: "32", RELAY_MAX_LATENESS_MS: "60000" };

const installed = installedPostgres();
if (typeof installed === "string") throw new Error(installed);
const postgres = await startPostgres(installed);
try {
  report("cluster-rooms", [await silence("stopped"), await silence("killed")]);
  report("cluster-history", [await history()]);
} finally {
  await postgres.remove();
}

/**
 * How long rooms were not read beyond their interval, without their viewers, and the gaps that they report.
 */
async function silence(how: "stopped" | "killed"): Promise<Figures> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const url = await ownSchema(postgres, how);
  const [going, staying] = await instances(2, url, upstream, stack, PACE);
  if (!going || !staying) throw new Error("there are two");
  await Promise.all([going.start(), staying.start()]);
  const chats = IDS.map((videoId) =>
    upstream.chat(videoId, {
      kinds: ["text"],
      timeoutMs: INTERVAL_MS,
      holdsMs: 10_000,
      holdsMessages: 200,
      page: 50,
    }),
  );
  for (const chat of chats) chat.say(2);
  const gone = new AbortController();
  for (const videoId of IDS) {
    const { status, body } = await fetch(`${going.url}/v1/stream?videoId=${videoId}`, {
      signal: gone.signal,
    });
    if (status !== 200) throw new Error(`${videoId}: ${status}`);
    body?.pipeTo(new WritableStream()).catch(() => {}); // it ends with its instance
  }
  const talks = chats.map((chat) => chat.speak(1));
  await pause(WARM_MS);
  const from = performance.now();
  await end(going, how);
  await pause(AFTER_MS);
  for (const talk of talks) talk.stop();
  const silences = IDS.map((videoId) => {
    const polls = upstream.requests.filter(
      (call) => call.videoId === videoId && call.kind === "get_live_chat",
    );
    const starts = polls.map(({ at }) => at).filter((at) => at > from - 2 * INTERVAL_MS);
    return longestPauseMs(starts) - INTERVAL_MS;
  });
  gone.abort();
  const [told] = await run<{ gaps: number }>(
    url,
    "select count(*)::int as gaps from message where id like 'gap:%'",
  );
  return {
    rooms: `${rooms} ${how}`,
    silenceP50Ms: percentile(silences, 0.5),
    silenceMaxMs: Math.max(...silences),
    gaps: told?.gaps ?? Number.NaN,
  };
}

/**
 * The time from the start of an instance on a replaced database until it serves, and until all its messages
 * are read.
 */
async function history(): Promise<Figures> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const url = await ownSchema(postgres, "history");
  const [before, after] = await instances(2, url, upstream, stack, PACE);
  if (!before || !after) throw new Error("there are two");
  const videoId = IDS[0] ?? "";
  const chat = upstream.chat(videoId, { kinds: ["text"], timeoutMs: INTERVAL_MS });
  chat.say(1);
  await before.start();
  const opened = await fetch(`${before.url}/v1/stream?videoId=${videoId}`);
  await opened.body?.getReader().read();
  await end(before, "stopped");
  await run(
    url,
    `insert into message (video_id, cursor, id, body, details, at)
     select video_id, head + n, 'made-' || n, '{"type":"chat","id":"made-' || n || '","timestamp":"","author":"a",'
       || '"message":"' || repeat('some words ', 10) || '","amount":"","color":"","parts":[]}', '{}', clock_timestamp()
     from room, generate_series(1, ${messages}) n`,
  );
  await run(url, `update room set head = head + ${messages}`);
  await run(url, "update store set lineage = 'another'");
  const from = performance.now();
  await after.start();
  await untilServed(`${after.url}/readyz`);
  const servesAfterMs = performance.now() - from;
  const readFrom = performance.now();
  const reader = await fetch(`${after.url}/v1/stream?videoId=${videoId}`, {
    headers: { "last-event-id": "0" },
  });
  let read = 0;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of reader.body ?? []) {
    const text = rest + decoder.decode(bytes, { stream: true });
    read += text.split("\nid: ").length - 1;
    rest = text.slice(-5);
    if (rest.includes("\nid: ")) read -= 1; // it is counted with what follows
    if (read > messages) break;
  }
  return {
    messages,
    servesAfterS: servesAfterMs / 1000,
    readFromCursor0: read,
    readAfterS: (performance.now() - readFrom) / 1000,
  };
}
