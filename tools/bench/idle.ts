/**
 * The cost of a reader that waits: a viewer that receives only keepalives, and a long poll of a log, against
 * bare sockets and Nchan. It is the memory of the server's process for each once garbage is collected, all
 * memory before that and after, and the CPU time to attach one, and for keepalives to all of them. Clients
 * run in their own processes, so that each side has its own limit of open files.
 *
 *     npm run bench -- idle [--viewers 10000]
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Inspected, inspected } from "./kept-memory.ts";
import { startLogReaders } from "./log-readers.ts";
import { startReaders } from "./readers.ts";
import { cpuMs, type Figures, report, residentBytes, settings } from "./rounds.ts";
import { isBuilt, type Served, serveBare, serveNchan, serveRelay } from "./servers.ts";

const VIDEO = "bench-video";
const KEEPALIVE_MS = 15_000;

const { viewers } = settings({ viewers: 10_000 });
/**
 * A first group of viewers, so that one-time costs, such as the heap's young generation at full size, are not
 * counted.
 */
const first = viewers / 5;

interface Crowd extends Disposable {
  /** Received so far. */
  bytes(): Promise<number>;
}

async function measure(
  name: string,
  { server, keptBytes }: Inspected<Served>,
  attach: (count: number) => Promise<Crowd>,
): Promise<Figures> {
  using _first = await attach(first);
  await pause(2000);
  const before = await keptBytes();
  const unattached = cpuMs(server.pid);
  using others = await attach(viewers - first);
  const bytes = await others.bytes();
  const cpu = cpuMs(server.pid);
  const cpuMsPerAttach = (cpu - unattached) / (viewers - first);
  await pause(2 * KEEPALIVE_MS);
  const cpuMsPerSecond = (cpuMs(server.pid) - cpu) / ((2 * KEEPALIVE_MS) / 1000);
  const residentMb = residentBytes(server.pid) / 2 ** 20;
  const kept = await keptBytes();
  return {
    server: name,
    viewers,
    residentMb,
    keptMb: kept / 2 ** 20,
    keptKbPerViewer: (kept - before) / 1024 / (viewers - first),
    cpuMsPerAttach,
    cpuMsPerSecond,
    bytesPerViewer: ((await others.bytes()) - bytes) / (viewers - first),
  };
}

async function pollers(port: number, offset: string, count: number): Promise<Crowd> {
  const readers = await startLogReaders({ port, videoId: VIDEO, offset, count });
  await pause(2000); // until all of them wait
  return {
    bytes: async () => (await readers.report()).bytes,
    [Symbol.dispose]: () => readers[Symbol.dispose](),
  };
}

const rows: Figures[] = [];
for (const from of ["checkout", "package"] as const) {
  if (!isBuilt(from)) continue;
  const relay = await inspected(() => serveRelay({}, from));
  await using server = relay.server;
  server.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 10_000 });
  const path = `/v1/stream?videoId=${VIDEO}&backfill=0`;
  rows.push(await measure(`viewers, ${from}`, relay, (count) => startReaders(server.port, path, count)));
}
{
  // Nobody's wait ends within the measurement.
  const relay = await inspected(() => serveRelay({ RELAY_LONG_POLL_MS: "60000" }));
  await using server = relay.server;
  server.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 10_000 }).say(1);
  const answer = await fetch(`http://127.0.0.1:${server.port}/v1/log/${VIDEO}?offset=-1&live=long-poll`);
  await answer.arrayBuffer();
  const offset = `${answer.headers.get("stream-next-offset")}`;
  rows.push(await measure("long polls", relay, (count) => pollers(server.port, offset, count)));
}
{
  const bare = await inspected(() => serveBare());
  await using server = bare.server;
  rows.push(await measure("bare node:net", bare, (count) => startReaders(server.port, "/", count)));
}
{
  await using server = await serveNchan();
  await server?.publish("first");
  if (server) {
    const nchan = { server, keptBytes: async () => residentBytes(server.pid) };
    rows.push(await measure("Nchan", nchan, (count) => startReaders(server.port, "/sub", count)));
  } else console.log("Nchan is not installed (apt-get install libnginx-mod-nchan): not measured.");
}
report("idle", rows);
