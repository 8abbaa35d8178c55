/**
 * Plays one mutant: copies the project with its bug, starts a run or a test there, and collects the findings.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Catch, Memory } from "./memory.ts";
import { expectedOf, type Mutant, mutated, PROJECT, type Row, type Table, versionOf } from "./tables.ts";

/** The parts of the project to copy. The runtimes of the SDK, 600 MB below `test/`, are none. */
const COPIED = [
  ...["bin", "client", "deploy", "docs", "examples", "simulator", "src", "terminal", "test", "tools", "web"],
  "package.json",
];
const isCopied = (path: string) => basename(path) !== "node_modules";
const MAX_CHARACTERS = 200;

/** The findings of a run: the texts of its violations, or the names of the failed tests. */
export interface Seen {
  violations: readonly string[];
  seconds: number;
}

/** How a row was caught, or why it does not count as caught. */
type Played = (Memory & { caught: Catch }) | { failure: string };

/**
 * `isRemembered`: the seed has caught the row before. It is then played alone first: others beside it take as
 * much CPU time again, and are needed only if it no longer catches the row.
 */
export function playRow(row: Row, seed: number, isRemembered: boolean): Seen {
  const { test, title = "", table, file } = row;
  return inCopy((copy) => {
    writeFileSync(join(copy, file), mutated(row) ?? "");
    if (test) return see(testArgs(join(copy, test), title), table.limitMs);
    if (table.hasSeeds && isRemembered) {
      const seen = see(table.args(copy, seed, row, true), table.limitMs);
      if (caughtBy(row, seen)) return seen;
    }
    return see(table.args(copy, seed, row), table.limitMs);
  });
}

/** The findings of a run on a copy without a mutant: there must be none. */
export function playWhole({ args, limitMs }: Table, seed: number): Seen {
  return inCopy((copy) => see(args(copy, seed, {}), limitMs));
}

/** Compares the findings with the row's expectation: any other violation, or a crash, proves nothing. */
export function judge(row: Mutant, seen: Seen, seed: number, memory: Memory | undefined): Played {
  const found = caughtBy(row, seen);
  if (!found) {
    const [other] = seen.violations;
    const by = other ? `not by ${expectedOf(row)}, but: ${other.slice(0, MAX_CHARACTERS)}` : "by nothing";
    const before = memory ? `; before it was caught by: ${memory.caught.by}` : "";
    return { failure: `caught ${by}${before}` };
  }
  const { what, own = seed, virtualSeconds } = found;
  const caught = {
    version: versionOf(row),
    by: what.slice(0, MAX_CHARACTERS),
    ...(virtualSeconds !== undefined && { virtualSeconds }),
    seconds: seen.seconds,
  };
  return row.test ? { caught } : { seed: own, caught };
}

/** The finding that the row expects. The simulation plays several seeds, and prefixes the one that failed. */
function caughtBy(row: Mutant, { violations }: Seen) {
  for (const violation of violations) {
    const [, own, virtual, what = violation] = /^seed (\d+), after ([\d.]+) s, (.*)$/.exec(violation) ?? [];
    if (!expectedOf(row).test(what)) continue;
    return own === undefined ? { what } : { what, own: Number(own), virtualSeconds: Number(virtual) };
  }
  return undefined;
}

function inCopy<T>(act: (copy: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "relay-mutant-"));
  const copy = join(folder, "copy");
  try {
    mkdirSync(copy);
    symlinkSync(join(PROJECT, "../shared"), join(folder, "shared")); // the captures are beside a project
    for (const name of COPIED)
      cpSync(join(PROJECT, name), join(copy, name), { recursive: true, filter: isCopied });
    symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
    return act(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function see(args: readonly string[], limitMs: number): Seen {
  const from = performance.now();
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: limitMs });
  const lines = status === 1 ? stdout.matchAll(/^(?:VIOLATION|FAILED| *✖) (.*?)(?: \([\d.]+ms\))?$/gm) : [];
  const violations = Array.from(lines, ([, violation = ""]) => violation);
  return { violations, seconds: Math.round((performance.now() - from) / 1000) };
}

function testArgs(file: string, name: string): readonly string[] {
  return ["--test", "--test-reporter=spec", `--test-name-pattern=${name}`, file];
}
