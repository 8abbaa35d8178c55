/**
 * What happens in a run, by its seed: each kind of event has a weight of its own, so that runs differ in kind and not
 * only in order. Some kinds are absent, and some are most of what happens.
 */
import { Random } from "../src/simulator/random.ts";
import type { Event } from "./events.ts";

const ABSENT = 0.25;
/** Weights lie between its inverse and itself, as many above 1 as below. */
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
