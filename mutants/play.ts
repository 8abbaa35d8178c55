/**
 * Judges judged: each row of a table breaks one promise of the service in a copy of the project, and a run against that
 * copy must notice in time. Before them comes a copy that is whole, where it must not. A row whose text no longer
 * stands exactly once in its file is a failure, and the others go on.
 *
 * Flags: `--only NAME,NAME`; `--draw N` plays N rows, chosen by the commit's hash, and 0 only checks that every row can
 * be applied; `--seed N`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine } from "../chaos/command-line.ts";

interface Mutant {
  name: string;
  /** What is wrong in the copy. */
  breaks: string;
  /** Where only some events can show it: their names. */
  events?: string;
  /** Where only several instances can show it: how many there are, and from which seed on where few seeds do. */
  instances?: number;
  from?: number;
  /** Where only some draws can show it: a seed of theirs. */
  seed?: string;
  /** Where no run shows it: the test that must fail, by its file and the beginning of its name. */
  test?: { file: string; name: string };
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
}

/** What plays a table. */
interface Player {
  /** The table of mutants, a JSON file. */
  table: URL;
  /** The arguments of Node.js that play a run of the copy; exit code 1 and a line `VIOLATION …` mean that it was noticed. */
  args(copy: string, mutant: Mutant | undefined, seed: string): readonly string[];
  limitMs: number;
}

/** What of the project is copied. */
const COPIED = ["bin", "chaos", "client", "harness", "simulation", "src", "test", "web", "package.json"];

const PROJECT = fileURLToPath(new URL("..", import.meta.url));

/** Plays the chosen rows, prints what became of each, and ends the process. */
export function playMutants(player: Player): never {
  const { values } = commandLine({
    options: {
      only: { type: "string", default: "" },
      draw: { type: "string" },
      seed: { type: "string", default: "1" },
    },
  });
  const mutants: readonly Mutant[] = JSON.parse(readFileSync(player.table, "utf8"));
  const failures = mutants
    .filter((mutant) => mutated(mutant) === undefined)
    .map(({ name, file }) => `${name}: what it replaces does not stand exactly once in ${file}`);
  process.stdout.write("| mutant | what it breaks | caught by | s |\n|---|---|---|---|\n");
  for (const mutant of chosen(mutants, values)) {
    if (mutant && mutated(mutant) === undefined) continue; // a failure already
    const { name, breaks } = mutant ?? { name: "none", breaks: "nothing" };
    const from = performance.now();
    const violation = violationIn(mutant, player, values.seed);
    const seconds = Math.round((performance.now() - from) / 1000);
    process.stdout.write(
      `| ${name} | ${breaks} | ${(violation ?? "not caught").slice(0, 160)} | ${seconds} |\n`,
    );
    // A service that does not start, or a judge that breaks, proves nothing.
    const isCaught = violation !== undefined && !/^\w*Error: /.test(violation);
    if (mutant ? !isCaught : violation !== undefined) failures.push(`${name}: ${violation ?? "not caught"}`);
  }
  process.stdout.write(
    failures.map((failure) => `\nFAILED ${failure}`).join("") +
      (failures.length > 0 ? "\n" : "\nall as they should be\n"),
  );
  process.exit(failures.length > 0 ? 1 : 0);
}

/** The file with the mutant in it; undefined where the text to be replaced is not there, or not only once. */
function mutated({ file, find, replace }: Mutant): string | undefined {
  const [before, after, ...more] = readFileSync(join(PROJECT, file), "utf8").split(find);
  return after === undefined || more.length > 0 ? undefined : before + replace + after;
}

/** The first violation that is seen in a copy, with the mutant or without; undefined where none is. */
function violationIn(mutant: Mutant | undefined, player: Player, seed: string): string | undefined {
  const copy = mkdtempSync(join(tmpdir(), "relay-mutant-"));
  try {
    for (const name of COPIED) cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
    symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
    if (mutant) writeFileSync(join(copy, mutant.file), mutated(mutant) ?? "");
    const args = mutant?.test ? testArgs(copy, mutant.test) : player.args(copy, mutant, mutant?.seed ?? seed);
    const { status, stdout } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      timeout: player.limitMs,
    });
    return status === 1 ? /^(?:VIOLATION| *✖) (.*)$/m.exec(stdout)?.[1] : undefined;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function testArgs(copy: string, { file, name }: NonNullable<Mutant["test"]>): readonly string[] {
  return ["--test", "--test-reporter=spec", `--test-name-pattern=${name}`, join(copy, file)];
}

/** The mutants to be played; undefined stands for the copy that is whole. */
function chosen(
  mutants: readonly Mutant[],
  { only, draw }: { only: string; draw?: string | undefined },
): readonly (Mutant | undefined)[] {
  const names = only.split(",").filter(Boolean);
  const unknown = names.find((name) => !mutants.some((mutant) => mutant.name === name));
  if (unknown !== undefined) throw new Error(`--only: there is no mutant "${unknown}"`);
  if (names.length > 0) return mutants.filter(({ name }) => names.includes(name));
  if (draw === undefined) return [undefined, ...mutants];
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: PROJECT, encoding: "utf8" });
  const ticket = ({ name }: Mutant) => createHash("sha256").update(`${commit}${name}`).digest("hex");
  return mutants.toSorted((a, b) => (ticket(a) < ticket(b) ? -1 : 1)).slice(0, Number(draw));
}
