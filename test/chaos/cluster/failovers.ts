/**
 * Failovers: another server replaces the database. Each is prepared while everything works, and then played.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../simulator/random.ts";
import type { Cluster } from "./cluster.ts";
import { dump, type Postgres, restore, run, startPostgres } from "./postgres.ts";
import { readTables } from "./tables.ts";

const LONGEST_OUTAGE_MS = 3000;

/** Prepared; call it for the failover itself. */
type Play = () => Promise<void>;

/** By name. */
export const FAILOVERS: Readonly<Record<string, (cluster: Cluster, random: Random) => Promise<Play>>> = {
  /** Loses nothing that was stored. */
  async switchover(cluster, random) {
    const standby = await startPostgres(cluster.installed, { primary: cluster.postgres });
    cluster.keep(standby);
    return async () => {
      // It stops once its standby has everything.
      await gone(cluster, "SIGINT", random);
      await promoted(cluster, standby);
    };
  },

  /** Loses everything that is stored from now on. */
  async "failover to a standby that lags"(cluster, random) {
    const standby = await startPostgres(cluster.installed, { primary: cluster.postgres });
    cluster.keep(standby);
    await run(standby.url, "alter system set primary_conninfo = ''");
    await run(standby.url, "select pg_reload_conf()");
    const restarts = random.chance(0.5);
    return async () => {
      if (restarts) await Promise.all(cluster.instances.map(({ service }) => service.close()));
      await gone(cluster, "SIGQUIT", random);
      await promoted(cluster, standby);
      if (restarts) await Promise.all(cluster.instances.map(({ service }) => service.start()));
    };
  },

  /** As in the handbook: all instances are stopped, and the first to start gets RELAY_RESTORED. */
  async "restored dump"(cluster, random) {
    const folder = await mkdtemp(join(tmpdir(), "relay-dump-"));
    const file = join(folder, "dump.sql");
    await dump(cluster.installed, cluster.postgres, file);
    return async () => {
      await Promise.all(cluster.instances.map((instance) => cluster.stop(instance)));
      await gone(cluster, "SIGINT", random);
      const other = await startPostgres(cluster.installed);
      cluster.keep(other);
      await restore(cluster.installed, other, file);
      await rm(folder, { recursive: true });
      lead(cluster, other);
      const [first, ...others] = cluster.instances;
      await first?.service.start({ RELAY_RESTORED: "on" });
      await Promise.all(others.map(({ service }) => service.start()));
    };
  },
};

async function gone({ postgres }: Cluster, signal: NodeJS.Signals, random: Random): Promise<void> {
  await postgres.stop(signal);
  await delay(random.next() * LONGEST_OUTAGE_MS);
}

async function promoted(cluster: Cluster, standby: Postgres): Promise<void> {
  await run(standby.url, "select pg_promote()");
  lead(cluster, standby);
}

function lead(cluster: Cluster, server: Postgres): void {
  cluster.postgres = server;
  for (const instance of cluster.instances) instance.leadTo(server);
}

/** Plays the failover, and records the previous content of the tables. */
export async function failOver(cluster: Cluster, play: Play): Promise<void> {
  const before = cluster.postgres;
  const at = performance.now();
  await play();
  await before.start();
  cluster.failovers.push({ at, before: await readTables(before.url) });
  await before.stop();
}
