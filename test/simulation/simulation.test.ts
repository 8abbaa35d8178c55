/**
 * The service in virtual time, for a few minutes per seed; `npm run simulate` plays the same for hours. Here,
 * the seeds must meet most kinds of trouble, except those of a single answer. `.ci/run` plays more seeds, and
 * demands every kind.
 */
import assert from "node:assert/strict";
import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { describe, it } from "node:test";
import { CLUSTER_FAULT_KINDS } from "./cluster-events.ts";
import { EDGE_FAULT_KINDS } from "./edge-events.ts";
import { EVENTS, FAULT_KINDS } from "./events.ts";
import { drawMix } from "./mix.ts";
import { type Outcome, type RunOptions, run } from "./run.ts";

const ROOMS = 12;
const ONE = { instances: 1, edges: 0, minutes: 4, rooms: ROOMS };
const THREE = { ...ONE, instances: 3, minutes: 3 };
const EDGES = { ...ONE, edges: 4, tiers: 3, minutes: 3 };

describe("in virtual time, no promise is broken, whatever happens", () => {
  const rows: [what: string, options: Omit<RunOptions, "seed">, seeds: number[], kinds: readonly string[]][] =
    [
      ["to one instance", ONE, [11, 29], FAULT_KINDS.filter((kind) => !isOfOneAnswer(kind))],
      ["to three instances", THREE, [10, 12], CLUSTER_FAULT_KINDS],
      ["to edges of edges", EDGES, [10, 15], EDGE_FAULT_KINDS],
    ];
  for (const [what, options, seeds, kinds] of rows) {
    it(what, async () => {
      const fired = new Set<string>();
      for (const seed of seeds) {
        const { violation, counts, last } = await played({ ...options, seed });
        assert.equal(violation, undefined, `seed ${seed}:\n${last.join("\n")}`);
        for (const [kind, count] of counts) if (count > 0) fired.add(kind);
      }
      const met = kinds.filter((kind) => fired.has(kind));
      assert.ok(met.length >= (2 / 3) * kinds.length, `of ${kinds.join(", ")} they met ${met.join(", ")}`);
    });
  }
});

const outcomes = new Map<string, Promise<Outcome>>();

const NOT_OF_THE_SYSTEM = new Set([
  ...["Microtask", "TickObject", "STREAM_END_OF_STREAM"],
  "Immediate", // the turns of the event loop after which time passes
  ...["BLOBREADER", "RANDOMBYTESREQUEST", "ZLIB"], // done at once
  "SIGNREQUEST", // which the scheduler lets finish
]);
const inRun = new AsyncLocalStorage<true>();
/** The kinds of all else that the runs have waited for, as Node.js names them. */
const awaited = new Set<string>();
createHook({
  init: (_, kind) => {
    if (inRun.getStore() && !NOT_OF_THE_SYSTEM.has(kind)) awaited.add(kind);
  },
  trackPromises: false,
}).enable();

/** What a run came to, which is played once. */
function played(options: RunOptions): Promise<Outcome> {
  return outcomes.getOrInsertComputed(JSON.stringify(options), () => inRun.run(true, () => run(options)));
}

function isOfOneAnswer(kind: string): boolean {
  return /^(chat|page|wall|script|chats over) /.test(kind);
}

it("nothing in a run waits for the system, which virtual time would not wait for", async () => {
  for (const options of [
    { ...ONE, seed: 11 },
    { ...THREE, seed: 10 },
    { ...EDGES, seed: 10 },
  ])
    await played(options);
  assert.deepEqual([...awaited], []);
});

it("a seed always plays the same, line by line, and another seed plays differently", async () => {
  for (const [options, seed, other] of [
    [ONE, 11, 29],
    [THREE, 10, 12],
  ] as const) {
    const { lines } = await run({ ...options, seed });
    assert.ok(lines.length > 500);
    assert.deepEqual(lines, (await played({ ...options, seed })).lines);
    assert.notDeepEqual(lines, (await played({ ...options, seed: other })).lines);
  }
});

it("seeds differ in what happens: no kind of event is in all of them, and each dominates some", () => {
  const shareOf = (events: typeof EVENTS, name: string) =>
    (events[name]?.share ?? 0) / Object.values(events).reduce((sum, { share }) => sum + share, 0);
  const mixes = Array.from({ length: 100 }, (_, seed) => drawMix(seed, EVENTS));
  for (const name of Object.keys(EVENTS)) {
    const shares = mixes.map((mix) => shareOf(mix, name));
    assert.ok(shares.includes(0), `${name} is never absent`);
    assert.ok(Math.max(...shares) > Math.min(3 * shareOf(EVENTS, name), 0.6), `${name} is never much`);
  }
  assert.deepEqual(drawMix(7, EVENTS), mixes[7]);
});
