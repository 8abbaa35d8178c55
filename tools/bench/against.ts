/**
 * Plays a bench here and in another revision of the project, in turns, so that a busy machine affects both,
 * and prints the ratio of each figure: this checkout, as it is, to the revision.
 *
 *     npm run bench -- NAME --against REV [--turns 3] [--limit 1.1] [options of the bench]
 *
 * Each plays its own bench: figures that only one of them has are left out. With `--limit`, it fails if one
 * of the figures in `kept-figures.ts` has a higher ratio in every turn.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { worseFigures } from "./kept-figures.ts";
import { type Figures, median } from "./rounds.ts";

const ROOT = join(import.meta.dirname, "../..");
const { values } = parseArgs({
  strict: false,
  options: {
    against: { type: "string" },
    turns: { type: "string", default: "3" },
    limit: { type: "string" },
  },
});
const [name = "", ...rest] = process.argv.slice(2);
const options = rest.filter(
  (word, at) =>
    !/^--(against|turns|limit)\b/.test(word) && !/^--(against|turns|limit)$/.test(rest[at - 1] ?? ""),
);

using temporary = mkdtempDisposableSync(join(tmpdir(), "bench-against-"));
const other = join(temporary.path, "checkout");
mkdirSync(other);
const archive = ["archive", "--format=tar", String(values.against)];
const tar = execFileSync("git", archive, { cwd: ROOT, maxBuffer: 2 ** 30 });
execFileSync("tar", ["-x"], { cwd: other, input: tar });
const lockOf = (checkout: string): string => readFileSync(join(checkout, "package-lock.json"), "utf8");
if (lockOf(ROOT) === lockOf(other)) symlinkSync(join(ROOT, "node_modules"), join(other, "node_modules"));
else execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: other, stdio: "inherit" });
if (existsSync(join(ROOT, "dist")))
  execFileSync(process.execPath, ["--import", "./bin/check-node.js", "tools/release/bundle.ts"], {
    cwd: other,
  });

/** The figures of each row, by the results' file, the row's number and the figure's name, turn by turn. */
const figures = new Map<string, { here: number[]; there: number[] }>();

for (let turn = 0; turn < Number(values.turns); turn++) {
  for (const [where, checkout] of [
    ["there", other],
    ["here", ROOT],
  ] as const) {
    for (const [figure, value] of play(checkout)) {
      const turns = figures.get(figure) ?? { here: [], there: [] };
      turns[where].push(value);
      figures.set(figure, turns);
    }
  }
}

const compared = [...figures].filter(([, { here, there }]) => here.length === there.length);
const ratios = new Map(
  compared.map(([figure, { here, there }]) => [
    figure,
    here.map((value, turn) => value / (there[turn] ?? Number.NaN)),
  ]),
);
console.log(`This checkout against ${values.against}, ${values.turns} turns`);
console.table(
  Object.fromEntries(
    compared.map(([figure, { here, there }]) => {
      const each = ratios.get(figure) ?? [];
      const shown = [median(here), median(there), median(each), Math.min(...each), Math.max(...each)];
      const [ours, theirs, ratio, least, most] = shown.map((value) => Number(value.toPrecision(3)));
      return [figure, { here: ours, there: theirs, ratio, least, most }];
    }),
  ),
);
if (values.limit !== undefined) {
  const worse = worseFigures(name, ratios, Number(values.limit));
  for (const figure of worse)
    console.error(`${figure}: over ${values.limit} of ${values.against} in each turn`);
  if (worse.length > 0) process.exitCode = 1;
}

/** Plays the bench of a checkout, and gives the figures that it has written. */
function play(checkout: string): [figure: string, value: number][] {
  const began = Date.now();
  const command = ["--import", "./bin/check-node.js", "tools/programs.ts", "bench", name, ...options];
  execFileSync(process.execPath, command, { cwd: checkout, stdio: "inherit" });
  const folder = join(checkout, "tools/bench/results");
  const written = readdirSync(folder).filter((file) => statSync(join(folder, file)).mtimeMs >= began);
  return written.flatMap((file) => {
    const { bench, rows }: { bench: string; rows: Figures[] } = JSON.parse(
      readFileSync(join(folder, file), "utf8"),
    );
    return rows.flatMap((row, at) =>
      Object.entries(row).flatMap(([figure, value]): [string, number][] =>
        typeof value === "number" ? [[`${bench} ${at + 1} ${figure}`, value]] : [],
      ),
    );
  });
}
