/**
 * The trouble of one of the service's several addresses: the upstream throttles it, or answers none of its
 * calls.
 */
import { Random } from "../../simulator/random.ts";
import type { World } from "./world.ts";

const MEAN_PAUSE_MS = 40_000;
const MAX_LOST_MS = 60_000;

export async function troubleAddresses(world: World, names: readonly string[], until: number): Promise<void> {
  const random = new Random(world.seed, "address trouble");
  const { scheduler, network, journal } = world;
  while (names.length > 1 && scheduler.monotonic() < until) {
    await scheduler.sleep(2 * MEAN_PAUSE_MS * random.next());
    if (scheduler.monotonic() >= until) return;
    const name = random.pick(names);
    if (random.chance(0.5)) {
      const as = { status: 429, headers: { "retry-after": "20" } };
      await world.order("address throttled", { on: "get_live_chat", from: name, times: 1, as });
      continue;
    }
    journal.note(`address lost ${name}`);
    journal.count("address lost");
    network.lost.add(name);
    await scheduler.sleep(random.next() * MAX_LOST_MS);
    network.lost.delete(name);
  }
}
