/**
 * What a soak plays: rooms that come and go, and events that are milder than those of `events/`. None of them
 * starts the service again.
 */
import type { Failure, FaultOrder } from "../../simulator/faults.ts";
import { realisticHold, type Simulator } from "../../simulator/index.ts";
import { PAGE_FAILURES } from "../harness/upstream-failures.ts";
import type { Habits, Viewer } from "./audience.ts";
import { Chats } from "./chat-script.ts";
import { comeAndGo } from "./churn-clients.ts";
import { exchange, someOf } from "./events/viewers.ts";
import { drawEnd } from "./events/walls.ts";
import type { RoomTruth } from "./room-truth.ts";
import type { World } from "./world.ts";

/**
 * Its page holds more than is said in any outage, and less than is said while messages are kept. Each message
 * bears a time: the place of one without is not certain where an answer begins with it.
 */
const CHAT = {
  page: 200,
  overlap: 20,
  timeoutMs: 2000,
  kinds: ["text", "paid", "sticker", "membership", "milestone", "gift", "redemption"],
} as const;
/**
 * One that holds no more for a late reader than the real upstream: what is missing there is lost. Top chat
 * leaves out nothing, as in the lossy room of chaos.
 */
const LOSSY_CHAT = {
  ...realisticHold,
  ...CHAT,
  page: 50,
  kinds: ["text", "paid"],
  onlyInAll: () => false,
} as const;
/** Messages a second, by turns of rooms. */
const RATES = [1, 2, 4, 1] as const;
/** Of the rooms that are there at first: they stay. One in four of these loses messages. */
const LASTING_SHARE = 0.4;

export const GRACE_MS = 12_000;
/** Nobody is away for so long that messages behind its cursor are deleted. */
const MAX_AWAY_MS = 20_000;
const MAX_SLOW_MS = 15_000;
const FAILURES: readonly Failure[] = [{ status: 500 }, { status: 403 }, "reset", "lost", "truncated", "html"];

/**
 * Gzip is what `eventsource` and the SDK ask for, as the built-in fetch does; the others are sent plain text.
 * The client of the SDK has no filter. As old messages are deleted, only a room's first viewer asks for all.
 */
export const HABITS: Habits = {
  kinds: { http: 11, eventsource: 4, sdk: 4, curl: 1 },
  backfills: [0, 1, 20],
  filters: 0,
  everything: 0,
};

export class SoakChats extends Chats {
  readonly #lasting = new Set<RoomTruth>();
  #opened = 0;

  constructor(upstream: Simulator, rooms: number) {
    super(upstream);
    while (this.rooms.length < rooms) this.open(this.rooms.length < rooms * LASTING_SHARE);
  }

  /** One that does not stay. */
  get passing(): RoomTruth[] {
    return this.rooms.filter((room) => !this.#lasting.has(room));
  }

  open(isLasting = false): RoomTruth {
    const number = this.#opened++;
    const room = this.newLive({
      videoId: `soak-${String(number).padStart(6, "0")}`,
      perSecond: RATES[number % RATES.length] ?? 1,
      scenario: isLasting && number % 4 === 3 ? LOSSY_CHAT : CHAT,
    });
    if (isLasting) this.#lasting.add(room);
    return room;
  }

  /** Its viewers go over to the room that this opens. */
  replace(room: RoomTruth): RoomTruth {
    this.hush(room);
    this.rooms.splice(this.rooms.indexOf(room), 1);
    return this.open();
  }
}

export type SoakWorld = World<SoakChats>;

/** What can happen, and how often among all. */
export const EVENTS: Record<string, [weight: number, play: (world: SoakWorld) => unknown]> = {
  "connections dropped": [5, (world) => each(world, 0.05, MAX_AWAY_MS, ({ client }, ms) => client.drop(ms))],
  stalls: [4, (world) => each(world, 0.04, MAX_SLOW_MS, ({ client }, ms) => client.stall(ms))],
  trickles: [1, (world) => each(world, 0.02, MAX_SLOW_MS, ({ client }, ms) => client.trickle(ms))],
  "viewers come and go": [4, (world) => exchange(world, 0.03)],
  "callers that behave badly": [
    1,
    async ({ service, random, rooms }) =>
      comeAndGo({ service: service.url, videoId: random.pick(rooms).videoId, viewers: 4, forMs: 4000 }),
  ],
  bursts: [3, ({ random, script }) => random.pick(script.passing).chat.say(20 + random.below(60))],
  "refused tokens": [3, ({ random, rooms }) => random.pick(rooms).chat.expireTokens()],
  "failed calls": [4, (world) => fail(world, "get_live_chat", 1 + world.random.below(3), FAILURES)],
  throttling: [1, (world) => fail(world, "get_live_chat", 1, [{ status: 429 }])],

  /** Before a third of the rooms: their tokens are refused, and there is no page for them. */
  walls: [
    1,
    async (world) => {
      const { random, rooms } = world;
      fail(world, ["popout", "watch", "next"], Number.POSITIVE_INFINITY, Object.values(PAGE_FAILURES));
      for (const { chat } of rooms) if (random.chance(0.33)) chat.expireTokens();
      await world.pause(3000 + random.below(6000));
      await recover(world);
    },
  ],

  /** As the service sees one: no connection can be made for a while, and no token is known afterwards. */
  "restarts of the upstream": [
    1,
    async (world) => {
      world.lines.lose("refused");
      await world.pause(2000 + world.random.below(6000));
      for (const { chat } of world.rooms) chat.expireTokens();
      await recover(world);
    },
  ],

  "chats that end": [
    3,
    async (world) => {
      const { random, script, audience } = world;
      const room = random.pick(script.passing);
      const { chat } = room;
      script.hush(room);
      chat.say(1); // whoever has it holds a good token: without one nobody is shown the last words
      await recover(world, audience.of(room));
      const [shape, lastWords] = drawEnd(random);
      const end = () => {
        chat.say(3);
        room.mayEnd = true;
        chat.end(shape, { lastWords });
      };
      await world.endChat(room, end, () => script.replace(room));
    },
  ],

  "rooms left for good": [
    2,
    async (world) => {
      const room = world.random.pick(world.script.passing);
      await world.move(room, world.script.replace(room));
    },
  ],

  /** Its viewers are away until it is let go of, and come back with their cursors. */
  "rooms left for a while": [
    1,
    async (world) => {
      const room = world.random.pick(world.rooms);
      const watching = world.audience.of(room);
      for (const { client } of watching) client.drop(Number.POSITIVE_INFINITY);
      await world.pause(GRACE_MS + 2000);
      world.gapJudge.lost(room.videoId);
      await recover(world, watching);
    },
  ],
};

/** Each viewer with this chance, for so long at most. */
function each(
  world: SoakWorld,
  share: number,
  maxMs: number,
  act: (viewer: Viewer, ms: number) => void,
): void {
  for (const viewer of someOf(world, share)) act(viewer, world.random.below(maxMs));
}

/** So many calls meet one of the failures, until everything is to be well again. */
function fail(world: SoakWorld, on: FaultOrder["on"], times: number, failures: readonly Failure[]): void {
  world.order({ on, as: world.random.pick(failures), times });
}

/** Nothing is wrong any more, and these viewers have everything. */
async function recover(world: SoakWorld, viewers: Iterable<Viewer> = world.viewers): Promise<void> {
  world.callOffFaults();
  await world.settle(viewers);
}
