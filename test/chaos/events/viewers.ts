/**
 * Viewers that lose their connections, read slowly or not at all, come and go, or desert a room for less
 * or more than the grace time.
 */
import type { Viewer } from "../audience.ts";
import type { Chats } from "../chat-script.ts";
import { GRACE_MS, type World } from "../world.ts";
import { ECHO_MS, type Event, noBootstrap } from "./event.ts";

const AWAY = Number.POSITIVE_INFINITY;

export const VIEWER_EVENTS: Record<string, Event> = {
  "connections dropped": {
    times: 5,
    async play(world) {
      for (const { client } of someOf(world, 0.3)) client.drop(world.random.below(2500));
    },
  },

  stalls: {
    times: 3,
    async play(world) {
      for (const { client } of someOf(world, 0.15)) client.stall(500 + world.random.below(6000));
    },
  },

  trickles: {
    times: 2,
    async play(world) {
      for (const { client } of someOf(world, 0.1)) client.trickle(500 + world.random.below(3000));
    },
  },

  "viewers come and go": {
    times: 4,
    async play(world) {
      await exchange(world, 0.05);
    },
  },

  /** All viewers reconnect at once with a cursor; the upstream must not notice. */
  storm: {
    times: 1,
    async play(world) {
      await world.calm();
      const from = performance.now();
      for (const { client } of world.viewers) client.drop(world.random.below(300));
      world.verdict.count("storms");
      await world.pause(2 * ECHO_MS);
      noBootstrap(world, from, "a storm");
    },
  },

  /** A room has no viewers for less than the grace time: it continues, also after that time. */
  "short desertion": {
    times: 1,
    async play(world) {
      await world.calm();
      const room = world.random.pick(world.liveRooms);
      const viewers = world.audience.of(room);
      const from = performance.now();
      for (const { client } of viewers) client.drop(AWAY);
      await world.pause(GRACE_MS / 2);
      for (const { client } of viewers) client.comeBack();
      await world.pause(GRACE_MS * 0.8);
      noBootstrap(world, from, `the short desertion of ${room.videoId}`, room.videoId);
      world.verdict.count("desertions");
    },
  },

  /** A room has no viewers for longer: it is released, and continues with its cursors when somebody comes. */
  "long desertion": {
    times: 1,
    async play(world) {
      await world.calm();
      const room = world.random.pick(world.liveRooms);
      const viewers = world.audience.of(room);
      for (const { client } of viewers) client.drop(AWAY);
      await world.pause(GRACE_MS + 2 * ECHO_MS);
      const from = performance.now();
      await world.pause(ECHO_MS);
      const polls = world.upstream.requests.filter(
        ({ at, videoId }) => at > from && videoId === room.videoId,
      );
      if (polls.length > 0)
        world.verdict.violate("reading", `${room.videoId} is polled although nobody watches`);
      world.gapJudge.lost(room.videoId);
      for (const { client } of viewers) client.comeBack();
      world.verdict.count("desertions");
    },
  },
};

/** Some leave, and as many others come. */
export async function exchange(world: World<Chats>, share: number): Promise<void> {
  const leaving = someOf(world, share).filter(({ isWitness }) => !isWitness);
  await Promise.all(leaving.map((viewer) => world.audience.leave(viewer)));
  for (const viewer of leaving) viewer.another();
}

/** Each viewer with this chance. */
export function someOf(world: World<Chats>, share: number): Viewer[] {
  return [...world.viewers].filter(() => world.random.chance(share));
}
