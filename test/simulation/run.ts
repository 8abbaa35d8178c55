/**
 * One run: a seed's world, some minutes of trouble, then calm, in which every viewer must receive everything.
 */

import type { Random } from "../../simulator/random.ts";
import type { Violation } from "../harness/journal.ts";
import { troubleAddresses } from "./addresses.ts";
import { CLUSTER_EVENTS } from "./cluster-events.ts";
import { EDGE_EVENTS } from "./edge-events.ts";
import { drawEdges, type EdgeTiers } from "./edges.ts";
import { EVENTS, type Event } from "./events.ts";
import { strangers } from "./guests.ts";
import { drawMix } from "./mix.ts";
import { rivalOpenings } from "./rivals.ts";
import { drawInstances } from "./settings.ts";
import { World } from "./world.ts";

export interface RunOptions {
  seed: number;
  minutes: number;
  rooms: number;
  /** Drawn if absent. */
  instances?: number | undefined;
  /** Both are drawn if the first is absent. */
  edges?: number | undefined;
  tiers?: number | undefined;
  /** Whether each kind of event has its usual share; drawn if absent. */
  isEven?: boolean;
}

export interface Outcome extends EdgeTiers {
  seed: number;
  instances: number;
  violation: Violation | undefined;
  /** The number of events of each kind. */
  counts: ReadonlyMap<string, number>;
  lines: readonly string[];
  /** The last lines about the violation's room. */
  last: readonly string[];
}

/** The mean time between events, in milliseconds. */
const EVENT_MS = 3000;
/**
 * The duration of the calm before the final messages, and the time in which these must reach every viewer.
 */
const CALM_MS = 90_000;
const RELAYED_MS = 50_000;
/**
 * Pages are scarce: on average, one instance loads at most one page per room in these times. If a page shows
 * no chat, because of its end or a wall, every new viewer may ask again.
 */
const MS_PER_PAGE = { pagesWithChat: 8000, pageLoads: 4000 };
/** A short run may consist of walls. */
const LEAST_MS = 600_000;
const SETTLE_STEP_MS = 1000;
const LAST_LINES = 60;

export async function run(options: RunOptions): Promise<Outcome> {
  const { seed, minutes, rooms, instances = drawInstances(seed), isEven = false } = options;
  const { edges, tiers } = edgeTiers(options);
  const world = new World({ seed, rooms, instances, edges, tiers });
  const { scheduler, journal } = world;
  const calmAt = Math.max(60_000, minutes * 60_000 - CALM_MS);
  let isSettled = false;
  let settlesAt = calmAt + CALM_MS;
  let finalMessagesAt: number | undefined;
  /** Longer if a viewer of several chats was refused one of them. */
  let relayedMs = RELAYED_MS;
  const onRejection = (reason: unknown) => {
    journal.violate(
      "health",
      "",
      `a promise nobody handles: ${reason instanceof Error ? reason.stack : reason}`,
    );
  };
  process.on("unhandledRejection", onRejection);
  const channel = world.channel ? [world.channel.live()] : [];
  const addresses = world.isNeighbourly ? [] : [troubleAddresses(world, world.addresses, calmAt)];
  const actors = [
    trouble(world, calmAt, isEven),
    rivalOpenings(world, calmAt),
    strangers(world, calmAt),
    world.recorded.live(calmAt),
    ...world.finished.map((stream) => stream.play(calmAt)),
    ...addresses,
    ...channel,
    ...world.viewers.map((viewer) => viewer.live()),
  ];
  for (const actor of actors)
    actor.catch((error) => journal.violate("run", "", String(error?.stack ?? error)));
  const settle = async () => {
    await world.judge();
    const now = scheduler.monotonic();
    if (!world.isCalm || now < settlesAt) return;
    settlesAt = now + SETTLE_STEP_MS;
    if (finalMessagesAt === undefined) {
      if (now < world.pausedUntil + CALM_MS) return;
      world.sayFinalMessages();
      finalMessagesAt = now;
    }
    const lag = world.lagging();
    isSettled = lag === undefined;
    if (lag && now > finalMessagesAt + relayedMs) {
      if (lag.retriedInMs && relayedMs === RELAYED_MS) {
        relayedMs += lag.retriedInMs;
        return;
      }
      journal.violate(
        "delivery",
        lag.room.videoId,
        `${lag.what}, ${relayedMs} ms after the last word, when all was calm`,
      );
    }
  };
  try {
    await scheduler.run(() => !isSettled && !journal.violation, settle);
  } catch (error) {
    journal.violate("run", "", `${error instanceof Error ? error.stack : error}`);
  } finally {
    process.off("unhandledRejection", onRejection);
    await world.upstream.close();
  }
  await world.judgeTotals();
  for (const { videoId } of world.liveRooms) {
    journal.count("page loads", world.upstreamJudge.pageLoads.get(videoId) ?? 0);
    const ms = Math.max(LEAST_MS, scheduler.monotonic());
    for (const [which, perMs] of Object.entries(MS_PER_PAGE)) {
      const loads = world.upstreamJudge[which as keyof typeof MS_PER_PAGE].get(videoId) ?? 0;
      if (loads > (instances * ms) / perMs)
        journal.violate("pages", videoId, `${loads} page loads, more than one per ${perMs} ms`);
    }
  }
  journal.count(
    "messages",
    world.judged.reduce((sum, { rows }) => sum + rows.length, 0),
  );
  const { violation, counts, lines } = journal;
  const last = violation ? journal.lastAbout(violation.videoId, LAST_LINES) : [];
  return { seed, instances, edges, tiers, violation, counts, lines, last };
}

/** Drawn unless the number of edges is given. */
function edgeTiers({ seed, edges, tiers = 1 }: RunOptions): EdgeTiers {
  return edges === undefined ? drawEdges(seed) : { edges, tiers: Math.min(tiers, edges) };
}

/** Starts the service and plays events until it is time for calm; events never cut each other short. */
async function trouble(world: World, calmAt: number, isEven: boolean): Promise<void> {
  const { scheduler, random, journal } = world;
  await world.start();
  const possible = {
    ...EVENTS,
    ...(world.cluster ? CLUSTER_EVENTS : {}),
    ...(world.edges.length > 0 ? EDGE_EVENTS : {}),
  };
  const mix = isEven ? possible : drawMix(world.seed, possible);
  const events = Object.values(mix).filter(({ isShared }) => !(isShared && world.isNeighbourly));
  while (scheduler.monotonic() < calmAt) {
    draw(random, events)
      .play(world)
      .catch((error) => journal.violate("run", "", String(error?.stack ?? error)));
    await scheduler.sleep(2 * EVENT_MS * random.next());
  }
  world.calm();
}

function draw(random: Random, events: readonly Event[]): Event {
  let ticket = random.next() * events.reduce((sum, { share }) => sum + share, 0);
  for (const event of events) {
    ticket -= event.share;
    if (ticket < 0) return event;
  }
  return random.pick(events);
}
