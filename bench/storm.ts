/**
 * Everybody comes back at once: viewers that call in one turn, each 50 messages behind, beside live viewers of another
 * room; against Nchan with its buffer. How long it takes until all have caught up, by the clock and in CPU time of the
 * server, the longest that a live viewer waited for its message meanwhile, and what connections the system lost.
 *
 *     npm run bench:storm [-- --viewers 2000]
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Readers, startReaders, systemMs } from "./readers.ts";
import { cpuMs, type Figures, inRounds, median, ratio, report, settings } from "./rounds.ts";
import { nchanVersion, type Served, serveNchan, serveRelay } from "./servers.ts";

const BEHIND = 50;
const LIVE_VIEWERS = 50;
/** Between two messages to the live viewers. */
const EVERY_MS = 100;
/** Before and after the storm, so that all that it delays is seen. */
const AROUND_MS = 1000;
/** Of a response and its first frames, nearly. */
const HEAD_BYTES = 500;
const RESTED = "nodejs_eventloop_lag_p99_seconds";

const { viewers } = settings({ viewers: 2000 });

interface Stormed {
  server: Served;
  path: string;
  /** Of those who come back. */
  headers: string;
  live: Readers;
  /** Says something to the live viewers; resolves to when it was sent off, on the system's clock. */
  speak(): Promise<number>;
}

interface Storm {
  caughtUpMs: number;
  cpuMs: number;
  longestLiveMs: number;
}

async function storm({ server, path, headers, live, speak }: Stormed): Promise<Storm> {
  const sentAt: number[] = [];
  const over = new AbortController();
  const talk = (async () => {
    while (!over.signal.aborted) {
      sentAt.push(await speak());
      await pause(EVERY_MS);
    }
  })();
  await live.received();
  await pause(AROUND_MS);
  const cpu = cpuMs(server.pid);
  using back = await startReaders(server.port, path, viewers, { headers, stormOf: BEHIND });
  const spent = cpuMs(server.pid) - cpu;
  await pause(AROUND_MS);
  over.abort();
  await talk;
  await pause(EVERY_MS);
  const { arrivals } = await live.received();
  const { readyMs } = await back.received();
  return { caughtUpMs: readyMs, cpuMs: spent, longestLiveMs: longestMs(sentAt, arrivals) };
}

/** The longest that anybody waited: each message comes to all before the next one is sent, or else is late itself. */
function longestMs(sentAt: readonly number[], arrivals: readonly number[]): number {
  const [first = 0] = sentAt;
  return arrivals
    .filter((at) => at >= first)
    .reduce((most, at) => Math.max(most, at - (sentAt.findLast((sent) => sent <= at) ?? at)), 0);
}

/** The newest cursor of a room. */
async function headOf(port: number, videoId: string): Promise<number> {
  const { rooms } = (await (await fetch(`http://127.0.0.1:${port}/v1/rooms`)).json()) as {
    rooms: { videoId: string; head: number }[];
  };
  return rooms.find((room) => room.videoId === videoId)?.head ?? Number.NaN;
}

/** Connections that the system did not take, as a queue was full. */
function lostSyns(): number {
  const [names = [], values = []] = readFileSync("/proc/net/netstat", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("TcpExt:"))
    .map((line) => line.split(" "));
  const value = (name: string) => Number(values[names.indexOf(name)] ?? 0);
  return value("ListenOverflows") + value("TCPReqQFullDrop");
}

const folder = await mkdtemp(join(tmpdir(), "bench-storm-"));
const lostBefore = lostSyns();
const storms: Record<"relay" | "nchan", Storm[]> = { relay: [], nchan: [] };
let restedMs = Number.NaN;
{
  await using relay = await serveRelay({
    RELAY_STORE: `sqlite:${join(folder, "relay.db")}`,
    RELAY_POLL_MIN_MS: String(EVERY_MS),
  });
  await using nchan = await serveNchan();
  const scenario = { kinds: ["text" as const], timeoutMs: EVERY_MS };
  const busy = relay.upstream.chat("bench-storm", scenario);
  const calm = relay.upstream.chat("bench-calm1", scenario);
  calm.say(1);
  using watcher = await startReaders(relay.port, "/v1/stream?videoId=bench-storm&backfill=0", 1);
  using live = await startReaders(relay.port, "/v1/stream?videoId=bench-calm1&backfill=0", LIVE_VIEWERS);
  busy.say(BEHIND);
  while ((await watcher.received()).messages < BEHIND) await pause(EVERY_MS);
  const lastCursor = await headOf(relay.port, "bench-storm");
  const text = "x".repeat(((await watcher.bytes()) - HEAD_BYTES) / BEHIND);
  for (let message = 0; message <= BEHIND; message++) await nchan?.publish(text);
  await nchan?.publish(text, "calm");
  using nchanLive = nchan && (await startReaders(nchan.port, "/sub/calm", LIVE_VIEWERS));
  const systemOffset = systemMs() - performance.now();
  const relayed: Stormed = {
    server: relay,
    path: "/v1/stream?videoId=bench-storm",
    headers: `Last-Event-ID: ${lastCursor - BEHIND}\r\n`,
    live,
    speak: async () => {
      const polled = relay.upstream.requested("get_live_chat", { videoId: "bench-calm1", finished: true });
      calm.say(1);
      const [answer] = await polled;
      return (answer?.finishedAt ?? Number.NaN) + systemOffset;
    },
  };
  const published = nchan && {
    server: nchan,
    path: "/all",
    headers: "",
    live: nchanLive as Readers,
    speak: async () => {
      const sentAt = systemMs();
      await nchan.publish(text, "calm");
      return sentAt;
    },
  };
  await storm(relayed); // warm
  await inRounds({
    relay: async () => {
      const lag = fetch(`http://127.0.0.1:${relay.port}/metrics`); // what it tells begins anew
      await (await lag).text();
      storms.relay.push(await storm(relayed));
      return 0;
    },
    nchan: async () => {
      if (published) storms.nchan.push(await storm(published));
      return 0;
    },
  });
  await (await fetch(`http://127.0.0.1:${relay.port}/metrics`)).text();
  await pause(5 * AROUND_MS);
  const metrics = await (await fetch(`http://127.0.0.1:${relay.port}/metrics`)).text();
  restedMs = Number(new RegExp(`^${RESTED} (\\S+)$`, "m").exec(metrics)?.[1]) * 1000;
}
await rm(folder, { recursive: true });
const of = (server: "relay" | "nchan", figure: keyof Storm) => storms[server].map((round) => round[figure]);
const row = (server: "relay" | "nchan"): Figures => ({
  server,
  viewers,
  caughtUpMs: median(of(server, "caughtUpMs")),
  cpuMs: median(of(server, "cpuMs")),
  longestLiveMs: median(of(server, "longestLiveMs")),
});
const isCompared = storms.nchan.length > 0;
if (!isCompared) console.log("Nchan is not installed (apt-get install libnginx-mod-nchan): not measured.");
const relayRow = {
  ...row("relay"),
  lagP99AtRestMs: restedMs,
  lostSyns: lostSyns() - lostBefore,
  ...(isCompared && {
    timeToNchan: ratio(of("relay", "caughtUpMs"), of("nchan", "caughtUpMs")),
    cpuToNchan: ratio(of("relay", "cpuMs"), of("nchan", "cpuMs")),
  }),
};
report("storm", [relayRow, ...(isCompared ? [{ ...row("nchan"), nchan: nchanVersion() }] : [])]);
