/**
 * Two instances are asked for the same new video: one must wait for its turn to open a room, while the other
 * one opens it and gives it back.
 */
import { Random } from "../../simulator/random.ts";
import type { World } from "./world.ts";

const MEAN_PAUSE_MS = 40_000;
/** The number of videos that the slow one is asked for. */
const FLOOD = 60;
const OPENED_MS = 2000;
const STAY_MS = 60_000;
const MAX_DOWN_MS = 10_000;

export async function rivalOpenings(world: World, until: number): Promise<void> {
  const random = new Random(world.seed, "rivals");
  const { scheduler, journal, instances, upstream } = world;
  for (let number = 0; instances.length === 2 && scheduler.monotonic() < until; number++) {
    await scheduler.sleep(2 * MEAN_PAUSE_MS * random.next());
    const [quick, slow] = random.chance(0.5) ? instances : instances.toReversed();
    if (scheduler.monotonic() >= until || !quick?.life || !slow?.life) continue;
    const videoId = `rivals---${String(number).padStart(2, "0")}`;
    upstream.chat(videoId, { kinds: ["text"] }).say(5);
    journal.note(`rivals for ${videoId}`);
    journal.count("rivals for an opening");
    // The newest request of an address goes first.
    for (let place = 0; place < FLOOD; place++) {
      const madeUp = `none-${number}-${place}`.padEnd(11, "-");
      void world.visit(place === FLOOD / 2 ? videoId : madeUp, "flood", STAY_MS, slow);
    }
    void world.visit(videoId, "reader", STAY_MS, quick);
    await scheduler.sleep(OPENED_MS);
    if (quick.life) await quick.restart(random.next() * MAX_DOWN_MS);
  }
}
