/** Additional events for the edges of a run. */
import { type Event, kindsOf, shared } from "./events.ts";

const MAX_AWAY_MS = 60_000;
const SLOW_LINE = { leastMs: 100, jitterMs: 2000 };

export const EDGE_EVENTS: Record<string, Event> = {
  "edges killed": shared(4, async (world) => {
    const edge = world.random.pick(world.edges);
    if (!edge.life) return;
    world.journal.count("edges killed");
    await edge.kill(world.random.next() ** 2 * 20_000);
  }),
  "edges stopped": shared(2, async (world) => {
    const edge = world.random.pick(world.edges);
    if (!edge.life) return;
    world.journal.count("edges stopped");
    await edge.restart(world.random.next() ** 2 * 20_000);
  }),
  "edges cut off": shared(4, async (world) => {
    const { line, name } = world.random.pick(world.edges);
    line.cut(world.random.next() ** 2 * MAX_AWAY_MS);
    world.journal.note(`${name} cut off`);
    world.journal.count("edges cut off");
  }),
  "edges' lines silent": shared(4, async (world) => {
    const { line, name } = world.random.pick(world.edges);
    line.silence(world.random.next() * MAX_AWAY_MS);
    world.journal.note(`${name} hears nothing`);
    world.journal.count("edges' lines silent");
  }),
  "edges' lines swallow": shared(3, async (world) => {
    const { line, name } = world.random.pick(world.edges);
    line.swallow(world.random.next() * MAX_AWAY_MS);
    world.journal.note(`${name} is swallowed`);
    world.journal.count("edges' lines swallow");
  }),
  "edges' lines slow": shared(2, async (world) => {
    const { line } = world.random.pick(world.edges);
    const { latency } = line;
    line.latency = SLOW_LINE;
    world.journal.count("edges' lines slow");
    await world.scheduler.sleep(world.random.next() * 30_000);
    line.latency = latency;
  }),
  "origin away": shared(1, async (world) => {
    const forMs = world.random.next() * MAX_AWAY_MS;
    for (const { line, isFirst } of world.edges) if (isFirst) line.cut(forMs);
    world.journal.note("origin away");
    world.journal.count("origin away");
  }),
};

/** Every kind of these faults, as runs count it. */
export const EDGE_FAULT_KINDS: readonly string[] = kindsOf(EDGE_EVENTS);
