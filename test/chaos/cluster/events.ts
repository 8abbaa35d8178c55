/**
 * The troubles of one instance at a time, or of the database, while other instances have troubles of their
 * own.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";
import type { Instance } from "./instance.ts";
import { LEASE_MS } from "./setup.ts";

interface Event {
  /** Its weight in the draw. */
  weight: number;
  play(cluster: Cluster, instance: Instance): Promise<void>;
}

/**
 * The database is usually back soon; sometimes it stays away longer than any statement waits for an answer.
 */
const OUTAGE_MS = { usual: 2000, long: 6000, longShare: 0.25 };

/** Longer than a lease, and shorter than two. */
const aLease = ({ random }: Cluster) => LEASE_MS * (1.2 + random.next());

/** By name. */
const EVENTS: Readonly<Record<string, Event>> = {
  "kill -9": {
    weight: 3,
    async play(_, { service }) {
      await service.close();
      await service.start();
    },
  },
  SIGTERM: {
    weight: 3,
    async play(cluster, instance) {
      await cluster.stop(instance);
      await instance.service.start();
    },
  },
  SIGSTOP: {
    weight: 4,
    async play(cluster, { service }) {
      service.signal("SIGSTOP");
      await delay(aLease(cluster));
      service.signal("SIGCONT");
    },
  },
  "line cut": {
    weight: 4,
    async play(_, { database }) {
      database.cut();
    },
  },
  "line silent": {
    weight: 3,
    async play(cluster, { database }) {
      database.silence();
      await delay(aLease(cluster));
      database.speak();
    },
  },
  "upstream away": {
    weight: 2,
    async play({ random }, { upstream }) {
      upstream.lose(random.pick(["silent", "broken"]));
      await delay(random.next() * 3000);
      await upstream.mend();
    },
  },
  "database killed": {
    weight: 1,
    async play(cluster) {
      if (cluster.isDatabaseDown) return;
      cluster.isDatabaseDown = true;
      const { random, postgres } = cluster;
      await postgres.stop();
      await delay(random.chance(OUTAGE_MS.longShare) ? OUTAGE_MS.long : random.next() * OUTAGE_MS.usual);
      await postgres.start();
      cluster.isDatabaseDown = false;
    },
  },
};

const DRAWN = Object.entries(EVENTS).flatMap(([name, { weight }]) => Array<string>(weight).fill(name));
const PAUSE_MS = { least: 100, most: 900 };

/** Each instance has one trouble at a time, and one instance has none. `shake` is called after each. */
export async function storm(cluster: Cluster, minutes: number, shake: () => void): Promise<void> {
  const { random, instances, verdict } = cluster;
  const until = performance.now() + minutes * 60_000;
  const well = [...instances];
  const troubles = instances.slice(1).map(async () => {
    while (performance.now() < until) {
      const [instance] = well.splice(random.below(well.length), 1);
      if (!instance) continue;
      const name = random.pick(DRAWN);
      await EVENTS[name]?.play(cluster, instance);
      verdict.count(`played ${name}`);
      shake();
      well.push(instance);
      await delay(PAUSE_MS.least + random.next() * (PAUSE_MS.most - PAUSE_MS.least));
    }
  });
  await Promise.all(troubles);
}
