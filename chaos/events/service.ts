/** What happens to the service's process. */
import { KILL_POINTS, type KillPoint } from "../sabotage.ts";
import type { World } from "../world.ts";
import { type Event, fire } from "./event.ts";

/** The longest that a service may take to stop. */
const STOP_LIMIT_MS = 5000;

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
    times: 2,
    async play(world) {
      world.service.signal("SIGKILL");
      world.verdict.count("kills SIGKILL");
      await world.restart("kill -9");
    },
  },

  terminate: {
    times: 1,
    async play(world) {
      const from = performance.now();
      world.service.signal("SIGTERM");
      const { code, signal } = await world.service.exited;
      const tookMs = performance.now() - from;
      world.verdict.count("graceful stops");
      if (code !== 0) world.verdict.violate(`a graceful stop ended with ${code ?? signal}`);
      if (tookMs > STOP_LIMIT_MS) world.verdict.violate(`a graceful stop took ${Math.round(tookMs)} ms`);
      await world.restart("a graceful stop");
    },
  },

  freeze: {
    times: 1,
    async play(world) {
      world.judgeUpstream();
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
      world.judgeUpstream();
      await fire(world, "stall-loop", 200 + world.random.below(1500));
      world.thawed();
    },
  },
};
