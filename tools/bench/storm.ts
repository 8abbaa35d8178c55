/**
 * A storm: viewers that return at once, each 50 messages behind, against a bare `node:net` loop and Nchan.
 * The bench measures the time until all have what they missed, and the server's CPU time for each. It also
 * measures the longest time in which a viewer who had stayed got nothing, although a message was sent every
 * 20 ms (`--every`; a slow machine cannot write more often to all of them). All connections are open before,
 * so only the requests and the answers count; with `--fresh 1` they are opened in the measured time. With
 * `--cursors 50`, the viewers return with 50 different cursors, one message apart. The service keeps its
 * messages in memory; with `--disk 1`, on the disk.
 *
 *     npm run bench -- storm [--viewers 2000 --behind 50 --cursors 1 --fresh 0 --every 20 --disk 0]
 */
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startReaders } from "./readers.ts";
import { startReturning } from "./returning.ts";
import { cpuMs, type Figures, inRounds, median, ratio, report, settings } from "./rounds.ts";
import { nchanVersion, type Served, serveBare, serveNchan, serveRelay } from "./servers.ts";

const VIDEO = "bench-video";
/** Time for messages to arrive, and for the live ones to come evenly. */
const SETTLED_MS = 500;

const { viewers, behind, cursors, fresh, every, disk } = settings({
  viewers: 2000,
  behind: 50,
  cursors: 1,
  fresh: 0,
  every: 20,
  disk: 0,
});

/** The id of the first message of a stream. */
async function firstId(url: string): Promise<string> {
  const leave = new AbortController();
  const { body } = await fetch(url, { headers: { accept: "text/event-stream" }, signal: leave.signal });
  let text = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const id = /^id: ?(.+)\n/m.exec(text)?.[1];
    if (id === undefined) continue;
    leave.abort();
    return id;
  }
  throw new Error(`${url} ended before its first message`);
}

interface Contestant {
  server: Served;
  /** A stream that begins with the next message. */
  path: string;
  /** The number of places from which viewers return. */
  cursors: number;
  /** Sends one message. */
  say(): unknown;
}

/** The figures of all rounds, by name. */
type Storms = Record<"ms" | "cpuMicros" | "standstillMs", number[]>;

async function storm({ server, path, cursors, say }: Contestant, storms: Storms): Promise<number> {
  for (let message = 1; message < cursors; message++) await say();
  const next = firstId(`http://127.0.0.1:${server.port}${path}`);
  await pause(SETTLED_MS);
  await say();
  const lastId = await next;
  for (let message = 0; message < behind; message++) await say();
  await pause(SETTLED_MS);
  using stayed = await startReaders(server.port, path, 1);
  const places = Array.from({ length: cursors }, (_, before) => ({
    lastId: before === 0 ? lastId : `${Number(lastId) - before}`,
    behind: behind + before,
  }));
  using crowd = await startReturning({
    port: server.port,
    path,
    places,
    count: viewers,
    isFresh: fresh === 1,
  });
  let said: unknown;
  const live = setInterval(() => {
    said = say();
  }, every);
  await pause(SETTLED_MS);
  await stayed.received();
  const before = cpuMs(server.pid);
  const ms = await crowd.report();
  const cpu = cpuMs(server.pid) - before;
  await pause(SETTLED_MS);
  clearInterval(live);
  await said;
  const { arrivals } = await stayed.received();
  const waits = arrivals.map((at, index) => at - (arrivals[index - 1] ?? at));
  storms.ms.push(ms);
  storms.cpuMicros.push((cpu * 1000) / viewers);
  storms.standstillMs.push(Math.max(...waits));
  return ms;
}

using folder = mkdtempDisposableSync(join(tmpdir(), "bench-storm-"));
await using relay = await serveRelay({
  RELAY_POLL_MIN_MS: `${every}`,
  RELAY_STORE: disk === 1 ? `sqlite:${join(folder.path, "relay.db")}` : "memory:",
});
const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: every });
await using bare = await serveBare();
await using nchan = await serveNchan();
const contestants: Record<string, Contestant> = {
  relay: {
    server: relay,
    path: `/v1/stream?videoId=${VIDEO}&backfill=0`,
    cursors,
    say: () => chat.say(1),
  },
  bare: { server: bare, path: `/missed/${behind}`, cursors: 1, say: () => bare.write(340) },
  ...(nchan && {
    nchan: { server: nchan, path: "/sub", cursors: 1, say: () => nchan.publish("x".repeat(300)) },
  }),
};
const storms: Record<string, Storms> = {};
const play = (name: string, contestant: Contestant) => {
  storms[name] ??= { ms: [], cpuMicros: [], standstillMs: [] };
  return storm(contestant, storms[name]);
};
const plays = Object.entries(contestants).map(
  ([name, contestant]) =>
    () =>
      play(name, contestant),
);
for (const each of plays) await each(); // warm
for (const figures of Object.values(storms)) for (const rounds of Object.values(figures)) rounds.pop();
await inRounds(Object.fromEntries(plays.entries()));
if (!nchan) console.log("Nchan is not installed (apt-get install libnginx-mod-nchan): not measured.");
const { relay: ours } = storms;
const rows = Object.entries(storms).map(([server, { ms, cpuMicros, standstillMs }]): Figures => {
  const peer = server !== "relay" &&
    ours && {
      relayTo: ratio(ours.ms, ms),
      relayCpuTo: ratio(ours.cpuMicros, cpuMicros),
    };
  const figures = { ms: median(ms), cpuMicros: median(cpuMicros), standstillMs: median(standstillMs) };
  return {
    server,
    viewers,
    behind,
    cursors: server === "relay" ? cursors : 1,
    fresh,
    every,
    disk,
    ...figures,
    ...peer,
    ...(server === "nchan" && { version: nchanVersion() }),
  };
});
report("storm", rows);
