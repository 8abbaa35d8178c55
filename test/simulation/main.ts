/**
 * Plays minutes of the service in virtual time, seed after seed, on all cores. Without a first seed, all
 * seeds that have failed before and some of rare faults come first, then as many as asked for, from 1 on;
 * `--draw N` adds N from one on that the commit's hash draws. A seed draws the number of instances (one to
 * three, unless given), the edges that follow them (none to six in up to three tiers, unless given), and the
 * kinds of events with their frequencies; with `--even` each kind has its usual share.
 *
 *     npm run simulate -- --seeds 1000 [--from SEED] [--draw N] [--minutes 10] [--rooms 20] [--instances N]
 *         [--edges N [--tiers N]] [--even] [--until-failure]
 *
 * Many edges, once: `npm run simulate -- --seeds 1 --from 1 --minutes 4 --edges 200 --tiers 3`.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { MARKS } from "../../src/telemetry/marks.ts";
import { commandLine } from "../chaos/command-line.ts";
import { commitHash } from "../harness/commit.ts";
import type { Report } from "./child.ts";
import { CLUSTER_FAULT_KINDS } from "./cluster-events.ts";
import { EDGE_FAULT_KINDS } from "./edge-events.ts";
import { drawEdges } from "./edges.ts";
import { FAULT_KINDS } from "./events.ts";
import type { RunOptions } from "./run.ts";
import { drawInstances } from "./settings.ts";

const { values } = commandLine({
  options: {
    seeds: { type: "string", default: "20" },
    from: { type: "string" },
    draw: { type: "string", default: "0" },
    minutes: { type: "string", default: "10" },
    rooms: { type: "string", default: "20" },
    instances: { type: "string" },
    edges: { type: "string" },
    tiers: { type: "string" },
    even: { type: "boolean", default: false },
    "until-failure": { type: "boolean", default: false },
  },
});

/**
 * From this number of seeds on, every kind of fault must have occurred; without the seeds that the commit
 * draws, if the others are as many.
 */
const SEEDS_FOR_ALL_KINDS = 20;
/** Seeds of faults that few others have: many ends of chats, and all faults of edges and of shared stores. */
const RARE_FAULTS: readonly Turn[] = [
  { seed: 262, instances: 1, edges: 0 },
  { seed: 2008, instances: 3, edges: 3, tiers: 2 },
  { seed: 25760, instances: 2, edges: 6, tiers: 1 },
];
/** From this number of seeds on, every mark must have been reached, if seeds draw the number of instances. */
const SEEDS_FOR_ALL_MARKS = 1000;
/** A run leaves about fifty megabytes behind, which slow later runs down until their process ends. */
const SEEDS_PER_PROCESS = 10;
/**
 * A run creates many short-lived objects: with rare collections on one thread it takes a twelfth less CPU
 * time.
 */
const HEAP = ["--min-semi-space-size=64", "--max-semi-space-size=64", "--single-threaded-gc"];
/** The number of failures to print with their complete history. */
const MAX_SHOWN = 5;
/** The interval of a long run's progress lines. */
const PROGRESS_MS = 60_000;

/** The flag's number; the minimum if the flag is absent. */
function numberOf(name: Exclude<keyof typeof values, "even" | "until-failure">, minimum: number): number {
  const value = Number(values[name] ?? minimum);
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  process.stderr.write(`--${name}: must be a whole number, ${minimum} or more, not "${values[name]}"\n`);
  process.exit(2);
}

const [seeds, from, drawn, minutes, rooms] = [
  numberOf("seeds", 1),
  numberOf("from", 1),
  numberOf("draw", 0),
  numberOf("minutes", 2),
  numberOf("rooms", 12),
];
const instances = values.instances === undefined ? undefined : numberOf("instances", 1);
const edges = values.edges === undefined ? undefined : numberOf("edges", 0);
const tiers = numberOf("tiers", 1);

/** A seed to play; it draws the number of instances and the edges, unless they are given. */
type Turn = Pick<RunOptions, "seed" | "instances" | "edges"> & Partial<RunOptions>;
const keepable = [...readFailed().map((row): Turn => ({ edges: 0, ...row })), ...RARE_FAULTS];
const isAsked = (turn: Turn) =>
  (instances === undefined || turn.instances === instances) && (edges === undefined || turn.edges === edges);
const kept = values.from === undefined ? keepable.filter(isAsked) : [];
const inTurn = (first: number, count: number) =>
  Array.from({ length: count }, (_, index): Turn => {
    return { seed: first + index, instances, edges, tiers, isEven: values.even };
  });
const known: readonly Turn[] = [...kept, ...inTurn(from, seeds)];
const queue: Turn[] = [...known, ...(drawn > 0 ? inTurn(drawnSeed(), drawn) : [])];

const inCluster = ({ seed, instances = drawInstances(seed) }: Turn) => instances > 1;
const hasEdges = ({ seed, edges = drawEdges(seed).edges }: Turn) => edges > 0;
const kinds = [
  ...(queue.every(inCluster) ? [] : FAULT_KINDS),
  ...(queue.some(inCluster) ? CLUSTER_FAULT_KINDS : []),
  ...(queue.some(hasEdges) ? EDGE_FAULT_KINDS : []),
];
const areKnownEnough = known.length >= SEEDS_FOR_ALL_KINDS;
/** What occurred in a seed that counts for `SEEDS_FOR_ALL_KINDS`. */
const met = new Set<string>();
const counts = new Map([...kinds, ...MARKS].map((kind) => [kind, 0]));
let failures = 0;
const beganAt = performance.now();
const total = queue.length;
let played = 0;
const progress = setInterval(() => {
  process.stderr.write(`${played} of ${total} seeds played, ${failures} failed\n`);
}, PROGRESS_MS);
await Promise.all(Array.from({ length: Math.min(total, availableParallelism()) }, work));
clearInterval(progress);
const seconds = (performance.now() - beganAt) / 1000;

for (const [name, count] of counts) process.stdout.write(`${String(count).padStart(10)}  ${name}\n`);
process.stdout.write(
  `${total} seeds (${kept.length} of them kept) of ${minutes} minutes in ${seconds.toFixed(1)} s: ${(total / seconds).toFixed(2)} a second\n`,
);
const isForMarks = total >= SEEDS_FOR_ALL_MARKS && instances === undefined;
const unmarked = MARKS.filter((mark) => counts.get(mark) === 0);
if (unmarked.length > 0)
  process.stdout.write(
    `\n${isForMarks ? "FAILED " : ""}these marks were never reached: ${unmarked.join(", ")}\n`,
  );
const unseen = total < SEEDS_FOR_ALL_KINDS ? [] : kinds.filter((kind) => !met.has(kind));
if (unseen.length > 0) process.stdout.write(`\nFAILED these faults never fired: ${unseen.join(", ")}\n`);
process.stdout.write(`\n${failures} of ${total} seeds failed\n`);
process.exit(failures + unseen.length > 0 || (isForMarks && unmarked.length > 0) ? 1 : 0);

/** The first of the seeds that this commit draws. */
function drawnSeed(): number {
  return Number.parseInt(commitHash().slice(0, 7), 16);
}

function readFailed(): Turn[] {
  return JSON.parse(readFileSync(new URL("failed-seeds.json", import.meta.url), "utf8"));
}

/**
 * Plays seeds of the queue in a process of its own, which it replaces after a few seeds, until the queue is
 * empty.
 */
async function work(): Promise<void> {
  while (queue.length > 0) {
    const child = fork(new URL("child.ts", import.meta.url), { execArgv: HEAP });
    let left = SEEDS_PER_PROCESS;
    let turn: Turn | undefined;
    const playNext = () => {
      turn = left > 0 ? queue.shift() : undefined;
      left -= 1;
      if (turn === undefined) child.disconnect();
      else child.send({ minutes, rooms, ...turn } satisfies RunOptions);
    };
    child.on("message", (report: Report) => {
      played += 1;
      const isCounted = turn && (!areKnownEnough || known.includes(turn));
      for (const [name, count] of report.counts) {
        counts.set(name, (counts.get(name) ?? 0) + count);
        if (isCounted && count > 0) met.add(name);
      }
      if (report.violation) {
        failures += 1;
        if (failures <= MAX_SHOWN) show(report);
        if (values["until-failure"]) queue.length = 0;
      }
      playNext();
    });
    playNext();
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`a process that plays seeds exited with ${code}`);
  }
}

function show({ violation, last, ...played }: Report): void {
  const { seed, minutes, rooms, instances, edges, tiers, isEven } = played;
  const below = edges > 0 ? `--edges ${edges} --tiers ${tiers}` : "--edges 0";
  const { promise = "", atMs = 0, videoId = "", what = "" } = violation ?? {};
  process.stdout.write(
    `\nVIOLATION seed ${seed}, after ${(atMs / 1000).toFixed(3)} s, ${promise}: ${videoId || "all rooms"}: ${what}\n` +
      `${last.map((line) => `  ${line.slice(0, 300)}\n`).join("")}` +
      `To play it again: npm run simulate -- --seeds 1 --from ${seed} --minutes ${minutes} --rooms ${rooms} --instances ${instances} ${below}${isEven ? " --even" : ""}\n`,
  );
}
