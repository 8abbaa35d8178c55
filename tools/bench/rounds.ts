/**
 * Shared by all benches: contestants that take turns in each of five rounds, so that a busy machine affects
 * all of them, ratios within a round, and their median. Results go to a table on the terminal and to
 * `tools/bench/results/`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { commandLine } from "../../test/chaos/command-line.ts";

export const ROUNDS = 5;

/** The figures of one bench by name; the names contain the units. */
export type Figures = Record<string, number | string>;

/** Whole numbers from the command line by name, with their defaults. */
export function settings<Name extends string>(defaults: Record<Name, number>): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  const options = Object.fromEntries(
    names.map((name) => [name, { type: "string" as const, default: String(defaults[name]) }]),
  );
  const { values } = commandLine({ options });
  const given = (name: Name) => Number(values[name]);
  return Object.fromEntries(names.map((name) => [name, given(name)])) as Record<Name, number>;
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** The smallest of the numbers that at least this share of them do not exceed: `percentile(ms, 0.99)`. */
export function percentile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? Number.NaN;
}

/** The measurements of each contestant, round by round. */
export async function inRounds<Name extends string>(
  contestants: Record<Name, () => number | Promise<number>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contestants) as Name[];
  const measured = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) measured[name].push(await contestants[name]());
  }
  return measured;
}

/** The median over the rounds of one figure divided by the other. */
export function ratio(ones: readonly number[], others: readonly number[]): number {
  return median(ones.map((one, round) => one / (others[round] ?? Number.NaN)));
}

/** CPU time, user and system, that all threads of a process have used, in milliseconds. Linux only. */
export function cpuMs(pid: number): number {
  const ranNs = (task: string) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + ranNs(task), 0) / 1e6;
}

/** A process and its children. Linux only. */
export function processesOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
  return [pid, ...children.map(Number)];
}

/** The CPU time of a process and its children, in milliseconds. Linux only. */
export function treeMs(pid: number): number {
  return processesOf(pid).reduce((sum, each) => sum + cpuMs(each), 0);
}

/** The resident memory of a process in bytes. Linux only. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

/**
 * Prints the rows as a table, and writes them to `tools/bench/results/` line by line, with the date and the
 * machine.
 */
export function report(bench: string, measured: readonly Figures[]): void {
  const rows = measured.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, rounded(value)])),
  );
  console.table(rows);
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, memoryMb: Math.round(totalmem() / 2 ** 20) };
  const head = JSON.stringify({ bench, date: new Date().toISOString(), node: process.version, machine });
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  const folder = new URL("./results/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${bench}.json`, folder), `${head.slice(0, -1)}, "rows": [\n${lines}\n]}\n`);
}

function rounded(value: number | string): number | string {
  return typeof value !== "number" || Number.isInteger(value) ? value : Number(value.toPrecision(3));
}
