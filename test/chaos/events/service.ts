/** Events of the service's process. */
import { STEADY_ROOM } from "../chat-script.ts";
import { KILL_POINTS, type KillPoint } from "../fault-injector.ts";
import type { World } from "../world.ts";
import { ECHO_MS, type Event, fire, noBootstrap, pagesSince } from "./event.ts";

/** The longest that a service may take to stop. */
const STOP_LIMIT_MS = 5000;
/** Maximum delay of polls after which the upstream may already have dropped messages. */
const OVERDUE_MS = 4500;

function killAt(point: KillPoint) {
  return async (world: World) => {
    await fire(world, point);
    world.verdict.count(`kills ${point}`);
    await world.restart(point);
  };
}

export const SERVICE_EVENTS: Record<string, Event> = {
  ...Object.fromEntries(KILL_POINTS.map((point) => [`kill ${point}`, { times: 1, play: killAt(point) }])),

  "kill -9": {
    times: 3,
    async play(world) {
      world.service.signal("SIGKILL");
      world.verdict.count("kills SIGKILL");
      await world.restart("kill -9");
    },
  },

  /** No other fault: a room continues from its checkpoint and needs no page. */
  "kill -9 in peace": {
    times: 1,
    async play(world) {
      await world.calm();
      const from = performance.now();
      world.service.signal("SIGKILL");
      world.verdict.count("kills SIGKILL");
      await world.restart("kill -9 in peace");
      const downMs = performance.now() - from;
      await world.pause(ECHO_MS);
      // After longer, the page replaces messages that the checkpoint's token may no longer give.
      if (downMs > OVERDUE_MS) return;
      noBootstrap(world, from, "kill -9", STEADY_ROOM);
      // One other room may have lost its token with a poll in flight, but not all.
      const reopened = new Set(pagesSince(world, from).map(({ videoId }) => videoId));
      if (reopened.size >= world.liveRooms.length - 1) {
        world.verdict.violate("pages", "after kill -9 no room went on from its checkpoint's token");
      }
    },
  },

  terminate: {
    times: 1,
    async play(world) {
      const from = performance.now();
      world.service.signal("SIGTERM");
      const { code, signal } = await world.service.exited;
      const tookMs = performance.now() - from;
      world.verdict.time("graceful stop", tookMs);
      if (code !== 0) world.verdict.violate("stop", `a graceful stop ended with ${code ?? signal}`);
      if (tookMs > STOP_LIMIT_MS)
        world.verdict.violate("stop", `a graceful stop took ${Math.round(tookMs)} ms`);
      await world.restart("a graceful stop");
    },
  },

  freeze: {
    times: 1,
    async play(world) {
      world.judge();
      world.service.signal("SIGSTOP");
      await world.pause(500 + world.random.below(3000));
      world.service.signal("SIGCONT");
      world.thawed();
      world.verdict.count("freezes");
    },
  },

  "stalled loop": {
    times: 1,
    async play(world) {
      world.judge();
      await fire(world, "stall-loop", 200 + world.random.below(1500));
      world.thawed();
    },
  },
};
