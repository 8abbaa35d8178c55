/**
 * The time from the upstream's answer until a message is on each viewer's socket, with the store on disk,
 * against a minimum of one sync and one loop over as many sockets; and the shares of the store and of the
 * writing.
 *
 *     npm run bench -- latency [--batches 20]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Readers, startReaders, systemMs } from "./readers.ts";
import { type Figures, inRounds, median, percentile, ratio, report, settings } from "./rounds.ts";
import { serveBare, serveRelay } from "./servers.ts";

const VIEWERS = [1, 100, 2000];
const EVERY_MS = 100;
/** Time for a batch to reach all viewers; no other batch comes meanwhile. */
const ARRIVAL_MS = 150;
const FRAME_BYTES = 400;

const { batches } = settings({ batches: 20 });

/** The figures of a round, by share of viewers and batches. */
const later = new Map<string, { p50: number[]; p99: number[] }>();

/** For each viewer and batch, the time from sending to arrival, in milliseconds. */
async function roundOf(contestant: string, readers: Readers, send: () => Promise<number>): Promise<number> {
  const delays: number[] = [];
  await readers.received();
  for (let batch = 0; batch < batches; batch++) {
    const sentAt = await send();
    await pause(ARRIVAL_MS);
    delays.push(...(await readers.received()).arrivals.map((at) => at - sentAt));
  }
  const rounds = later.get(contestant) ?? { p50: [], p99: [] };
  later.set(contestant, rounds);
  rounds.p50.push(percentile(delays, 0.5));
  rounds.p99.push(percentile(delays, 0.99));
  return percentile(delays, 0.5);
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

const folder = await mkdtemp(join(tmpdir(), "bench-latency-"));
const rows: Figures[] = [];
for (const [place, viewers] of VIEWERS.entries()) {
  await using relay = await serveRelay({
    RELAY_STORE: `sqlite:${join(folder, `${viewers}.db`)}`,
    RELAY_POLL_MIN_MS: String(EVERY_MS),
    RELAY_KEEPALIVE_MS: "600000",
  });
  await using bare = await serveBare([join(folder, `${viewers}.bytes`)]);
  const videoId = `bench-vide${place}`;
  const chat = relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  using readers = await startReaders(relay.port, `/v1/stream?videoId=${videoId}&backfill=0`, viewers);
  using bareReaders = await startReaders(bare.port, "/", viewers);
  const systemOffset = systemMs() - performance.now();
  sums.clear();
  later.clear();
  const contestants = {
    relay: () =>
      roundOf("relay", readers, async () => {
        const polled = relay.upstream.requested("get_live_chat", { finished: true });
        chat.say(1);
        const [answer] = await polled;
        return (answer?.finishedAt ?? Number.NaN) + systemOffset;
      }),
    floor: () =>
      roundOf("floor", bareReaders, async () => {
        const sentAt = systemMs();
        bare.write(FRAME_BYTES);
        return sentAt;
      }),
  };
  for (const contestant of Object.values(contestants)) await contestant(); // warm
  later.clear();
  await meanMs(relay.port, PARTS);
  await inRounds(contestants);
  const [appendMs = Number.NaN, publishMs = Number.NaN] = await meanMs(relay.port, PARTS);
  const { p50 = [], p99 = [] } = later.get("relay") ?? {};
  const floor = later.get("floor") ?? { p50: [], p99: [] };
  rows.push({
    viewers,
    p50Ms: median(p50),
    p99Ms: median(p99),
    floorP50Ms: median(floor.p50),
    floorP99Ms: median(floor.p99),
    p50ToFloor: ratio(p50, floor.p50),
    p99ToFloor: ratio(p99, floor.p99),
    appendMs,
    publishMs,
  });
}
await rm(folder, { recursive: true });
report("latency", rows);
