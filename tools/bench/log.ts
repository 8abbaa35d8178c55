/**
 * The cost of readers that poll a log, at the service alone and behind nginx with the cache of deploy/: the
 * memory of one that waits, the requests and the CPU time of the service for a batch, those of nginx, and the
 * bytes that a reader gets.
 *
 *     npm run bench -- log [--readers 500 --batches 5]
 */
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Chat } from "../../src/simulator/simulated-chat.ts";
import { Line } from "../../test/chaos/line.ts";
import { freePorts } from "../../test/chaos/service.ts";
import { eventually } from "../../test/support/eventually.ts";
import { listens, startNginxCache } from "../../test/support/reverse-proxies.ts";
import type { Child } from "./child.ts";
import { type Polled, startLogReaders } from "./log-readers.ts";
import { cpuMs, inRounds, median, report, residentBytes, settings } from "./rounds.ts";
import { serveRelay } from "./servers.ts";
import { EVERY_MS } from "./watched.ts";

const { readers, batches } = settings({ readers: 500, batches: 5 });
const VIDEO = "bench-log01";
/** Between two batches, so that each reader has asked again. */
const BETWEEN_MS = 1000;
/** Time for all readers to wait. */
const SETTLED_MS = 3000;

/** A service whose room has said one message, and the offset behind it. */
async function serveLog() {
  const relay = await serveRelay({
    ...{ RELAY_POLL_MIN_MS: String(EVERY_MS), RELAY_TRUST_PROXY: "1" },
    ...{ RELAY_LONG_POLL_MS: "60000", RELAY_KEEPALIVE_MS: "600000" },
  });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  const answer = await fetch(`http://127.0.0.1:${relay.port}/v1/log/${VIDEO}?offset=-1&live=long-poll`);
  await answer.arrayBuffer();
  return { relay, chat, offset: `${answer.headers.get("stream-next-offset")}` };
}

/** The CPU time of a process and its children, in milliseconds. */
function treeMs(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
  return [pid, ...children.map(Number)].reduce((sum, each) => sum + cpuMs(each), 0);
}

async function caughtUp(crowd: Child<Polled>, before: string, count: number): Promise<void> {
  await eventually(true, async () => {
    const { offset, furthest } = await crowd.report();
    return offset > before && furthest === count;
  });
}

/** This many batches of one message, each of which all readers have got before the next one. */
async function say(times: number, chat: Chat, crowd: Child<Polled>, count: number): Promise<void> {
  for (let batch = 0; batch < times; batch++) {
    const { offset } = await crowd.report();
    chat.say(1);
    await caughtUp(crowd, offset, count);
    await pause(BETWEEN_MS);
  }
}

/** The bytes of memory for each reader that waits, beyond the first fifth of them. */
async function memoryOfEach(): Promise<number> {
  const { relay, offset } = await serveLog();
  await using _ = relay;
  const first = Math.floor(readers / 5);
  const polling = { port: relay.port, videoId: VIDEO, offset };
  using _first = await startLogReaders({ ...polling, count: first });
  await pause(SETTLED_MS);
  const before = residentBytes(relay.pid);
  using _others = await startLogReaders({ ...polling, count: readers - first });
  await pause(SETTLED_MS);
  return (residentBytes(relay.pid) - before) / (readers - first);
}

/** A crowd of readers of a service of its own, behind nginx or not. */
async function crowdOf(count: number, isCached: boolean) {
  await using made = new AsyncDisposableStack();
  const { relay, chat, offset } = await serveLog();
  made.use(relay);
  const line = made.use(await Line.to(relay.port));
  let [port, nginx] = [relay.port, undefined as number | undefined];
  if (isCached) {
    [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(tmpdir(), "log-cache-"));
    const { child, way } = await startNginxCache(folder, port, `127.0.0.1:${line.port}`);
    made.defer(async () => {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
      rmSync(folder, { recursive: true, force: true });
    });
    await listens(way);
    nginx = child.pid;
  }
  const crowd = made.use(await startLogReaders({ port, videoId: VIDEO, offset, count }));
  await pause(SETTLED_MS);
  const owned = made.move();
  const seen: Record<"requests" | "bytes" | "nginxMs", number[]> = { requests: [], bytes: [], nginxMs: [] };
  return {
    seen,
    /** The CPU time of the service for all batches of a round, in milliseconds. */
    round: async () => {
      await say(1, chat, crowd, count); // in the silence before it, nginx may have given up its locks
      line.requests.splice(0);
      const before = await crowd.report();
      const [cpu, nginxCpu] = [cpuMs(relay.pid), nginx ? treeMs(nginx) : 0];
      await say(batches, chat, crowd, count);
      const { answers, bytes } = await crowd.report();
      const asked = isCached ? line.requests.length : answers - before.answers;
      seen.requests.push(asked / batches);
      seen.bytes.push((bytes - before.bytes) / batches / count);
      seen.nginxMs.push(nginx ? treeMs(nginx) - nginxCpu : 0);
      return cpuMs(relay.pid) - cpu;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const memoryBytes = await memoryOfEach();
await using direct = await crowdOf(readers, false);
await using cached = await crowdOf(readers, true);
await using lone = await crowdOf(1, true);
const measured = await inRounds({ direct: direct.round, cached: cached.round, lone: lone.round });
const eachMs = (ms: readonly number[]) => median(ms) / batches;
report(`log-${readers}`, [
  {
    readers,
    memoryBytes,
    directRequests: median(direct.seen.requests),
    cachedRequests: median(cached.seen.requests),
    directMs: eachMs(measured.direct),
    cachedMs: eachMs(measured.cached),
    loneMs: eachMs(measured.lone),
    nginxMs: eachMs(cached.seen.nginxMs),
    directBytes: median(direct.seen.bytes),
    cachedBytes: median(cached.seen.bytes),
    load: loadavg()[0] ?? 0,
  },
]);
