/**
 * The mix of events in a run, by its seed: each kind of event has its own weight, so that runs differ not
 * only in their order. Some kinds are absent, and some make up most of the events.
 */
import { Random } from "../../simulator/random.ts";
import type { Event } from "./events.ts";

const ABSENT = 0.25;
/** The maximum weight; the minimum is its inverse. Half of the weights are above 1. */
const MOST = 8;

/** The events with their shares in the seed's run. */
export function drawMix(seed: number, events: Readonly<Record<string, Event>>): Record<string, Event> {
  const random = new Random(seed, "mix");
  const weight = () => (random.chance(ABSENT) ? 0 : MOST ** (2 * random.next() - 1));
  const mixed = Object.entries(events).map(([name, event]) => [
    name,
    { ...event, share: event.share * weight() },
  ]);
  return Object.fromEntries(mixed);
}
