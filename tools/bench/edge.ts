/**
 * The cost of edges. An edge against a service that reads the chat itself, with as many viewers: CPU time for
 * each viewer and batch, and the delay that an edge adds. Then two processes on one port against one: the CPU
 * time of the busier process, the delay, the start, and the time until the viewers of a killed worker get
 * messages again.
 *
 *     npm run bench -- edge [--viewers 2000 --crowd 4000 --batches 40]
 */
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { chat as follow } from "../../client/index.ts";
import { type Readers, startReaders } from "./readers.ts";
import { type Figures, inRounds, median, percentile, ratio, report, settings } from "./rounds.ts";
import { serveEdge, serveRelay } from "./servers.ts";
import { batchesOf, batchesOfEach, EVERY_MS, pathOf, type WatchedRoom, watched } from "./watched.ts";

const { viewers, crowd, batches } = settings({ viewers: 2000, crowd: 4000, batches: 40 });
/** Viewers whose delay is measured: few, so that the readers do not delay each other. */
const TIMED = 100;
/** Time for a batch to reach all viewers; no other batch comes meanwhile. */
const ARRIVAL_MS = 150;
/** The viewers that come back after a kill. */
const RETURNING = 200;
const RETURN_LIMIT_MS = 30_000;
/** Time for all viewers to be connected. */
const SETTLED_MS = 3000;

const POLLED = { RELAY_POLL_MIN_MS: String(EVERY_MS), RELAY_KEEPALIVE_MS: "600000" };

/** Delays between two groups of viewers of one room: of each arrival to the first one. */
async function delays(room: WatchedRoom, groups: readonly Readers[]): Promise<number[][]> {
  const all: number[][] = groups.map(() => []);
  for (const readers of groups) await readers.received();
  for (let batch = 0; batch < batches; batch++) {
    room.chat.say(1);
    await pause(EVERY_MS + ARRIVAL_MS);
    const arrivals = await Promise.all(groups.map(async (readers) => (await readers.received()).arrivals));
    const first = Math.min(...arrivals.flat());
    for (const [index, times] of arrivals.entries()) all[index]?.push(...times.map((at) => at - first));
  }
  return all;
}

/** The processes of a service with workers, the first one first. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return [pid, ...children.trim().split(" ").filter(Boolean).map(Number)];
}

async function edgeAgainstOrigin(): Promise<Figures[]> {
  await using own = await serveRelay(POLLED);
  await using origin = await serveRelay(POLLED);
  await using edge = await serveEdge(origin);
  await using lone = await serveRelay(POLLED);
  await using loneEdge = await serveEdge(lone);
  const rows: Figures[] = [];
  using timed = await watched(edge, TIMED);
  const there = await startReaders(origin.port, pathOf(), TIMED);
  const [near = [], far = []] = await delays(timed, [there, timed.readers]);
  there[Symbol.dispose]();
  {
    using atOrigin = await watched(own, viewers);
    using crowded = await startReaders(edge.port, pathOf(), viewers);
    const atEdge = { ...timed, readers: crowded };
    using alone = await watched(lone, 1);
    using aloneAtEdge = await watched(loneEdge, 1);
    for (const size of [1, 10]) {
      for (const room of [atOrigin, atEdge]) await batchesOf(size, batches, room); // warm
      const measured = await inRounds({
        origin: () => batchesOf(size, batches, atOrigin),
        edge: () => batchesOf(size, batches, atEdge),
        lone: () => batchesOf(size, batches, alone),
        loneEdge: () => batchesOf(size, batches, aloneAtEdge),
      });
      const micros = (ms: readonly number[]) => (median(ms) * 1000) / viewers / batches;
      const less = (ms: readonly number[], idle: readonly number[]) =>
        ms.map((each, round) => each - (idle[round] ?? Number.NaN));
      const [fanOut, edgeFanOut] = [
        less(measured.origin, measured.lone),
        less(measured.edge, measured.loneEdge),
      ];
      rows.push({
        batch: size,
        viewers,
        originMicros: micros(fanOut),
        edgeMicros: micros(edgeFanOut),
        edgeToOrigin: ratio(edgeFanOut, fanOut),
        wholeToOrigin: ratio(measured.edge, measured.origin),
        load: loadavg()[0] ?? 0,
      });
    }
  }
  const added = {
    addedP50Ms: percentile(far, 0.5) - percentile(near, 0.5),
    addedP99Ms: percentile(far, 0.99) - percentile(near, 0.99),
  };
  return rows.map((row) => ({ ...row, ...added, edgeReadyMs: edge.readyMs }));
}

async function twoProcesses(): Promise<Figures[]> {
  await using single = await serveRelay(POLLED);
  await using double = await serveRelay({ ...POLLED, RELAY_WORKERS: "2" });
  const pids = processesOf(double.pid);
  using alone = await watched(single, crowd);
  using shared = await watched(double, crowd);
  let busiest = Number.NaN;
  const measured = await inRounds({
    one: () => batchesOf(1, batches, alone),
    two: async () => {
      const spent = await batchesOfEach(1, batches, shared, pids);
      busiest = Math.max(...spent);
      return spent.reduce((sum, ms) => sum + ms, 0);
    },
    busier: () => busiest,
  });
  const delay = async (room: WatchedRoom) => (await delays(room, [room.readers]))[0];
  const [one = [], two = []] = [await delay(alone), await delay(shared)];
  return [
    {
      viewers: crowd,
      busierToOne: ratio(measured.busier, measured.one),
      bothToOne: ratio(measured.two, measured.one),
      oneP50Ms: percentile(one, 0.5),
      twoP50Ms: percentile(two, 0.5),
      oneReadyMs: single.readyMs,
      twoReadyMs: double.readyMs,
      load: loadavg()[0] ?? 0,
      ...(await returnAfterKill()),
    },
  ];
}

/** From the death of a worker until each of its viewers, with the SDK, has a message again. */
async function returnAfterKill(): Promise<Figures> {
  await using relay = await serveRelay({ ...POLLED, RELAY_WORKERS: "2" });
  const [, worker = 0] = processesOf(relay.pid);
  const videoId = "bench-kill1";
  const chat = relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  const [away, back] = [new Set<number>(), new Set<number>()];
  let isKilled = false;
  const rooms = Array.from({ length: RETURNING }, (_, index) => {
    const room = follow(`http://127.0.0.1:${relay.port}`, { videoId, backfill: 1 });
    room.on("state", (state) => {
      if (isKilled && state === "reconnecting") away.add(index);
    });
    room.on("message", () => {
      if (away.has(index)) back.add(index);
    });
    return room;
  });
  await pause(SETTLED_MS);
  isKilled = true;
  process.kill(worker, "SIGKILL");
  const killedAt = performance.now();
  while ((away.size === 0 || back.size < away.size) && performance.now() < killedAt + RETURN_LIMIT_MS) {
    chat.say(1);
    await pause(EVERY_MS);
  }
  const figures = { away: away.size, returned: back.size, returnedMs: performance.now() - killedAt };
  for (const room of rooms) room.close();
  return figures;
}

report("edge", await edgeAgainstOrigin());
report("workers", await twoProcesses());
