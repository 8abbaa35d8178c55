/**
 * The events of a run and their frequencies: faults of the upstream, the network, the disk and the process.
 */
import { END_SHAPES } from "../../simulator/answers.ts";
import type { Failure } from "../../simulator/faults.ts";
import { WALLS } from "../../simulator/pages.ts";
import { CHAT_FAILURES, PAGE_FAILURES, SCRIPT_FAILURES, THROTTLINGS } from "../harness/upstream-failures.ts";
import type { RoomJudge } from "./room-judge.ts";
import { HOLD, PUBLIC } from "./settings.ts";
import type { World } from "./world.ts";
import { WRONG_CLOCKS } from "./wrong-clocks.ts";

/** The outcome of all chat calls of a room for a while. */
const DEAD: readonly Failure[] = [{ status: 503 }, { status: 403 }, "lost"];

const PAGES = ["popout", "watch", "next"] as const;
/** A chat that is switched off, or whose video is hidden, is not over. */
const AWAY = ["off", "private", "members-only"] as const;

export interface Event {
  /** Its share of all events. */
  share: number;
  /** The names under which a run counts it, and must have counted each; by default its own name. */
  counts?: readonly string[];
  /** Whether it affects something that rooms share: the address, the disk, the process. */
  isShared: boolean;
  /** Resolves at the end of the event. */
  play(world: World): Promise<void>;
}

const event = (share: number, play: Event["play"]): Event => ({ share, play, isShared: false });
/** An event that affects something that rooms share. */
export const shared = (share: number, play: Event["play"]): Event => ({ share, play, isShared: true });

/** An event that draws one of a table's failures, and counts as that. */
function failing(
  share: number,
  prefix: string,
  table: Readonly<Record<string, Failure>>,
  play: (world: World, name: string, as: Failure) => Promise<void>,
): Event {
  const entries = Object.entries(table).map(([name, as]) => [`${prefix} ${name}`, as] as const);
  return {
    ...event(share, (world) => play(world, ...world.random.pick(entries))),
    counts: entries.map(([name]) => name),
  };
}

function room(world: World) {
  return world.random.pick(world.liveRooms);
}

/**
 * One burst at a time: if more than 200 messages come in one interval, some are gone before anybody could
 * read them.
 */
function burst({ scheduler, random, journal }: World, judge: RoomJudge): void {
  const now = scheduler.monotonic();
  if (now < judge.burstHeldUntil) return;
  judge.burstHeldUntil = now + 2 * HOLD.holdsMs;
  judge.chat.say(20 + random.below(100));
  journal.count("bursts");
}

async function sleepUntilCalm(world: World, until: number): Promise<void> {
  while (world.scheduler.monotonic() < until && !world.isCalm) {
    await world.scheduler.sleep(Math.min(1000, until - world.scheduler.monotonic()));
  }
}

/** Several rooms whose tokens expire while their pages fail. */
async function withoutPages(world: World, name: string, as: Failure): Promise<void> {
  const rooms = new Set(Array.from({ length: 3 + world.random.below(4) }, () => room(world)));
  const orders = [...rooms].map(({ chat, videoId }) => {
    chat.expireTokens();
    return world.order(name, { on: PAGES, videoId, times: 1000, as });
  });
  await Promise.all(orders);
}

export const EVENTS: Record<string, Event> = {
  "chat failure": failing(40, "chat", CHAT_FAILURES, async (world, name, as) => {
    const times = 1 + world.random.below(3);
    await world.order(name, { on: "get_live_chat", videoId: room(world).videoId, times, as });
  }),
  // Its pages still work, each with more messages, but for a long time no answer follows them.
  "dead chats": event(3, async (world) => {
    const judge = room(world);
    const as = world.random.pick(DEAD);
    judge.chat.expireTokens();
    const isOver = world.order("dead chats", {
      on: "get_live_chat",
      videoId: judge.videoId,
      times: 1000,
      as,
    });
    await world.scheduler.sleep(15_000);
    burst(world, judge);
    await isOver;
  }),
  throttling: {
    ...failing(6, "chat", THROTTLINGS, (world, name, as) =>
      world.order(name, { on: "get_live_chat", times: 1, as }),
    ),
    isShared: true,
  },
  "page failure": failing(14, "page", PAGE_FAILURES, async (world, name, as) => {
    const { chat, videoId } = room(world);
    const on = world.random.pick(PAGES);
    chat.expireTokens();
    await world.order(name, { on, videoId, times: 1 + world.random.below(3), as });
  }),
  "script failure": failing(5, "script", SCRIPT_FAILURES, async (world, name, as) => {
    room(world).chat.expireTokens();
    await world.order(name, { on: world.random.pick(["sw.js", "sw.js_data"]), times: 2, as });
  }),
  wall: failing(6, "wall", PAGE_FAILURES, async (world, name, as) => {
    const { chat, videoId } = room(world);
    chat.expireTokens();
    await world.order(name, { on: PAGES, videoId, times: 1000, as });
  }),
  "tokens expired": event(8, async (world) => {
    room(world).chat.expireTokens();
    world.journal.count("tokens expired");
  }),
  "all tokens expired": event(1, async (world) => {
    for (const { chat } of world.liveRooms) chat.expireTokens();
    world.journal.count("all tokens expired");
  }),
  "walls together": event(2, (world) => withoutPages(world, "walls together", world.random.pick(WALLS))),
  "dead pages together": event(1, (world) => withoutPages(world, "dead pages together", "silent")),
  "made-up ids": event(2, async (world) => {
    const flood = Array.from(
      { length: 5 + world.random.below(40) },
      (_, i) => `made-up--${String(i).padStart(2, "0")}`,
    );
    for (const videoId of flood) void world.visit(videoId, "flood");
    world.journal.count("made-up ids", flood.length);
  }),
  "replays beside": event(1, async (world) => {
    const replays = world.replaysBeside(1 + world.random.below(6));
    const leaving = replays.map((videoId) => world.visit(videoId, "reader", world.random.next() * 60_000));
    world.journal.count("replays beside", replays.length);
    await Promise.all(leaving);
  }),
  probes: event(1, async (world) => {
    const probes = Array.from({ length: 1 + world.random.below(8) }, () =>
      world.pickInstance().life?.probe(PUBLIC),
    );
    world.journal.count("probes", probes.length);
    await Promise.allSettled(probes);
  }),
  "tokens silent": event(2, async (world) => {
    const { scheduler, journal } = world;
    const judge = world.random.pick(world.rooms.slice(1));
    const silence = { from: scheduler.monotonic() - 60_000, to: Number.POSITIVE_INFINITY };
    judge.silences.push(silence);
    judge.chat.change({ holdsMs: 0, timeoutMs: 3000 });
    journal.note(`silent ${judge.videoId}`);
    journal.count("tokens silent");
    // The service loads a page after a minute and twenty polls, which follow each other quickly.
    const until = scheduler.monotonic() + 60_000 + world.random.next() * 240_000;
    const wall = world.random.pick(WALLS);
    const isWalled = world.random.chance(0.3);
    while (scheduler.monotonic() < until && !world.isCalm) {
      if (isWalled)
        await world.order(`wall ${wall}`, { on: PAGES, videoId: judge.videoId, times: 1000, as: wall });
      else await scheduler.sleep(10_000);
    }
    silence.to = scheduler.monotonic();
    judge.chat.change({ ...HOLD, timeoutMs: 10_000 });
  }),
  bursts: event(5, async (world) => burst(world, room(world))),
  "chat over": {
    ...event(0.6, async (world) => {
      if (world.liveRooms.length < 10) return;
      const judge = room(world);
      const shape = world.random.pick(END_SHAPES);
      judge.chat.end(shape, { lastWords: world.random.chance(0.5) });
      judge.overSince = world.scheduler.monotonic();
      world.journal.note(`over ${judge.videoId} ${shape}`);
      world.journal.count(`chats over ${shape}`);
    }),
    counts: END_SHAPES.map((shape) => `chats over ${shape}`),
  },
  // Its stream goes on. The messages of this time may be missing: a hidden video may have some.
  "chat away": {
    ...event(4, async (world) => {
      const judge = room(world);
      const kind = world.random.pick(AWAY);
      judge.chat.change({ kind });
      world.journal.note(`${kind} ${judge.videoId}`);
      world.journal.count(`chats ${kind}`);
      const forMs = world.random.pick([3000, 30_000, 120_000]) * world.random.next();
      await sleepUntilCalm(world, world.scheduler.monotonic() + forMs);
      // While a video is hidden nobody can know that its stream has ended: its page says so afterwards.
      const isOver = judge.overSince < Number.POSITIVE_INFINITY;
      judge.chat.change({ kind: isOver ? "disabled" : "live" });
      world.journal.note(`${isOver ? "shown as over" : "there again"} ${judge.videoId}`);
    }),
    counts: AWAY.map((kind) => `chats ${kind}`),
  },
  "connections refused": shared(2, async ({ network, random, scheduler, journal }) => {
    network.refusesUntil = scheduler.monotonic() + random.next() * 40_000;
    journal.note("connections refused");
    journal.count("connections refused");
  }),
  outages: shared(1, async ({ network, random, scheduler, journal }) => {
    network.silentUntil = scheduler.monotonic() + random.next() * 60_000;
    journal.note("outage");
    journal.count("outages");
  }),
  "slow network": shared(2, async ({ network, random, scheduler, journal }) => {
    network.latency = { leastMs: 300, jitterMs: 2500 };
    journal.count("slow network");
    await scheduler.sleep(random.next() * 30_000);
    network.latency = { leastMs: 20, jitterMs: 100 };
  }),
  "commit fails": {
    ...shared(6, async ({ disk, random }) => {
      disk?.failAtCommit(1 + random.below(20), random.pick(["refused", "unanswered"]));
    }),
    counts: ["commit refused", "commit unanswered"],
  },
  "disk gone": shared(1, async ({ disk, random, scheduler }) => {
    if (disk) disk.goneUntil = scheduler.monotonic() + random.next() * 15_000;
  }),
  "slow disk": shared(2, async ({ disk, random, scheduler, journal }) => {
    if (!disk) return;
    const usual = disk.commit;
    disk.commit = { leastMs: 50, jitterMs: 1500 };
    journal.count("slow disk");
    await scheduler.sleep(random.next() * 20_000);
    disk.commit = usual;
  }),
  kills: shared(1.5, async (world) => {
    const instance = world.pickInstance();
    if (!instance.life) return;
    world.journal.count("kills");
    await instance.kill(world.random.next() ** 2 * 30_000);
  }),
  // An instance that follows a room fails it if it cannot read the room's position: it should have been
  // upgraded first.
  "checkpoints of another version": shared(0.5, async (world) => {
    const { disk, cluster, random, journal } = world;
    const instance = world.pickInstance();
    if (!instance.life || !(disk || cluster)) return;
    const isBack = instance.kill(random.next() * 10_000);
    for (const { videoId } of world.rooms.filter(() => random.chance(0.5))) {
      const part = cluster ? "gifts" : random.pick(["position", "gifts"]);
      const change = (checkpoint: string) =>
        JSON.stringify({ ...JSON.parse(checkpoint), [part]: "of another version" });
      disk?.rewrite(videoId, change);
      cluster?.store.rewrite(videoId, change);
    }
    journal.count("checkpoints of another version");
    await isBack;
  }),
  stops: shared(1, async (world) => {
    const instance = world.pickInstance();
    if (!instance.life) return;
    world.journal.count("stops");
    await instance.restart(world.random.next() ** 2 * 30_000);
  }),
};

/** The names under which runs count these events. */
export function kindsOf(events: Readonly<Record<string, Event>>): string[] {
  return Object.entries(events).flatMap(([name, { counts = [name] }]) => counts);
}

/** Every kind of fault: those of the events, of an address (`addresses.ts`) and of viewers (`viewer.ts`). */
export const FAULT_KINDS: readonly string[] = [
  ...kindsOf(EVENTS),
  WRONG_CLOCKS,
  ...["address throttled", "address lost"],
  ...["viewers stalled", "viewers left", "viewers forged cursor"],
];
