/**
 * The cost of readers that poll a log, at the service alone and behind the caches of deploy/: the requests
 * and the CPU time of the service for a batch, the CPU time of nginx or Varnish, and the bytes that a
 * reader gets. `idle` measures the memory of one that waits.
 *
 *     npm run bench -- log [--readers 500]
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { Line } from "../../test/chaos/line.ts";
import { freePorts } from "../../test/chaos/service.ts";
import { eventually } from "../../test/support/eventually.ts";
import { listens, startNginxCache, startVarnishCache } from "../../test/support/reverse-proxies.ts";
import type { Child } from "./child.ts";
import { type Polled, startLogReaders } from "./log-readers.ts";
import { cpuMs, type Figures, inRounds, median, report, settings, treeMs } from "./rounds.ts";
import { serveRelay } from "./servers.ts";
import { EVERY_MS } from "./watched.ts";

const { readers } = settings({ readers: 500 });
const VIDEO = "bench-log01";
/**
 * From a batch to the end of its measurement, so that each has as many polls of YouTube in it, however many
 * readers there are, and each reader has asked again. The three turns of a round together stay below the 20 s
 * after which nginx gives up its locks.
 */
const BATCH_MS = 3500;
/** Time for all readers to wait. */
const SETTLED_MS = 3000;

/** A service whose room has said one message, and the offset behind it. */
async function serveLog() {
  const relay = await serveRelay({
    RELAY_POLL_MIN_MS: String(EVERY_MS),
    RELAY_TRUST_PROXY: "1",
    RELAY_LONG_POLL_MS: "60000",
    RELAY_KEEPALIVE_MS: "600000",
  });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  const answer = await fetch(`http://127.0.0.1:${relay.port}/v1/log/${VIDEO}?offset=-1&live=long-poll`);
  await answer.arrayBuffer();
  return { relay, chat, offset: `${answer.headers.get("stream-next-offset")}` };
}

async function caughtUp(crowd: Child<Polled>, before: string, count: number): Promise<void> {
  await eventually(true, async () => {
    const { offset, furthest } = await crowd.report();
    return offset > before && furthest === count;
  });
}

/** A batch of one message that all readers get. Resolves once its time is over. */
async function say(chat: Chat, crowd: Child<Polled>, count: number): Promise<void> {
  const { offset } = await crowd.report();
  const over = pause(BATCH_MS);
  chat.say(1);
  await caughtUp(crowd, offset, count);
  await over;
}

/** A crowd of readers of a service of its own, behind a cache or not. */
async function crowdOf(count: number, startCache?: typeof startNginxCache) {
  await using made = new AsyncDisposableStack();
  const { relay, chat, offset } = await serveLog();
  made.use(relay);
  const line = made.use(await Line.to(relay.port));
  let [port, cache] = [relay.port, undefined as number | undefined];
  if (startCache) {
    [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(tmpdir(), "log-cache-"));
    const { child, way } = await startCache(folder, port, `127.0.0.1:${line.port}`);
    made.defer(async () => {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
      rmSync(folder, { recursive: true, force: true });
    });
    await listens(way);
    cache = child.pid;
  }
  const crowd = made.use(await startLogReaders({ port, videoId: VIDEO, offset, count }));
  await pause(SETTLED_MS);
  const owned = made.move();
  const seen: Record<"requests" | "bytes" | "cacheMs", number[]> = { requests: [], bytes: [], cacheMs: [] };
  return {
    seen,
    /** The CPU time of the service for a batch, in milliseconds. */
    batch: async () => {
      line.requests.splice(0);
      const before = await crowd.report();
      const [cpu, cacheCpu] = [cpuMs(relay.pid), cache ? treeMs(cache) : 0];
      await say(chat, crowd, count);
      const { answers, bytes } = await crowd.report();
      const asked = startCache ? line.requests.length : answers - before.answers;
      seen.requests.push(asked);
      seen.bytes.push((bytes - before.bytes) / count);
      seen.cacheMs.push(cache ? treeMs(cache) - cacheCpu : 0);
      return cpuMs(relay.pid) - cpu;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A crowd behind a cache against one without, and one reader behind the cache. */
async function behind(startCache: typeof startNginxCache) {
  await using direct = await crowdOf(readers);
  await using lone = await crowdOf(1, startCache);
  await using cached = await crowdOf(readers, startCache);
  const measured = await inRounds({ cached: cached.batch, direct: direct.batch, lone: lone.batch });
  return {
    directRequests: median(direct.seen.requests),
    cachedRequests: median(cached.seen.requests),
    directMs: median(measured.direct),
    cachedMs: median(measured.cached),
    loneMs: median(measured.lone),
    cacheMs: median(cached.seen.cacheMs),
    directBytes: median(direct.seen.bytes),
    cachedBytes: median(cached.seen.bytes),
    load: loadavg()[0] ?? 0,
  };
}

const rows: Figures[] = [];
for (const [cache, start] of Object.entries({ nginx: startNginxCache, varnish: startVarnishCache }))
  rows.push({ readers, cache, ...(await behind(start)) });
report(`log-${readers}`, rows);
