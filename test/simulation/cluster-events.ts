/** Additional events for several instances that share a store. */
import { type Event, kindsOf, shared } from "./events.ts";
import type { World } from "./world.ts";

const MAX_LEASES = 2.5;
const SLOW_STORE = { leastMs: 20, jitterMs: 400 };

export const CLUSTER_EVENTS: Record<string, Event> = {
  "lines cut": shared(2, async (world) => {
    const { line, name } = world.pickInstance();
    line?.cut(world.random.next() * MAX_LEASES * leaseMs(world));
    world.journal.note(`line cut ${name}`);
  }),
  "lines silent": shared(2, async (world) => {
    const { line, name } = world.pickInstance();
    line?.silence(world.random.next() * MAX_LEASES * leaseMs(world));
    world.journal.note(`line silent ${name}`);
  }),
  "store away": shared(1, async (world) => {
    const forMs = world.random.next() * MAX_LEASES * leaseMs(world);
    for (const line of world.cluster?.lines ?? []) line.cut(forMs);
    world.journal.note("store away");
    world.journal.count("store away");
  }),
  "slow store": shared(1, async (world) => {
    const { line } = world.pickInstance();
    if (!line) return;
    const { latency } = line;
    line.latency = SLOW_STORE;
    world.journal.count("slow store");
    await world.scheduler.sleep(world.random.next() * 20_000);
    line.latency = latency;
  }),
  "statements unanswered": shared(5, async (world) => {
    world.pickInstance().line?.loseAnswer(1 + world.random.below(20));
  }),
  "notifications lost": shared(2, async (world) => {
    const { line } = world.pickInstance();
    if (line) line.deafUntil = world.scheduler.monotonic() + world.random.next() * 30_000;
  }),
  "instances cut off": shared(2, async (world) => {
    const { network, random, scheduler, journal } = world;
    const { name, addresses } = world.pickInstance();
    const cut = random.pick([network.lost, network.refused]);
    journal.note(`instance ${name} cut off from the upstream`);
    journal.count("instances cut off");
    for (const address of addresses) cut.add(address);
    await scheduler.sleep(random.next() * 60_000);
    for (const address of addresses) cut.delete(address);
  }),
  "instances killed": shared(2, async (world) => {
    const instance = world.pickInstance();
    if (!instance.life) return;
    world.journal.count("instances killed");
    await instance.kill(world.random.next() ** 2 * 20_000);
  }),
  "instances stopped": shared(1.5, async (world) => {
    const instance = world.pickInstance();
    if (!instance.life) return;
    world.journal.count("instances stopped");
    await instance.restart(world.random.next() ** 2 * 20_000);
  }),
};

/** Every kind of these faults, as runs count it; most where it takes effect. */
export const CLUSTER_FAULT_KINDS: readonly string[] = [...kindsOf(CLUSTER_EVENTS), "rooms left to others"];

function leaseMs({ cluster }: World): number {
  return cluster?.settings.leaseMs ?? 0;
}
