/**
 * One run: viewers come, rounds of events are played until the time is up, and everything is judged once
 * more.
 */
import { inspect } from "node:util";
import { ChatScript, type Chats, LONG_HISTORY, LONG_ROOM } from "./chat-script.ts";
import { round } from "./events/index.ts";
import { judgeStore } from "./store-judge.ts";
import { Verdict } from "./verdict.ts";
import { World, type WorldOptions } from "./world.ts";

export interface RunOptions extends WorldOptions {
  /** The duration of events, without the time before and after them. If absent, one whole round is played. */
  minutes?: number;
  viewers: number;
  /** Names of events; empty plays all. */
  events: readonly string[];
}

/** After this many events, every viewer must have everything again. */
const EVENTS_BETWEEN_SETTLEMENTS = 10;
const MAX_PAUSE_MS = 600;
/** The share of viewers that ask for all stored messages. */
const ALL_SHARE = 0.1;
/** The number of viewers of several chats, and of the channel, as a share of the viewers of one chat. */
const SEVERAL_SHARE = 0.1;

export interface Outcome {
  verdict: Verdict;
  seconds: number;
  peakRssBytes: number;
  lastLines: readonly string[];
  /** Those of each edge. */
  edgeLines: readonly (readonly string[])[];
}

export async function run(options: RunOptions): Promise<Outcome> {
  const verdict = new Verdict();
  const from = performance.now();
  await using world = await World.create(options, verdict, (upstream) => new ChatScript(upstream));
  try {
    await play(world, options);
  } catch (error) {
    if (!verdict.over.aborted) verdict.violate("run", inspect(error));
  }
  return {
    verdict,
    seconds: (performance.now() - from) / 1000,
    peakRssBytes: world.peakRssBytes,
    lastLines: [...world.service.lastLines],
    edgeLines: world.edges.map(({ service }) => [...service.lastLines]),
  };
}

async function play(world: World, options: RunOptions): Promise<void> {
  const { verdict } = world;
  await world.start();
  if (options.without?.includes("hand-over"))
    await world.service.logged("this Node.js does not release its sockets");
  await audience(world, options.viewers);
  await sayLongHistory(world);
  await world.settle();
  const { minutes = Number.POSITIVE_INFINITY } = options;
  const endAt = performance.now() + minutes * 60_000;
  const isOver = () => verdict.over.aborted || performance.now() >= endAt;
  let played = 0;
  do {
    for (const [name, event] of round(world, options.events)) {
      if (isOver()) break;
      verdict.note(name);
      await event.play(world);
      verdict.count("events");
      if (world.service.pid === undefined) verdict.violate("health", "the service ended by itself");
      played += 1;
      if (played % EVENTS_BETWEEN_SETTLEMENTS === 0) await world.settle();
      await world.pause(world.random.below(MAX_PAUSE_MS));
      world.judge();
    }
    verdict.count("rounds");
  } while (options.minutes !== undefined && !isOver());
  if (!verdict.over.aborted) await end(world, options);
}

async function audience(world: World, viewers: number): Promise<void> {
  const rooms = [...world.rooms];
  for (let i = 0; i < viewers; i++) {
    const room = rooms[i % rooms.length];
    if (room) await world.arrive(room, world.random.chance(ALL_SHARE) ? { lastEventId: 0 } : {});
  }
  const { liveRooms, brief, streams } = world.script;
  for (let i = 0; i < viewers * SEVERAL_SHARE; i++) {
    world.audience.arriveMerged(liveRooms.filter((room) => room !== brief));
    if (world.edges.length === 0) world.audience.arriveAtChannel(streams);
  }
}

/** Says many long messages in their room, which must be open. */
async function sayLongHistory({ script, upstream }: World): Promise<void> {
  for (let answer = 0; answer < LONG_HISTORY.answers; answer++) {
    script.sayLong(LONG_HISTORY.messages);
    await upstream.requested("get_live_chat", { videoId: LONG_ROOM, finished: true });
  }
}

interface EndOptions extends Pick<WorldOptions, "store"> {
  /** Whether the service has deleted old messages. */
  isPruned?: boolean;
}

/** Nothing more is said; everybody gets the rest, the service is stopped, and its file is looked into. */
export async function end(world: World<Chats>, { store, isPruned = false }: EndOptions): Promise<void> {
  const { verdict, service, disk, rooms, gapJudge } = world;
  world.script.hush();
  await world.calm();
  service.signal("SIGTERM");
  const { code, signal } = await service.exited;
  if (code !== 0) verdict.violate("stop", `the last stop ended with ${code ?? signal}`);
  world.judge();
  if (store !== "memory") judgeStore(disk.path, rooms, gapJudge, verdict, { isPruned });
  for (const [text, count] of service.errors) verdict.count(`errors logged: ${text.slice(0, 80)}`, count);
}
