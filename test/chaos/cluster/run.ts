/**
 * One run: three instances of the real service on one PostgreSQL, each with its own lines to it and to the
 * upstream, and some with a wrong clock. Their processes are killed, frozen and stopped, their lines cut and
 * silenced, and the database dies, while viewers come back and visitors come and go. Then some trials are
 * played alone and measured. At last another server replaces the database. The judges check every viewer's
 * frames, the tables and the upstream's requests.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../../../simulator/random.ts";
import type { Verdict } from "../verdict.ts";
import { judgeHistory, judgeOwners } from "./at-rest.ts";
import { Audience } from "./audience.ts";
import { Cluster } from "./cluster.ts";
import { storm } from "./events.ts";
import { FAILOVERS, failOver } from "./failovers.ts";
import { judge, judgeSpacing } from "./judges.ts";
import { isStored, readTables } from "./tables.ts";
import { outage, unwatched, upstreamAway } from "./trials.ts";

export interface RunOptions {
  seed: number;
  minutes: number;
  viewers: number;
  projectDir: string;
}

const FAILOVER_KINDS = Object.keys(FAILOVERS);
/** A storm, the trials and a failover; a long run has several. */
const ACT_MINUTES = 3;
/** Time limit until all initial viewers have their streams. */
const OPENING_LIMIT_MS = 30_000;
/** Time for restarted instances to recover. */
const CALM_MS = 2000;
const AFTER_FAILOVER_MS = 3000;
/** Time limit from the last event until every viewer has everything. */
const SETTLE_MS = 45_000;
const SHAKEN_MS = 300;

export async function run(options: RunOptions): Promise<Verdict> {
  const { seed, viewers, minutes } = options;
  await using cluster = await Cluster.start(options);
  await using audience = new Audience(cluster, seed, viewers);
  await cluster.until(() => audience.clients.every(({ isOpen }) => isOpen), OPENING_LIMIT_MS);
  audience.open();
  const first = new Random(seed, "failovers").below(FAILOVER_KINDS.length);
  for (let n = 0; n * ACT_MINUTES < minutes; n++) {
    const kind = FAILOVER_KINDS[(first + n) % FAILOVER_KINDS.length];
    const actMinutes = Math.min(ACT_MINUTES, minutes - n * ACT_MINUTES);
    await act(cluster, audience, actMinutes, kind, new Random(seed, `act ${n}`));
  }
  await audience.close();
  await settle(cluster, audience);
  countErrors(cluster);
  return cluster.verdict;
}

async function act(
  cluster: Cluster,
  audience: Audience,
  minutes: number,
  failover = "",
  random: Random,
): Promise<void> {
  await storm(cluster, minutes, () => cluster.random.pick(audience.clients).drop(SHAKEN_MS));
  await outage(cluster, audience);
  await delay(CALM_MS);
  await judgeOwners(cluster, audience);
  await unwatched(cluster, audience, random);
  const play = await FAILOVERS[failover]?.(cluster, random);
  await upstreamAway(cluster, audience, random);
  if (play) await audience.duringStream(() => failOver(cluster, play));
  cluster.verdict.count(`played ${failover}`);
  await delay(AFTER_FAILOVER_MS);
}

/**
 * All faults are over and the chats are silent: every viewer must have everything, and all must be in order.
 */
async function settle(cluster: Cluster, audience: Audience): Promise<void> {
  const { verdict, setup, upstream } = cluster;
  const { rooms, staying, visitors, watched } = audience;
  const { said } = rooms;
  const logs = () => [...staying.map(({ log }) => log), ...audience.channelLogs.last];
  const areServed = () => logs().every((log) => log.hasEnded || log.isComplete(said));
  // A viewer may have everything from a database that is gone, while the new one does not hold it yet.
  const areStored = async () => {
    const tables = await readTables(cluster.postgres.url);
    return watched.values().every((videoId) => isStored(tables, videoId, said.get(videoId) ?? []));
  };
  await cluster.until(async () => areServed() && (await areStored()), SETTLE_MS);
  await judgeOwners(cluster, audience);
  await judgeHistory(cluster, audience);
  const evidence = {
    url: cluster.postgres.url,
    said,
    watched,
    viewers: logs(),
    visitors: [...visitors, ...audience.channelLogs.others],
    requests: upstream.requests,
    lossy: new Set(rooms.of("lossy").map(({ videoId }) => videoId)),
    failovers: cluster.failovers,
  };
  await judge(evidence, verdict);
  if (setup.sharedSpacingMs !== undefined) judgeSpacing(upstream.requests, setup.sharedSpacingMs, verdict);
}

/** Counts errors as equal if they differ only by a room, a cursor or a port. */
function countErrors({ instances, verdict }: Cluster): void {
  for (const { service } of instances) {
    if (service.bug) verdict.violate("health", service.bug);
    for (const [text, count] of service.errors)
      verdict.count(`error ${text.replace(/room [\w-]{11}/g, "room …").replace(/\d{5,}/g, "…")}`, count);
  }
}
