/**
 * How each row was last caught, as stored in `caught.json`. A record is stale if its row has changed since.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expectedOf, mutated, type Row, versionOf } from "./tables.ts";

export interface Memory {
  /** The seed of the run that caught it; the next play begins with this seed. A row with a test has none. */
  seed?: number;
  caught: Catch;
}

export interface Catch {
  version: string;
  /** The violation, or the test that failed. */
  by: string;
  /** The simulation's time until it was caught. */
  virtualSeconds?: number;
  seconds: number;
}

export type Memories = Readonly<Record<string, Memory>>;

const FILE = new URL("caught.json", import.meta.url);

export function readMemories(): Memories {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/** A record to a line, by key. */
export function writeMemories(memories: Memories): void {
  const lines = Object.keys(memories)
    .sort()
    .map((key) => `  ${JSON.stringify(key)}: ${JSON.stringify(memories[key])}`);
  writeFileSync(FILE, `{\n${lines.join(",\n")}\n}\n`);
}

/** Without the records of rows that are gone. */
export function withoutStrays(memories: Memories, rows: readonly Row[]): Memories {
  const keys = new Set(rows.map(({ key }) => key));
  return Object.fromEntries(Object.entries(memories).filter(([key]) => keys.has(key)));
}

/** The faults of all tables and their records; each row must have been caught in its current version. */
export function audit(rows: readonly Row[], memories: Memories): string[] {
  const failures: string[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const { key, file } = row;
    if (seen.has(key)) failures.push(`${key}: there are two such rows`);
    seen.add(key);
    if (mutated(row) === undefined)
      failures.push(`${key}: what it replaces does not stand exactly once in ${file}`);
    const missing = missingIn(memories[key], row);
    if (missing !== undefined) failures.push(`${key}: ${missing}; play it with --record`);
  }
  const strays = Object.keys(memories).filter((key) => !seen.has(key));
  failures.push(...strays.map((key) => `${key}: caught.json has a record of it, and no table has the row`));
  return failures;
}

/** Why the record does not show that the row was caught in its current version; undefined if it does. */
function missingIn(memory: Memory | undefined, row: Row): string | undefined {
  if (!memory) return "never caught";
  const { version, by } = memory.caught;
  if (version !== versionOf(row)) return "changed since caught";
  return expectedOf(row).test(by) ? undefined : "caught by something else";
}
