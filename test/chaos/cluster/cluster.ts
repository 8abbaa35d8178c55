/** Three instances of the real service on one PostgreSQL, and a record of the actions on them. */
import { setTimeout as delay } from "node:timers/promises";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { Random } from "../../../simulator/random.ts";
import { freePorts } from "../service.ts";
import { Verdict } from "../verdict.ts";
import { canShiftClocks, sweepClocks } from "./clocks.ts";
import { Instance } from "./instance.ts";
import { type Installed, installedPostgres, type Postgres, startPostgres } from "./postgres.ts";
import { drawSetup, type Setup, settingsOf } from "./setup.ts";
import { type Tables, watchLeases } from "./tables.ts";

const INSTANCES = 3;
const CHECK_MS = 50;
/** The number of requests kept for the judges: enough for several minutes. */
const KEPT_REQUESTS = 60_000;

/** Another server, or another history of it, replaced the database. */
export interface Failover {
  at: number;
  /** The content of the tables before. */
  before: Tables;
}

export class Cluster implements AsyncDisposable {
  readonly random: Random;
  readonly setup: Setup;
  readonly verdict = new Verdict();
  readonly instances: Instance[] = [];
  readonly failovers: Failover[] = [];
  readonly installed: Exclude<Installed, string>;
  readonly upstream: Simulator;
  /** The server that the instances use. */
  postgres: Postgres;
  isDatabaseDown = false;
  readonly #servers: Postgres[] = [];

  /** Resolves when all instances listen. */
  static async start({ seed, projectDir }: { seed: number; projectDir: string }): Promise<Cluster> {
    const installed = installedPostgres();
    if (typeof installed === "string")
      throw new Error(`${installed}: install it (Debian: apt-get install postgresql)`);
    const postgres = await startPostgres(installed);
    const upstream = await startSimulator({ keepRequests: KEPT_REQUESTS });
    const cluster = new Cluster(seed, installed, postgres, upstream);
    try {
      await cluster.#startInstances(projectDir);
      await watchLeases(postgres.url);
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(
    seed: number,
    installed: Exclude<Installed, string>,
    postgres: Postgres,
    upstream: Simulator,
  ) {
    this.random = new Random(seed, "cluster");
    this.setup = drawSetup(seed);
    this.installed = installed;
    this.postgres = postgres;
    this.upstream = upstream;
    this.keep(postgres);
  }

  /** Removes that server at the end. */
  keep(server: Postgres): void {
    this.#servers.push(server);
  }

  /** Waits at most `limitMs`. Returns whether the condition became true. */
  async until(isTrue: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
    for (const limit = performance.now() + limitMs; performance.now() < limit; await delay(CHECK_MS))
      if (await isTrue()) return true;
    return await isTrue();
  }

  /** Stops one instance as an operator does; it must exit cleanly. */
  async stop({ service }: Instance): Promise<void> {
    service.signal("SIGTERM");
    const { code } = await service.exited;
    if (code === 0) return;
    const last = service.lastLines.slice(-3).join("\n");
    this.verdict.violate("stop", `SIGTERM ended with ${code}: ${last}`);
  }

  /** The instance that polled each chat last since that time, as the upstream saw it. */
  readers(since: number): Map<string | undefined, Instance> {
    const byAddress = new Map(this.instances.map((instance) => [instance.address, instance]));
    const readers = new Map<string | undefined, Instance>();
    const { requests } = this.upstream;
    for (const { kind, videoId, from } of requests.slice(
      requests.findLastIndex(({ at }) => at < since) + 1,
    )) {
      const reader = byAddress.get(from);
      if (reader && kind === "get_live_chat") readers.set(videoId, reader);
    }
    return readers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance[Symbol.asyncDispose]()));
    await this.upstream.close();
    await Promise.all(this.#servers.map((server) => server.remove()));
    sweepClocks();
  }

  async #startInstances(projectDir: string): Promise<void> {
    const { clocks, distancesMs, sharedSpacingMs } = this.setup;
    const settings = settingsOf(this.setup);
    for (const [n, port] of (await freePorts(INSTANCES)).entries()) {
      const clock = clocks[n] ?? "";
      const options = { projectDir, port, settings, clock, address: `127.0.0.${n + 2}` };
      const instance = await Instance.create(options, this.postgres, this.upstream);
      instance.database.delayMs = distancesMs[n] ?? 0;
      this.instances.push(instance);
      if (clock) this.verdict.count(`instances whose clock is off by ${clock}`);
    }
    if (!canShiftClocks)
      this.verdict.count(
        "instances whose clock is right, for want of faketime (Debian: apt-get install faketime)",
        INSTANCES,
      );
    if (sharedSpacingMs !== undefined)
      this.verdict.count("ms between calls from a shared address", sharedSpacingMs);
    await Promise.all(this.instances.map(({ service }) => service.start()));
  }
}
