/**
 * How each row was last caught, as stored in `caught.json`. A record is stale if its row has changed since.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { mutated, type Row, versionOf } from "./tables.ts";

export interface Memory {
  /** The seed of the run that caught it; the next play begins with this seed. A row with a test has none. */
  seed?: number;
  caught: Catch | "never";
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

/** With a record for each row, and for nothing else. */
export function completed(memories: Memories, rows: readonly Row[]): Memories {
  return Object.fromEntries(rows.map(({ key }) => [key, memories[key] ?? { caught: "never" }]));
}

interface Audit {
  failures: string[];
  /** The rows that no play has caught in their current version, and how so. */
  unplayed: Map<string, string>;
}

/**
 * Checks the rows of all tables and their records. A row that was not caught in its current version is a
 * failure unless the row itself says why, and so is a reason that is no longer true.
 */
export function audit(rows: readonly Row[], memories: Memories): Audit {
  const failures: string[] = [];
  const unplayed = new Map<string, string>();
  const seen = new Set<string>();
  for (const row of rows) {
    const { key, file } = row;
    const memory = memories[key];
    if (seen.has(key)) failures.push(`${key}: there are two such rows`);
    seen.add(key);
    if (mutated(row) === undefined)
      failures.push(`${key}: what it replaces does not stand exactly once in ${file}`);
    if (!memory) {
      failures.push(`${key}: caught.json has no record of it; --record makes one`);
      continue;
    }
    const missing = missingIn(memory, row);
    if (missing !== undefined) unplayed.set(key, missing);
    if (missing !== undefined && row.unplayed === undefined)
      failures.push(`${key}: ${missing}; play it with --record, or say in its field "unplayed" why not`);
    if (missing === undefined && row.unplayed !== undefined)
      failures.push(`${key}: it was caught, but its field "unplayed" says why not`);
  }
  const strays = Object.keys(memories).filter((key) => !seen.has(key));
  failures.push(...strays.map((key) => `${key}: caught.json has a record of it, and no table has the row`));
  return { failures, unplayed };
}

/** Why the record does not show that the row was caught in its current version; undefined if it does. */
function missingIn({ caught }: Memory, row: Row): string | undefined {
  if (caught === "never") return "never caught";
  if (caught.version !== versionOf(row)) return "changed since caught";
  return new RegExp(row.expects).test(caught.by) ? undefined : "caught by other words";
}
