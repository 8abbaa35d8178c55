/**
 * What each test file costs, and what only it covers: files play one after the other, each in a process of
 * its own.
 *
 *     npm run bench -- tests [PATH...]      by default all of test/
 *
 * `CPU s` is that of the process and of all that it has started, with the coverage. `functions` counts those
 * of the product that it calls, `alone` those that no other played file calls (V8's coverage; of the pages,
 * only what runs in Node.js). A process that is killed with SIGKILL leaves no coverage.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempDisposableSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(import.meta.dirname, "../..");
const PRODUCT = /^(?:src|client|web)\//;
/** The clock ticks per second in which Linux counts CPU time. */
const TICKS = 100;

/** Preloaded: counts the processes that a file starts, by program, and writes them down at its end. */
const COUNTING = `
  import { subscribe } from "node:diagnostics_channel";
  import { writeFileSync } from "node:fs";
  import { basename } from "node:path";
  const started = {};
  subscribe("child_process", ({ process: child }) => setImmediate(() => {
    const name = basename(child.spawnfile ?? "?");
    started[name] = (started[name] ?? 0) + 1;
  }));
  process.once("exit", () => writeFileSync(process.env.STARTED_BY_TEST, JSON.stringify(started)));`;

interface Coverage {
  result: {
    url: string;
    functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[];
  }[];
}

interface Cost {
  file: string;
  cpuS: number;
  wallS: number;
  started: Record<string, number>;
  functions: Set<string>;
  hasFailed: boolean;
}

/** The CPU seconds of all processes that this one has started and that have ended, with what they started. */
function cpuOfEnded(): number {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** The product's functions that were called, each by its file and its place. */
function calledIn(folder: string): Set<string> {
  const called = new Set<string>();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage;
    for (const { url, functions } of result) {
      const file = url.startsWith("file:") ? relative(ROOT, fileURLToPath(url)) : "";
      if (!PRODUCT.test(file)) continue;
      for (const { functionName, ranges } of functions)
        if (ranges[0]?.count) called.add(`${file} ${functionName}:${ranges[0].startOffset}`);
    }
  }
  return called;
}

async function costOf(file: string): Promise<Cost> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "test-cost-"));
  const [startedPath, coverage] = [join(folder.path, "started.json"), join(folder.path, "coverage")];
  const [cpuBefore, wallBefore] = [cpuOfEnded(), performance.now()];
  const preloads = [
    "./test/support/compile-cache.js",
    `data:text/javascript,${encodeURIComponent(COUNTING)}`,
  ];
  const child = spawn(process.execPath, [...preloads.flatMap((each) => ["--import", each]), file], {
    cwd: ROOT,
    env: { ...process.env, STARTED_BY_TEST: startedPath, NODE_V8_COVERAGE: coverage },
    stdio: "ignore",
  });
  const [code] = await once(child, "exit");
  return {
    file,
    cpuS: cpuOfEnded() - cpuBefore,
    wallS: (performance.now() - wallBefore) / 1000,
    started: JSON.parse(readFileSync(startedPath, "utf8")),
    functions: calledIn(coverage),
    hasFailed: code !== 0,
  };
}

const paths = process.argv.slice(2);
const files = (paths.length > 0 ? paths : ["test"]).flatMap((path) =>
  statSync(path).isDirectory()
    ? globSync(`${path}/**/*.test.ts`, { exclude: ["**/node_modules/**"] }).sort()
    : path,
);
const costs: Cost[] = [];
for (const file of files) {
  const cost = await costOf(file);
  costs.push(cost);
  process.stderr.write(`${costs.length}/${files.length} ${cost.cpuS.toFixed(1)} s ${file}\n`);
}

const callers = new Map<string, number>();
for (const { functions } of costs)
  for (const name of functions) callers.set(name, (callers.get(name) ?? 0) + 1);
const row = (cells: readonly (string | number)[]) =>
  cells.map((cell, at) => (at < 4 ? String(cell).padStart(9) : cell)).join("  ");
process.stdout.write(`${row(["CPU s", "wall s", "functions", "alone", "file, and what it starts"])}\n`);
for (const { file, cpuS, wallS, started, functions, hasFailed } of costs.sort((a, b) => b.cpuS - a.cpuS)) {
  const alone = functions.values().reduce((count, name) => count + (callers.get(name) === 1 ? 1 : 0), 0);
  const starts = Object.entries(started).map(([name, count]) => `${count} ${name}`);
  const words = [file, starts.length > 0 ? `(${starts.join(", ")})` : "", hasFailed ? "FAILED" : ""];
  const numbers = [cpuS.toFixed(1), wallS.toFixed(1), functions.size, alone];
  process.stdout.write(`${row([...numbers, words.filter(Boolean).join(" ")])}\n`);
}
const sum = (of: (cost: Cost) => number) => costs.reduce((total, cost) => total + of(cost), 0).toFixed(0);
process.stdout.write(
  `${row([sum(({ cpuS }) => cpuS), sum(({ wallS }) => wallS), callers.size, "", "in all"])}\n`,
);
