/**
 * Minutes of kills, freezes, cut lines, wrong clocks, dying databases and failovers against three instances
 * on one PostgreSQL.
 *
 *     npm run chaos -- cluster --seed 7 --minutes 2 [--viewers 40] [--project DIR]
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine, numberOf } from "../command-line.ts";
import { run } from "./run.ts";

/** The number of violations to print for each promise; the others are counted. */
const SHOWN = 8;

const { values } = commandLine({
  options: {
    seed: { type: "string", default: String(Math.floor(Date.now() / 1000)) },
    minutes: { type: "string", default: "1" },
    viewers: { type: "string", default: "40" },
    project: { type: "string", default: fileURLToPath(new URL("../../..", import.meta.url)) },
  },
});
const seed = numberOf("seed", values.seed, 0);
const minutes = numberOf("minutes", values.minutes, 0.1);
const viewers = numberOf("viewers", values.viewers, 1);
const projectDir = resolve(values.project);
const { violations, counts, times } = await run({ seed, minutes, viewers, projectDir });
const longest = times.entries().map(([what, all]): [string, number] => [what, Math.round(Math.max(...all))]);
for (const [name, count] of [...counts, ...longest].sort())
  process.stdout.write(`${String(count).padStart(9)}  ${name}\n`);
process.stdout.write(`${String(violations.length).padStart(9)}  violations\n`);
const promiseOf = (violation: string) => violation.slice(0, violation.indexOf(":"));
for (const [promise, all] of Map.groupBy(violations, promiseOf)) {
  for (const violation of all.slice(0, SHOWN)) process.stdout.write(`VIOLATION ${violation}\n`);
  if (all.length > SHOWN) process.stdout.write(`          ${promise}: ${all.length - SHOWN} more\n`);
}
if (violations.length > 0) {
  process.stdout.write(
    `To play it again: npm run chaos -- cluster --seed ${seed} --minutes ${minutes} --viewers ${viewers}\n`,
  );
}
process.exit(violations.length > 0 ? 1 : 0);
