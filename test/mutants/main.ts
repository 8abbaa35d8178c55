/**
 * Tests the judges: each row of a table breaks one promise of the service in a copy of the project, and the
 * check that the row names must notice it. When a whole table is played, a copy without a mutant comes first,
 * in which nothing must be noticed. `caught.json` records how each row was caught; the next play of a row
 * begins with that seed.
 *
 *     npm run mutants [-- --table NAME] [--only NAME,NAME] [--draw N] [--seed N] [--record]
 *
 * `--draw N` plays N rows, of the files that have changed first, chosen by the commit's hash; at least one of
 * them runs real processes. Every run checks that each row applies, and that it was caught in its current
 * version.
 */
import { commandLine } from "../chaos/command-line.ts";
import { changedFiles, commitHash } from "../harness/commit.ts";
import { noCaptures } from "../support/captures.ts";
import { draw } from "./draw.ts";
import { audit, type Memories, readMemories, withoutStrays, writeMemories } from "./memory.ts";
import { judge, playRow, playWhole } from "./play.ts";
import { allRows, mutated, type Row, TABLES } from "./tables.ts";

const { values } = commandLine({
  options: {
    table: { type: "string" },
    only: { type: "string", default: "" },
    draw: { type: "string" },
    seed: { type: "string" },
    record: { type: "boolean", default: false },
  },
});

const names = values.only.split(",").filter(Boolean);
const isWhole = names.length === 0 && values.draw === undefined;
const all = allRows();
let memories = readMemories();
if (values.record) remember(withoutStrays(memories, all));
const failures: string[] = [];
const rows = chosen();

process.stdout.write("| mutant | what it breaks | caught by | seed | s |\n|---|---|---|---|---|\n");
for (const [name, table] of Object.entries(TABLES)) {
  const own = rows.filter((row) => row.table === table && mutated(row) !== undefined);
  if (isWhole && own.length > 0) {
    const seed = Number(values.seed ?? 1);
    const { violations, seconds } = playWhole(table, seed);
    print(`${name}/none`, "nothing", violations[0] ?? "nothing", seed, seconds);
    failures.push(...violations.map((violation) => `${name}/none: ${violation}`));
  }
  for (const row of own) play(row);
}
failures.push(...audit(all, memories));
for (const failure of failures) process.stdout.write(`\nFAILED ${failure}`);
process.stdout.write(failures.length === 0 ? "\nall as they should be\n" : "\n");
process.exit(failures.length > 0 ? 1 : 0);

function play(row: Row): void {
  const memory = memories[row.key];
  const seed = Number(values.seed ?? memory?.seed ?? 1);
  const seen = playRow(row, seed, seed === memory?.seed);
  const played = judge(row, seen, seed, memory);
  if ("failure" in played) {
    failures.push(`${row.key}: ${played.failure}`);
    print(row.key, row.breaks, played.failure, seed, seen.seconds);
    return;
  }
  print(row.key, row.breaks, played.caught.by, played.seed ?? seed, seen.seconds);
  remember({ ...memories, [row.key]: played });
}

function remember(changed: Memories): void {
  memories = changed;
  if (values.record) writeMemories(changed);
}

function print(...cells: readonly (string | number)[]): void {
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
}

function chosen(): readonly Row[] {
  const { table } = values;
  if (table !== undefined && !Object.hasOwn(TABLES, table))
    throw new Error(`--table: "${table}" is none of ${Object.keys(TABLES).join(", ")}`);
  const open = all.filter((row) => table === undefined || row.table === TABLES[table]);
  const unknown = names.find((name) => !open.some((row) => row.name === name));
  if (unknown !== undefined) throw new Error(`--only: there is no mutant "${unknown}"`);
  if (names.length > 0) return open.filter(({ name }) => names.includes(name));
  // Without captures, their tests are skipped.
  const playable = open.filter(({ test = "" }) => !(noCaptures && test.startsWith("test/captured/")));
  if (values.draw === undefined) return playable;
  return draw(playable, memories, Number(values.draw), commitHash(), changedFiles());
}
