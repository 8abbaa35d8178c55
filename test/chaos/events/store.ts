/** Events of the store: its disk, its file, its thread, and the ownership of its rooms. */
import { THREAD_DEATHS } from "../fault-injector.ts";
import type { World } from "../world.ts";
import { type Event, fire } from "./event.ts";

const READINESS_EVERY_MS = 250;
/** The number of long messages between two checks for a full disk. */
const FILLING_MESSAGES = 60;

export const STORE_EVENTS: Record<string, Event> = {
  "disk full": {
    times: 1,
    async play(world) {
      const { disk } = world;
      const fill = () => {
        disk.fill(); // what the service gives back to the disk is taken again
        world.script.sayLong(FILLING_MESSAGES); // and what its log still has room for is used up
      };
      if (disk.canFill) await storeFault(world, "disk full", fill, () => disk.free());
      else world.verdict.count("impossible here: disk full");
    },
  },

  "store locked": {
    times: 1,
    async play(world) {
      world.disk.lock();
      await storeFault(
        world,
        "store locked",
        () => {},
        () => world.disk.unlock(),
      );
    },
  },

  "store read-only": {
    times: 1,
    async play(world) {
      const { disk, injector, verdict } = world;
      if (!disk.canSeal) return verdict.count("impossible here: store read-only");
      disk.seal(injector);
      await storeFault(
        world,
        "store read-only",
        () => {},
        () => disk.unseal(),
      );
    },
  },

  "thread death": {
    times: 2,
    async play(world) {
      await fire(world, world.random.pick(THREAD_DEATHS));
    },
  },

  "slow commits": {
    times: 1,
    async play(world) {
      await fire(world, "slow-commit", 100 + world.random.below(500), 3);
    },
  },

  /**
   * A stranger takes a room over: its owner may store nothing more, and takes the room back as a new owner.
   */
  "foreign claim": {
    times: 1,
    async play(world) {
      const { disk, random, verdict } = world;
      const room = random.pick(world.liveRooms);
      const viewers = world.audience.of(room);
      if (viewers.length === 0) return;
      for (const { client } of viewers) client.drop(random.below(200)); // some are just entering
      await world.pause(random.below(200));
      const { epoch, head } = await disk.claim(room.videoId, world.pause(random.below(300)));
      world.gapJudge.lost(room.videoId);
      verdict.count("faults foreign claim");
      await world.until(() => {
        const row = disk.room(room.videoId);
        if (row?.epoch === epoch && row.head > head) {
          verdict.violate("poller", `${room.videoId}: stored by an owner that had been overtaken`);
        }
        return (row?.epoch ?? 0) > epoch;
      }, `a new owner of ${room.videoId}`);
    },
  },
};

/**
 * The service must report that its store fails, keep its viewers, and recover with the store. `begin` is
 * repeated until the fault has an effect.
 */
async function storeFault(world: World, name: string, begin: () => void, end: () => void): Promise<void> {
  const { verdict } = world;
  const lost = verdict.total("connections lost");
  await untilReadiness(world, 503, name, begin);
  await world.pause(world.random.below(3000));
  if (verdict.total("connections lost") > lost)
    verdict.violate("delivery", `${name}: viewers lost their connections`);
  end();
  const endedAt = performance.now();
  await untilReadiness(world, 200, `the end of ${name}`, () => {});
  verdict.time(`ready after ${name}`, performance.now() - endedAt);
  verdict.count(`faults ${name}`);
}

async function untilReadiness(
  world: World,
  status: number,
  what: string,
  meanwhile: () => void,
): Promise<void> {
  let last = 0;
  let nextAt = 0;
  const ask = () => {
    fetch(`${world.service.url}/readyz`).then(
      (answer) => {
        last = answer.status;
        return answer.body?.cancel();
      },
      () => {}, // retried soon
    );
  };
  const isStatus = () => {
    if (performance.now() >= nextAt && last !== status) {
      nextAt = performance.now() + READINESS_EVERY_MS;
      meanwhile();
      ask();
    }
    return last === status;
  };
  await world.until(isStatus, `readiness ${status} for ${what}`, { promise: "readiness" });
}
