/**
 * One run: three instances of the real service on one PostgreSQL, each with its own line to it. Their processes are
 * killed, frozen and stopped, their lines cut and silenced, and the database dies, while viewers come back to whichever
 * instance they draw. What every viewer was sent, what the tables hold and what the upstream was asked is judged.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { Random } from "../../src/simulator/random.ts";
import { Client } from "../clients/client.ts";
import { Line } from "../line.ts";
import { freePorts, Service } from "../service.ts";
import { type Facts, judge, ViewerLog, watchLeases } from "./judges.ts";
import { installedPostgres, type Postgres, startPostgres } from "./postgres.ts";

export interface RunOptions {
  seed: number;
  minutes: number;
  viewers: number;
  projectDir: string;
}

const INSTANCES = 3;
const ROOMS = ["race-a", "race-b", "race-c", "race-d"].map((name) => `${name}00000`.slice(0, 11));
/** Scaled down, so that minutes hold hundreds of take-overs. */
const LEASE_MS = 1000;
const SETTINGS = {
  RELAY_LEASE_MS: String(LEASE_MS),
  RELAY_DRAIN_MS: "200",
  RELAY_GATE_SPACING_MS: "1",
  RELAY_POLL_MIN_MS: "5",
  RELAY_POLL_MAX_MS: "300",
  RELAY_FAILING_MS: "3600000",
  RELAY_LOG_LEVEL: "info",
};
const MESSAGES_PER_SECOND = 15;
const PAUSE_MS = { least: 100, most: 900 };
/** From the last event to everybody having everything. */
const SETTLE_MS = 45_000;

interface Instance {
  service: Service;
  line: Line;
}

interface World {
  random: Random;
  upstream: Simulator;
  postgres: Postgres;
  instances: Instance[];
  isDatabaseDown: boolean;
}

/** Longer than a lease, and shorter than two. */
const aLease = ({ random }: World) => LEASE_MS * (1.2 + random.next());

/** By name, how often each is drawn and what it does. */
const EVENTS: Record<string, { weight: number; play(world: World, instance: Instance): Promise<void> }> = {
  "kill -9": {
    weight: 3,
    async play(_, { service }) {
      await service.close();
      await service.start();
    },
  },
  SIGTERM: {
    weight: 3,
    async play(_, { service }) {
      service.signal("SIGTERM");
      const { code } = await service.exited;
      if (code !== 0)
        throw new Error(`a stop ended with ${code}\n${service.lastLines.slice(-40).join("\n")}`);
      await service.start();
    },
  },
  SIGSTOP: {
    weight: 4,
    async play(world, { service }) {
      service.signal("SIGSTOP");
      await delay(aLease(world));
      service.signal("SIGCONT");
    },
  },
  "line cut": {
    weight: 4,
    async play(_, { line }) {
      line.cut();
    },
  },
  "line silent": {
    weight: 3,
    async play(world, { line }) {
      line.silence();
      await delay(aLease(world));
      line.speak();
    },
  },
  "database killed": {
    weight: 1,
    async play(world) {
      if (world.isDatabaseDown) return;
      world.isDatabaseDown = true;
      await world.postgres.stop();
      await delay(world.random.next() * 2000);
      await world.postgres.start();
      world.isDatabaseDown = false;
    },
  },
};

const DRAWN = Object.entries(EVENTS).flatMap(([name, { weight }]) => Array<string>(weight).fill(name));

export async function run(options: RunOptions): Promise<Facts> {
  const installed = installedPostgres();
  if (typeof installed === "string")
    throw new Error(`${installed}: install it (Debian: apt-get install postgresql)`);
  await using stack = new AsyncDisposableStack();
  const random = new Random(options.seed, "cluster");
  const postgres = stack.adopt(await startPostgres(installed), (started) => started.remove());
  const upstream = stack.use(await startSimulator());
  const instances: Instance[] = [];
  for (const port of await freePorts(INSTANCES)) {
    const line = stack.use(await Line.to(postgres.port));
    const settings = {
      ...SETTINGS,
      RELAY_STORE: postgres.url.replace(`:${postgres.port}/`, `:${line.port}/`),
      RELAY_UPSTREAM_URL: upstream.urls.main,
      RELAY_UPSTREAM_MUSIC_URL: upstream.urls.music,
      RELAY_UPSTREAM_MOBILE_URL: upstream.urls.mobile,
    };
    instances.push({
      service: stack.use(new Service({ projectDir: options.projectDir, port, settings })),
      line,
    });
  }
  const world: World = { random, upstream, postgres, instances, isDatabaseDown: false };
  await Promise.all(instances.map(({ service }) => service.start()));
  await watchLeases(postgres.url);

  // Half of them refuse a token that an owner has used before it went: their page shows all that was said since.
  const chats = ROOMS.map((videoId, n) =>
    upstream.chat(videoId, {
      kinds: ["text"],
      timeoutMs: 60,
      page: 5000,
      tokens: n % 2 ? "strict" : "reusable",
    }),
  );
  for (const chat of chats) chat.say(5);
  const logs: ViewerLog[] = [];
  const viewers: Client[] = [];
  for (let n = 0; n < options.viewers; n++) {
    const videoId = ROOMS[n % ROOMS.length] ?? "";
    const log = new ViewerLog(videoId);
    const base = () => random.pick(instances).service.url;
    logs.push(log);
    viewers.push(
      new Client("http", base, { videoId, backfill: 0 }, log, new Random(options.seed, `viewer ${n}`)),
    );
  }
  await delay(3000);
  const talks = chats.map((chat) => chat.speak(MESSAGES_PER_SECOND));
  const played = new Map<string, number>();
  const until = performance.now() + options.minutes * 60_000;
  /** Each instance has one trouble at a time, and one has none. */
  const well = [...instances];
  const troubles = instances.slice(1).map(async () => {
    while (performance.now() < until) {
      const [instance] = well.splice(random.below(well.length), 1);
      if (!instance) continue;
      const name = random.pick(DRAWN);
      await EVENTS[name]?.play(world, instance);
      played.set(name, (played.get(name) ?? 0) + 1);
      random.pick(viewers).drop(300);
      well.push(instance);
      await delay(PAUSE_MS.least + random.next() * (PAUSE_MS.most - PAUSE_MS.least));
    }
  });
  await Promise.all(troubles);
  for (const talk of talks) talk.stop();
  const said = new Map(chats.map((chat, n) => [ROOMS[n] ?? "", chat.ledger.map(({ id }) => id)]));
  const settledBy = performance.now() + SETTLE_MS;
  while (performance.now() < settledBy && logs.some((log) => !log.isComplete(said))) await delay(100);
  const facts = await judge(postgres.url, said, logs, upstream.requests);
  await Promise.all(viewers.map((viewer) => viewer.leave()));
  for (const [name, count] of played) facts.counts.set(`played ${name}`, count);
  for (const { service } of instances)
    for (const [text, count] of service.errors)
      facts.counts.set(`error ${text}`, (facts.counts.get(`error ${text}`) ?? 0) + count);
  return facts;
}
