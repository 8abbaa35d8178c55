/**
 * Starts one of several programs by its name: `npm run bench`, `npm run chaos` and `npm run simulate`. The
 * program reads its arguments as if it had been started directly.
 *
 *     npm run bench -- NAME [options]              without a name it lists all
 *     npm run bench -- NAME --against REV          in turns with another revision
 *     npm run chaos -- [NAME] [options]            without a name: chaos against one service
 *     npm run simulate -- [NAME] [options]         without a name: the simulation
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..");
const BENCHES = [
  ...[
    "fan-out",
    "storm",
    "filters",
    "idle",
    "start",
    "reading",
    "store",
    "rooms",
    "latency",
    "history",
    "export",
    "sdk",
  ],
  ...["page", "page-load", "overlay", "edge", "log", "proxy", "cluster", "cluster-rooms", "access", "tests"],
];

/** The files of the programs by name; the empty name is that of the program that starts without one. */
const FAMILIES: Record<string, Record<string, string>> = {
  bench: Object.fromEntries(BENCHES.map((name) => [name, `tools/bench/${name}.ts`])),
  chaos: {
    "": "test/chaos/main.ts",
    cluster: "test/chaos/cluster/main.ts",
    soak: "test/chaos/soak.ts",
  },
  simulate: {
    "": "test/simulation/main.ts",
    neighbours: "test/simulation/neighbours-table.ts",
    sweep: "test/simulation/sweep.ts",
  },
};

/** The first sentence of a program's head comment. */
function purposeOf(file: string): string {
  const head = /^\/\*\*(.*?)(?:\.\s|:\s|\*\/)/s.exec(readFileSync(join(ROOT, file), "utf8"))?.[1] ?? "";
  return head.replaceAll(/\s*\n \* ?/g, " ").trim();
}

const [family = "", first = ""] = process.argv.slice(2);
const programs = FAMILIES[family] ?? {};
const name = first.startsWith("-") ? "" : first;
const file = programs[name];
if (file !== undefined) {
  const options = process.argv.slice(name === "" ? 3 : 4);
  const isPaired = family === "bench" && options.some((word) => /^--against\b/.test(word));
  const [program, args] = isPaired ? ["tools/bench/against.ts", [name, ...options]] : [file, options];
  process.argv = [process.execPath, join(ROOT, program), ...args];
  await import(pathToFileURL(join(ROOT, program)).href);
} else {
  const width = Math.max(...Object.keys(programs).map((each) => each.length));
  const lines = Object.entries(programs).map(
    ([each, path]) => `  ${(each || "(none)").padEnd(width)}  ${purposeOf(path)}\n`,
  );
  process.stderr.write(`npm run ${family} -- NAME, where NAME is one of:\n${lines.join("")}`);
  process.exitCode = 2;
}
