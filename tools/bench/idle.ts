/**
 * The cost of a viewer that receives only keepalives: memory of the server's process for each, against bare
 * sockets and Nchan, and the service's CPU time to attach it and for keepalives to all of them; also the
 * service's memory without viewers. Clients run in their own processes, so that each side has its own limit
 * of open files.
 *
 *     npm run bench -- idle [--viewers 10000]
 */
import { setTimeout as pause } from "node:timers/promises";
import { startReaders } from "./readers.ts";
import { cpuMs, type Figures, report, residentBytes, settings } from "./rounds.ts";
import { type Served, serveBare, serveNchan, serveRelay } from "./servers.ts";

const VIDEO = "bench-video";
const KEEPALIVE_MS = 15_000;

const { viewers } = settings({ viewers: 10_000 });
/**
 * A first group of viewers, so that one-time costs, such as the heap's young generation at full size, are not
 * counted.
 */
const first = viewers / 5;

async function measure(server: string, served: Served, path: string): Promise<Figures> {
  using _first = await startReaders(served.port, path, first);
  await pause(2000);
  const before = residentBytes(served.pid);
  const unattached = cpuMs(served.pid);
  using readers = await startReaders(served.port, path, viewers - first);
  const bytes = await readers.bytes();
  const cpu = cpuMs(served.pid);
  const cpuMsPerAttach = (cpu - unattached) / (viewers - first);
  await pause(2 * KEEPALIVE_MS);
  return {
    server,
    viewers,
    residentMb: residentBytes(served.pid) / 2 ** 20,
    kbPerViewer: (residentBytes(served.pid) - before) / 1024 / (viewers - first),
    cpuMsPerAttach,
    cpuMsPerSecond: (cpuMs(served.pid) - cpu) / ((2 * KEEPALIVE_MS) / 1000),
    bytesPerViewer: ((await readers.bytes()) - bytes) / (viewers - first),
  };
}

const rows: Figures[] = [];
{
  await using relay = await serveRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 10_000 });
  rows.push(await measure("livechat-relay", relay, `/v1/stream?videoId=${VIDEO}&backfill=0`));
}
{
  await using bare = await serveBare();
  rows.push(await measure("bare node:net", bare, "/"));
}
{
  await using nchan = await serveNchan();
  await nchan?.publish("first");
  if (nchan) rows.push(await measure("Nchan", nchan, "/sub"));
  else console.log("Nchan is not installed (apt-get install libnginx-mod-nchan): not measured.");
}
report("idle", rows);
