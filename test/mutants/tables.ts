/**
 * The tables of mutants: each row breaks the service, and names the promise or the test that must catch it.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Promised } from "../harness/promises.ts";

export interface Mutant {
  name: string;
  /** How the copy behaves. */
  breaks: string;
  /** The promises of which a run must find one violated. */
  promises?: readonly Promised[];
  /** If no run can notice the bug: the file of a test that must fail, and its title, a regular expression. */
  test?: string;
  title?: string;
  /** The names of the chaos events, if only these can show the bug. */
  events?: string;
  /** The number of instances, if only a simulation with several can show the bug. */
  instances?: number;
  /** The number of edges, if only a simulation with some can show the bug. */
  edges?: number;
  file: string;
  /** Must occur exactly once in the file. */
  find: string;
  replace: string;
}

/** A mutant and its table. */
export interface Row extends Mutant {
  /** The table's name and the mutant's. */
  key: string;
  table: Table;
}

/** The program that plays a table's rows; exit code 1 and a line `VIOLATION …` report a violation. */
export interface Table {
  /** The arguments of Node.js for a run against the copy; `isOnly`: with this seed and no other one. */
  args(copy: string, seed: number, mutant: Partial<Mutant>, isOnly?: boolean): readonly string[];
  /** Whether a run plays more seeds than the one that it is given. */
  hasSeeds: boolean;
  limitMs: number;
}

export const PROJECT = fileURLToPath(new URL("../..", import.meta.url));

const SEEDS = 24;
const CHAOS_MINUTES = 2;
const CLUSTER_MINUTES = 0.7;

export const TABLES: Record<string, Table> = {
  simulation: {
    args: (copy, seed, { instances, edges = 0 }, isOnly) => [
      join(copy, "test/simulation/main.ts"),
      ...["--seeds", `${isOnly ? 1 : SEEDS}`, "--from", `${seed}`, "--until-failure"],
      ...(instances ? ["--instances", `${instances}`] : []),
      ...(instances || edges ? ["--minutes", "3", "--rooms", "12"] : []),
      ...["--edges", `${edges}`, "--tiers", "2"],
    ],
    hasSeeds: true,
    limitMs: 180_000,
  },
  chaos: {
    args: (copy, seed, { events }) => [
      join(PROJECT, "test/chaos/main.ts"),
      ...["--seed", `${seed}`, "--minutes", `${CHAOS_MINUTES}`, "--viewers", "60", "--project", copy],
      ...(events ? ["--events", events] : []),
    ],
    hasSeeds: false,
    limitMs: CHAOS_MINUTES * 60_000 + 90_000, // includes the start, the settling and the judging
  },
  cluster: {
    args: (copy, seed) => [
      join(PROJECT, "test/chaos/cluster/main.ts"),
      ...["--seed", `${seed}`, "--minutes", `${CLUSTER_MINUTES}`, "--viewers", "24", "--project", copy],
    ],
    hasSeeds: false,
    limitMs: CLUSTER_MINUTES * 60_000 + 200_000, // includes the trials
  },
};

/** The rows of all tables. */
export function allRows(): Row[] {
  return Object.entries(TABLES).flatMap(([name, table]) => {
    const mutants: Mutant[] = JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));
    return mutants.map((mutant): Row => ({ ...mutant, key: `${name}/${mutant.name}`, table }));
  });
}

/** What catches the row: a violation, as a run of one seed reports it, or the title of a failed test. */
export function expectedOf({ promises = [], title }: Mutant): RegExp {
  return new RegExp(title ?? `^(${promises.join("|")}): `);
}

/** The file with the mutant in it; undefined if the text to replace does not occur exactly once. */
export function mutated({ file, find, replace }: Mutant): string | undefined {
  const [before, after, ...more] = readFileSync(join(PROJECT, file), "utf8").split(find);
  return after === undefined || more.length > 0 ? undefined : before + replace + after;
}

/** A hash of everything that decides how the row is played and judged. */
export function versionOf(mutant: Mutant): string {
  const { promises, title = promises, test, events, instances, edges, file, find, replace } = mutant;
  const decisive = [title, test, events, instances, ...(edges ? [edges] : []), file, find, replace];
  return createHash("sha256").update(JSON.stringify(decisive)).digest("hex").slice(0, 12);
}
