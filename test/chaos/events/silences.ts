/** Silences longer than the upstream's window for a late reader: in the lossy room messages are lost. */
import { LOSSY_ROOM } from "../chat-script.ts";
import type { World } from "../world.ts";
import { type Event, expire } from "./event.ts";

/** More than the upstream's ten seconds. */
const MIN_SILENCE_MS = 10_500;

export const SILENCE_EVENTS: Record<string, Event> = {
  "long outage of the service": {
    times: 1,
    async play(world) {
      world.service.signal("SIGKILL");
      world.verdict.count("kills SIGKILL");
      await world.restart("a long outage", silenceMs(world));
      if (world.random.chance(0.5)) expire(world);
    },
  },

  "long freeze": {
    times: 1,
    async play(world) {
      world.judge();
      world.service.signal("SIGSTOP");
      await world.pause(silenceMs(world));
      world.service.signal("SIGCONT");
      world.thawed();
      world.verdict.count("freezes");
    },
  },

  "long throttling": {
    times: 1,
    async play(world) {
      const seconds = Math.ceil(silenceMs(world) / 1000);
      const as = { status: 429, headers: { "Retry-After": String(seconds) } };
      world.order({ on: "get_live_chat", videoId: LOSSY_ROOM, as, times: 1 });
      await world.pause(seconds * 1000);
    },
  },
};

function silenceMs(world: World): number {
  return MIN_SILENCE_MS + world.random.below(4000);
}
