/** The tables of mutants: each row breaks one promise of the service, and names the check that must see it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Mutant {
  name: string;
  /** What is wrong in the copy. */
  breaks: string;
  /** A regular expression: the violation that must be seen or, of a row with a test, the test that must fail. */
  expects: string;
  /** Where no run shows it: the file of the test. */
  test?: string;
  /** Where only some events of chaos can show it: their names. */
  events?: string;
  /** Where only several instances of the simulation can show it: how many there are. */
  instances?: number;
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
}

/** A mutant in its table. */
export interface Row extends Mutant {
  /** Its table and its name. */
  key: string;
  table: Table;
}

/** What plays the rows of a table; exit code 1 and a line `VIOLATION …` mean that something was noticed. */
export interface Table {
  /** The arguments of Node.js for a run against the copy. */
  args(copy: string, seed: number, mutant: Partial<Mutant>): readonly string[];
  limitMs: number;
}

export const PROJECT = fileURLToPath(new URL("..", import.meta.url));

const CHAOS_MINUTES = 2;
const CLUSTER_MINUTES = 0.7;

export const TABLES: Record<string, Table> = {
  simulation: {
    args: (copy, seed, { instances }) => [
      join(copy, "simulation/main.ts"),
      ...["--seeds", "24", "--from", `${seed}`, "--until-failure"],
      ...(instances ? ["--instances", `${instances}`, "--minutes", "3", "--rooms", "12"] : []),
    ],
    limitMs: 180_000,
  },
  chaos: {
    args: (copy, seed, { events }) => [
      join(PROJECT, "chaos/main.ts"),
      ...["--seed", `${seed}`, "--minutes", `${CHAOS_MINUTES}`, "--viewers", "60", "--project", copy],
      ...(events ? ["--events", events] : []),
    ],
    limitMs: CHAOS_MINUTES * 60_000 + 90_000, // it starts, settles and judges
  },
  cluster: {
    args: (copy, seed) => [
      join(PROJECT, "chaos/cluster/main.ts"),
      ...["--seed", `${seed}`, "--minutes", `${CLUSTER_MINUTES}`, "--viewers", "24", "--project", copy],
    ],
    limitMs: CLUSTER_MINUTES * 60_000 + 200_000, // it plays its trials, too
  },
};

/** The rows of all tables. */
export function allRows(): Row[] {
  return Object.entries(TABLES).flatMap(([name, table]) => {
    const mutants: Mutant[] = JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));
    return mutants.map((mutant): Row => ({ ...mutant, key: `${name}/${mutant.name}`, table }));
  });
}

/** The file with the mutant in it; undefined where the text to be replaced is not there, or not only once. */
export function mutated({ file, find, replace }: Mutant): string | undefined {
  const [before, after, ...more] = readFileSync(join(PROJECT, file), "utf8").split(find);
  return after === undefined || more.length > 0 ? undefined : before + replace + after;
}

/** Of all that decides what is played and what is expected. */
export function versionOf({ expects, test, events, instances, file, find, replace }: Mutant): string {
  const decisive = JSON.stringify([expects, test, events, instances, file, find, replace]);
  return createHash("sha256").update(decisive).digest("hex").slice(0, 12);
}
