/**
 * Walls before chats that continue, an address that is cut off, and chats that really end. Behind a wall, no
 * room may end (the viewers' judges check it) and no viewer may be disconnected.
 */
import { END_SHAPES, type EndShape } from "../../../simulator/index.ts";
import type { Random } from "../../../simulator/random.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import type { Place } from "../../../simulator/scenario.ts";
import { PAGE_FAILURES } from "../../harness/upstream-failures.ts";
import { STEADY_ROOM } from "../chat-script.ts";
import type { World } from "../world.ts";
import { ECHO_MS, type Event } from "./event.ts";

const PLACES: readonly Place[] = ["popout", "watch", "next"];
const EVERYTHING: readonly RequestKind[] = [
  ...PLACES,
  "sw.js",
  "sw.js_data",
  "get_live_chat",
  "get_live_chat_replay",
];
/** Maximum number of calls into an outage: before the breaker opens, and for its attempts. */
const MAX_CALLS_INTO_OUTAGE = 40;

export const WALL_EVENTS: Record<string, Event> = {
  wall: {
    times: 3,
    async play(world) {
      const { random } = world;
      // Three in all: no chat to be found. Fewer: the others must do.
      const places = PLACES.filter(() => random.chance(0.75));
      const [name, wall] = random.pick(Object.entries(PAGE_FAILURES));
      await behindWall(world, `${places.join("+")} ${name}`, async () => {
        world.order({ on: places, as: wall, times: Number.POSITIVE_INFINITY });
        expireAll(world);
        await world.pause(2000 + random.below(6000));
      });
    },
  },

  /** The pages that report a disabled chat are contradicted by the one place that shows it or fails. */
  "chat said to be disabled": {
    times: 2,
    async play(world) {
      const { random } = world;
      const foundOn = random.pick(["watch", "next"] as const);
      const isDead = random.chance(0.5);
      await behindWall(world, `a chat on ${foundOn} alone${isDead ? ", which fails" : ""}`, async () => {
        for (const { chat } of world.liveRooms) chat.change({ foundOn });
        if (isDead) world.order({ on: foundOn, as: { status: 503 }, times: Number.POSITIVE_INFINITY });
        expireAll(world);
        await world.pause(1000 + random.below(4000));
      });
      for (const { chat } of world.liveRooms) chat.change({ foundOn: "everywhere" });
    },
  },

  "key missing everywhere": {
    times: 1,
    async play(world) {
      const { credentials } = world.upstream;
      const { apiKey } = credentials;
      credentials.apiKey = "";
      // A service that knows the key already would not miss it.
      world.service.signal("SIGKILL");
      world.verdict.count("kills SIGKILL");
      await world.restart("key missing");
      expireAll(world);
      await world.calm();
      credentials.apiKey = apiKey;
      world.verdict.count("faults no key");
    },
  },

  /** Polls that work continue. */
  "pages throttled": {
    times: 1,
    async play(world) {
      const seconds = 2 + world.random.below(4);
      await behindWall(world, "pages throttled", async () => {
        const from = performance.now();
        const as = { status: 429, headers: { "Retry-After": String(seconds) } };
        world.order({ on: PLACES, as, times: 1 });
        world.script.brief.chat.expireTokens();
        const isThrottled = () =>
          world.upstream.requests.some(
            ({ at, status, kind }) => at >= from && status === 429 && PLACES.some((place) => place === kind),
          );
        await world.until(isThrottled, "a page to be throttled");
        const throttledAt = performance.now();
        await world.pause(seconds * 1000 - ECHO_MS);
        const polls = world.upstream.requests.filter(
          ({ at, kind, videoId }) => at > throttledAt && kind === "get_live_chat" && videoId === STEADY_ROOM,
        );
        if (polls.length === 0) world.verdict.violate("reading", "no poll while pages were throttled");
      });
    },
  },

  /** The address is cut off: nothing counts against its rooms, and few calls are made. */
  outage: {
    times: 1,
    async play(world) {
      const { random, upstream, verdict } = world;
      const isRefused = random.chance(0.5);
      const seconds = 5 + random.below(25);
      const what = `an outage of ${seconds} s, ${isRefused ? "refused" : "503"}`;
      await behindWall(world, what, async () => {
        if (isRefused) world.lines.lose("refused");
        else world.order({ on: EVERYTHING, as: { status: 503 }, times: Number.POSITIVE_INFINITY });
        const from = performance.now();
        await world.pause(seconds * 1000);
        const ready = await fetch(`${world.service.url}/readyz`);
        await ready.body?.cancel();
        if (ready.status !== 200) verdict.violate("readiness", `${what}: readiness ${ready.status}`);
        // A channel is looked at in its own rhythm.
        const calls = upstream.requests.filter(
          ({ at, kind }) => at >= from && EVERYTHING.includes(kind),
        ).length;
        if (calls > MAX_CALLS_INTO_OUTAGE + seconds) verdict.violate("gate", `${what}: ${calls} calls`);
        await world.lines.mend();
      });
    },
  },

  "true end": {
    times: 2,
    async play(world) {
      await world.calm(); // a viewer that has lost its token would miss the final messages
      const { script, random } = world;
      const [shape, hasLastWords] = drawEnd(random);
      const end = () => script.endBrief(shape, hasLastWords);
      await world.endChat(script.brief, end, () => script.newBrief());
    },
  },
};

/** How a chat ends, and whether with final messages: an answer without contents has no place for them. */
export function drawEnd(random: Random): [shape: EndShape, hasLastWords: boolean] {
  const shape = random.pick(END_SHAPES);
  return [shape, shape !== "no-contents" && random.chance(0.5)];
}

/**
 * Puts a wall up and takes it down; no viewer may lose its connection, and every viewer must have everything
 * afterwards.
 */
async function behindWall(world: World, name: string, meanwhile: () => Promise<void>): Promise<void> {
  const { verdict } = world;
  await world.calm();
  verdict.note(name);
  const lost = verdict.total("connections lost");
  await meanwhile();
  if (verdict.total("connections lost") > lost)
    verdict.violate("delivery", `${name}: viewers lost their connections`);
  // A newcomer makes a service that waits try at once.
  world.callOffFaults();
  await world.arrive(world.random.pick(world.liveRooms));
  await world.settle();
  verdict.count(`faults ${name.replaceAll(/\d+/g, "N")}`);
}

function expireAll(world: World): void {
  for (const { chat } of world.liveRooms) chat.expireTokens();
}
