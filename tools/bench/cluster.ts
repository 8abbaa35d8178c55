/**
 * Several instances on one PostgreSQL against one, and against the product on SQLite: batches stored per
 * second, and the CPU time of viewers, on separate ports and on a shared one; then the figures of
 * `cluster-restarts.ts`. PostgreSQL waits for the disk at each commit.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { installedPostgres, startPostgres } from "../../test/chaos/cluster/postgres.ts";
import { restarts } from "./cluster-restarts.ts";
import { ownSchema } from "./cluster-services.ts";
import { type Readers, startReaders } from "./readers.ts";
import { cpuMs, type Figures, inRounds, median, ratio, report, settings } from "./rounds.ts";
import { serveRelay } from "./servers.ts";

const { viewers, batches, seconds } = settings({ viewers: 1000, batches: 20, seconds: 2 });
const VIDEO = "bench-room1";
const BATCH = 10;
const EVERY_MS = 100;
/** On a shared port, another instance answers for one that does not listen yet. */
const START_MS = 4000;
const BODY = JSON.stringify({ message: "x".repeat(500) });

const installed = installedPostgres();
if (typeof installed === "string") throw new Error(installed);
const postgres = await startPostgres(installed, { isDurable: true });
const folder = mkdtempSync(join(tmpdir(), "bench-cluster-"));
try {
  const urls = {
    sqlite: `sqlite:${join(folder, "appends.db")}`,
    postgres: await ownSchema(postgres, "appends"),
  };
  report("cluster-appends", [await appends(1, urls), await appends(16, urls)]);
  report("cluster-viewers", await cpuOfViewers());
  report("cluster-restarts", await restarts(await ownSchema(postgres, "restarts")));
} finally {
  await postgres.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Batches stored per second if this many rooms store theirs at once. */
async function appends(rooms: number, urls: { sqlite: string; postgres: string }): Promise<Figures> {
  const rate = (url: string) => async () => {
    const store = await openStore(url, systemClock, new Telemetry(silentLog));
    const until = performance.now() + seconds * 1000;
    const stored = await Promise.all(
      Array.from({ length: rooms }, async (_, room) => {
        const claim = await store.ownership.take(`room-${room}`);
        if (!claim) throw new Error("it is another's");
        let count = 0;
        for (let { head } = claim; performance.now() < until; head += BATCH, count++) {
          const batch = Array.from({ length: BATCH }, (_, n) => ({
            id: `${head + n}`,
            body: BODY,
            details: "{}",
          }));
          await store.append(claim, head, batch, "checkpoint");
        }
        return count;
      }),
    );
    await store.close();
    return stored.reduce((sum, count) => sum + count, 0) / seconds;
  };
  const measured = await inRounds({ sqlite: rate(urls.sqlite), postgres: rate(urls.postgres) });
  return {
    rooms,
    batch: BATCH,
    sqlitePerSecond: median(measured.sqlite),
    postgresPerSecond: median(measured.postgres),
    toSqlite: ratio(measured.postgres, measured.sqlite),
  };
}

interface Contestant {
  cpu(): Promise<number>;
  /** CPU time of the last round, of each process. */
  each: number[];
}

/** CPU time of this many viewers on one instance, and of this many on each of two. */
async function cpuOfViewers(): Promise<Figures[]> {
  await using stack = new AsyncDisposableStack();
  const contestant = async (own: readonly Parameters<typeof serveRelay>[0][]): Promise<Contestant> => {
    const first = stack.use(await serveRelay(own[0]));
    const { urls } = first.upstream;
    const chat = first.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: EVERY_MS });
    chat.say(1);
    const shared = {
      RELAY_UPSTREAM_URL: urls.main,
      RELAY_UPSTREAM_MUSIC_URL: urls.music,
      RELAY_UPSTREAM_MOBILE_URL: urls.mobile,
    };
    const relays = [first];
    for (const more of own.slice(1)) relays.push(stack.use(await serveRelay({ ...more, ...shared })));
    if (own.length > 1) await pause(START_MS);
    const readers: Readers[] = [];
    for (const { port } of relays)
      readers.push(stack.use(await startReaders(port, `/v1/stream?videoId=${VIDEO}`, viewers)));
    const each: number[] = [];
    const cpu = async () => {
      const before = relays.map(({ pid }) => cpuMs(pid));
      for (let batch = 0; batch < batches; batch++) {
        chat.say(BATCH);
        await pause(EVERY_MS);
      }
      for (const one of readers) await one.settled(0);
      for (const [n, { pid }] of relays.entries()) each[n] = cpuMs(pid) - (before[n] ?? 0);
      return each.reduce((sum, ms) => sum + ms, 0) / relays.length;
    };
    await cpu(); // warm
    return { cpu, each };
  };
  const onOne = async (name: string) => ({ RELAY_STORE: await ownSchema(postgres, name) });
  const both = await onOne("two");
  const sqlite = await contestant([{ RELAY_STORE: `sqlite:${join(folder, "viewers.db")}` }]);
  const one = await contestant([await onOne("one")]);
  const two = await contestant([both, both]);
  const measured = await inRounds({ sqlite: sqlite.cpu, one: one.cpu, two: two.cpu });
  const row = (what: string, cpu: readonly number[], instances: number): Figures => ({
    what,
    viewers: instances * viewers,
    cpuMsEach: median(cpu),
    viewersAtSameCpu: instances * ratio(measured.one, cpu),
    viewersAtSameCpuToSqlite: instances * ratio(measured.sqlite, cpu),
  });
  return [
    row("SQLite", measured.sqlite, 1),
    row("one on PostgreSQL", measured.one, 1),
    row("two on PostgreSQL", measured.two, 2),
  ];
}
