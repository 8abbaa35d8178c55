/**
 * Minutes of kills, faults and storms against the real service, judged from outside. Without `--minutes` it
 * plays one round, with each event.
 *
 *     npm run chaos -- --seed 7 [--minutes 5] [--viewers 200] [--events "storm,kill -9"] [--project DIR]
 *         [--edges 3] [--without compression,hand-over] [--json FILE]
 *
 * With edges, viewers come to them and to the service, and the last edge follows the first.
 */

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine, numberOf } from "./command-line.ts";
import { EVENTS, EVENTS_WITH_EDGES } from "./events/index.ts";
import { type Outcome, run } from "./run.ts";
import { SHORT_CUTS, type ShortCut } from "./world.ts";

/** The number of violations to print; the first ones say why. */
const SHOWN = 20;

const { values } = commandLine({
  options: {
    seed: { type: "string", default: String(Math.floor(Date.now() / 1000)) },
    minutes: { type: "string" },
    viewers: { type: "string", default: "200" },
    events: { type: "string", default: "" },
    project: { type: "string", default: fileURLToPath(new URL("../..", import.meta.url)) },
    edges: { type: "string", default: "0" },
    without: { type: "string", default: "" },
    json: { type: "string" },
  },
});

function shortCut(name: string): ShortCut {
  const found = SHORT_CUTS.find((known) => known === name);
  if (found) return found;
  process.stderr.write(`--without: "${name}" is none of ${SHORT_CUTS.join(", ")}\n`);
  process.exit(2);
}

const edges = numberOf("edges", values.edges, 0);
const events = values.events.split(",").filter(Boolean);
const known = Object.keys(edges > 0 ? EVENTS_WITH_EDGES : EVENTS);
const unknown = events.find((name) => !known.includes(name));
if (unknown !== undefined) {
  process.stderr.write(`--events: no event "${unknown}"; there are: ${known.join(", ")}\n`);
  process.exit(2);
}
const without = values.without.split(",").filter(Boolean).map(shortCut);
const options = {
  seed: numberOf("seed", values.seed, 0),
  ...(values.minutes !== undefined && { minutes: numberOf("minutes", values.minutes, 0.1) }),
  viewers: numberOf("viewers", values.viewers, 5),
  projectDir: resolve(values.project),
  edges,
  events,
  without,
};
const outcome = await run(options);
const { violations } = outcome.verdict;
process.stdout.write(report(outcome));
if (values.json) writeFileSync(values.json, `${JSON.stringify(facts(outcome), null, 2)}\n`);
if (violations.length > 0) {
  process.stdout.write(`\nWhat was done lately, by the second:\n${outcome.verdict.log.join("\n")}\n`);
  process.stdout.write(`\nThe service's last words:\n${outcome.lastLines.slice(-30).join("\n")}\n`);
  for (const lines of outcome.edgeLines)
    process.stdout.write(`\nAn edge's last words:\n${lines.slice(-30).join("\n")}\n`);
  // Last, as the end of a long output is what a reader sees first.
  const shown = violations.slice(0, SHOWN).map((violation) => `VIOLATION ${violation}\n`);
  process.stdout.write(`\n${shown.join("")}`);
  const minutes = values.minutes === undefined ? "" : ` --minutes ${values.minutes}`;
  const only = events.length > 0 ? ` --events "${events.join(",")}"` : "";
  const below = edges > 0 ? ` --edges ${edges}` : "";
  const less = without.length > 0 ? ` --without ${without.join(",")}` : "";
  process.stdout.write(
    `To play it again: npm run chaos -- --seed ${options.seed}${minutes} --viewers ${options.viewers}${below}${only}${less}\n`,
  );
}
process.exit(violations.length > 0 ? 1 : 0);

function facts({ verdict, seconds, peakRssBytes }: Outcome) {
  return {
    seed: options.seed,
    viewers: options.viewers,
    edges,
    seconds: Math.round(seconds),
    starts: verdict.lives,
    kills: verdict.total("kills "),
    faults: verdict.total("faults "),
    violations: verdict.violations,
    peakRssMb: Math.round(peakRssBytes / 2 ** 20),
    counts: Object.fromEntries([...verdict.counts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    times: Object.fromEntries([...verdict.times].map(([what, times]) => [what, summary(times)])),
  };
}

function summary(times: readonly number[]): { medianMs: number; mostMs: number } {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (place: number) => Math.round(sorted[place] ?? 0);
  return { medianMs: at(Math.floor(sorted.length / 2)), mostMs: at(sorted.length - 1) };
}

function report(outcome: Outcome): string {
  const { counts, times, violations, ...rest } = facts(outcome);
  const rows = Object.entries({ ...rest, violations: violations.length, ...counts });
  const timed = Object.entries(times).map(([what, { medianMs, mostMs }]): [string, string] => {
    return [`${medianMs} / ${mostMs}`, `${what}: median and most, ms`];
  });
  return [...rows.map(([name, value]) => [value, name]), ...timed]
    .map(([value, name]) => `${String(value).padStart(13)}  ${name}\n`)
    .join("");
}
