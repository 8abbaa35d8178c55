/** What can happen in a run: one row per event, by name. */
import type { World } from "../world.ts";
import { EDGE_EVENTS } from "./edges.ts";
import type { Event } from "./event.ts";
import { SERVICE_EVENTS } from "./service.ts";
import { SILENCE_EVENTS } from "./silences.ts";
import { STORE_EVENTS } from "./store.ts";
import { UPSTREAM_EVENTS } from "./upstream.ts";
import { VIEWER_EVENTS } from "./viewers.ts";
import { WALL_EVENTS } from "./walls.ts";

export const EVENTS: Record<string, Event> = {
  ...SERVICE_EVENTS,
  ...SILENCE_EVENTS,
  ...STORE_EVENTS,
  ...UPSTREAM_EVENTS,
  ...VIEWER_EVENTS,
  ...WALL_EVENTS,
};

/** The events whose judges do not expect all viewers at the service itself. */
const BESIDE_EDGES = [
  ...["kill -9", "terminate", "freeze", "connections dropped", "stalls", "trickles"],
  ...["viewers come and go", "storm", "upstream failure", "expiry", "throttling", "burst", "new replay"],
];

/** The events of a run with edges. */
export const EVENTS_WITH_EDGES: Record<string, Event> = {
  ...EDGE_EVENTS,
  ...Object.fromEntries(Object.entries(EVENTS).filter(([name]) => BESIDE_EDGES.includes(name))),
};

/** The events of one round, in an order of the seed's. */
export function round(world: World, names: readonly string[]): [name: string, event: Event][] {
  const possible = world.edges.length > 0 ? EVENTS_WITH_EDGES : EVENTS;
  const all = Object.entries(possible).filter(([name]) => names.length === 0 || names.includes(name));
  const bag = all.flatMap(([name, event]) => {
    const times = names.length > 0 ? Math.max(1, event.times) : event.times;
    return Array.from({ length: times }, (): [string, Event] => [name, event]);
  });
  for (let last = bag.length - 1; last > 0; last--) {
    const other = world.random.below(last + 1);
    [bag[last], bag[other]] = [bag[other], bag[last]] as [(typeof bag)[0], (typeof bag)[0]];
  }
  return bag;
}
