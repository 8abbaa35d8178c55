/**
 * The time from the upstream's answer until a message is on each viewer's socket, with the store on disk,
 * against a minimum of one sync and one loop over as many sockets; and the shares of the store and of the
 * writing.
 *
 *     npm run bench -- latency [--batches 20]
 *     npm run bench -- latency --batches 100 --idle 10000
 *
 * With `--idle`, 100 viewers beside a crowd against 100 alone, for the service and for the minimum. The crowd
 * is that number of connections which get nothing; a hundredth of them leaves and returns each second.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startReaders, systemMs } from "./readers.ts";
import { type Figures, inRounds, median, percentile, ratio, report, settings } from "./rounds.ts";
import { type Served, serveBare, serveRelay } from "./servers.ts";

const EVERY_MS = 100;
/** Time for a batch to reach all viewers; no other batch comes meanwhile. */
const ARRIVAL_MS = 150;
const FRAME_BYTES = 400;
const VIDEO = "bench-video";
const SILENT = "bench-quiet";

const { batches, idle } = settings({ batches: 20, idle: 0 });
const folder = await mkdtemp(join(tmpdir(), "bench-latency-"));
const systemOffset = systemMs() - performance.now();

const streamOf = (videoId: string) => `/v1/stream?videoId=${videoId}&backfill=0`;

interface Delays {
  p50: number[];
  p99: number[];
}

/** A server whose chat or loop some viewers watch. */
interface Contestant extends AsyncDisposable {
  served: Served;
  /** Sends the batches, and adds the delays of this round to the others. */
  round(): Promise<number>;
  /** For each viewer and batch the time from sending to arrival, in milliseconds: shares of each round. */
  delays: Delays;
}

/** `send` sends one batch, and resolves to the time from which its delay counts. */
async function contestant(
  served: Served,
  path: string,
  viewers: number,
  send: () => number | Promise<number>,
): Promise<Contestant> {
  const readers = await startReaders(served.port, path, viewers);
  const delays: Delays = { p50: [], p99: [] };
  const round = async () => {
    const all: number[] = [];
    await readers.received();
    for (let batch = 0; batch < batches; batch++) {
      const sentAt = await send();
      await pause(ARRIVAL_MS);
      all.push(...(await readers.received()).arrivals.map((at) => at - sentAt));
    }
    delays.p50.push(percentile(all, 0.5));
    delays.p99.push(percentile(all, 0.99));
    return percentile(all, 0.5);
  };
  const end = async () => {
    readers[Symbol.dispose]();
    await served[Symbol.asyncDispose]();
  };
  return { served, round, delays, [Symbol.asyncDispose]: end };
}

/** The service. */
async function service(viewers: number): Promise<Contestant> {
  const relay = await serveRelay({
    RELAY_STORE: `sqlite:${join(folder, `${randomUUID()}.db`)}`,
    RELAY_POLL_MIN_MS: String(EVERY_MS),
    RELAY_KEEPALIVE_MS: "600000",
  });
  relay.upstream.chat(SILENT, { kinds: ["text"], timeoutMs: 10_000 });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  return contestant(relay, streamOf(VIDEO), viewers, async () => {
    const polled = relay.upstream.requested("get_live_chat", { finished: true });
    chat.say(1);
    const [answer] = await polled;
    return (answer?.finishedAt ?? Number.NaN) + systemOffset;
  });
}

/** The minimum: one sync, and one loop over the sockets. */
async function floor(viewers: number): Promise<Contestant> {
  const bare = await serveBare([join(folder, `${randomUUID()}.bytes`)]);
  return contestant(bare, "/", viewers, () => {
    const sentAt = systemMs();
    bare.write(FRAME_BYTES);
    return sentAt;
  });
}

/** Plays all rounds, after one that warms up. */
async function play(contestants: readonly Contestant[], warmed?: () => Promise<unknown>): Promise<void> {
  for (const { round, delays } of contestants) {
    await round();
    delays.p50.pop();
    delays.p99.pop();
  }
  await warmed?.();
  await inRounds(Object.fromEntries(contestants.map(({ round }) => round).entries()));
}

/** The mean of a histogram since the last call, in milliseconds. */
async function meanMs(port: number, names: readonly string[]): Promise<number[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  return names.map((name) => {
    const [sum, count] = [value(`${name}_sum`), value(`${name}_count`)];
    const [sumBefore, countBefore] = sums.get(name) ?? [0, 0];
    sums.set(name, [sum, count]);
    return ((sum - sumBefore) / (count - countBefore)) * 1000;
  });
}
const sums = new Map<string, [number, number]>();
const PARTS = ["relay_append_duration_seconds", "relay_publish_delay_seconds"];

async function byViewers(): Promise<Figures[]> {
  const rows: Figures[] = [];
  for (const viewers of [1, 100, 2000]) {
    await using relay = await service(viewers);
    await using bare = await floor(viewers);
    sums.clear();
    const shares = () => meanMs(relay.served.port, PARTS);
    await play([relay, bare], shares);
    const [appendMs = Number.NaN, publishMs = Number.NaN] = await shares();
    rows.push({
      viewers,
      p50Ms: median(relay.delays.p50),
      p99Ms: median(relay.delays.p99),
      floorP50Ms: median(bare.delays.p50),
      floorP99Ms: median(bare.delays.p99),
      p50ToFloor: ratio(relay.delays.p50, bare.delays.p50),
      p99ToFloor: ratio(relay.delays.p99, bare.delays.p99),
      appendMs,
      publishMs,
    });
  }
  return rows;
}

/** With the crowd against without it, for the service and for the minimum. */
async function besideCrowd(): Promise<Figures[]> {
  const viewers = 100;
  await using stack = new AsyncDisposableStack();
  const pairs: { server: string; alone: Contestant; crowded: Contestant }[] = [];
  for (const { server, start, silent } of [
    { server: "relay", start: service, silent: streamOf(SILENT) },
    { server: "floor", start: floor, silent: "/silent" },
  ]) {
    const alone = stack.use(await start(viewers));
    const crowded = stack.use(await start(viewers));
    stack.use(await startReaders(crowded.served.port, silent, idle, { leaving: idle / 100 }));
    pairs.push({ server, alone, crowded });
  }
  await play(pairs.flatMap(({ alone, crowded }) => [alone, crowded]));
  return pairs.map(({ server, alone, crowded }) => ({
    server,
    viewers,
    idle,
    p50Ms: median(alone.delays.p50),
    p99Ms: median(alone.delays.p99),
    p50Crowded: ratio(crowded.delays.p50, alone.delays.p50),
    p99Crowded: ratio(crowded.delays.p99, alone.delays.p99),
  }));
}

if (idle > 0) report("latency-crowd", await besideCrowd());
else report("latency", await byViewers());
await rm(folder, { recursive: true });
