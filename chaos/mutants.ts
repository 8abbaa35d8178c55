/**
 * The judge judged: each row of `mutants.json` breaks one promise of the service in a copy of the project, and a run
 * of chaos against that copy must notice within two minutes. Before them comes a copy that is whole, where it must
 * not. A row whose text no longer stands exactly once in its file is a failure, and the others go on.
 *
 *     npm run chaos:mutants [-- --only NAME,NAME] [--draw N] [--seed N]
 *
 * `--draw N` plays N rows, chosen by the commit's hash; 0 only checks that every row can be applied.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine } from "./command-line.ts";

interface Mutant {
  name: string;
  /** What is wrong in the copy. */
  breaks: string;
  /** Where only some events can show it: their names. */
  events?: string;
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
}

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const MUTANTS: readonly Mutant[] = JSON.parse(
  readFileSync(fileURLToPath(new URL("mutants.json", import.meta.url)), "utf8"),
);
const LIMIT_MINUTES = 2;
const VIEWERS = 60;
/** Starting, settling and judging come on top of the time of a run. */
const SLACK_MS = 90_000;

const { values } = commandLine({
  options: {
    only: { type: "string", default: "" },
    draw: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});

/** The file with the mutant in it; undefined where the text to be replaced is not there, or not only once. */
function mutated({ file, find, replace }: Mutant): string | undefined {
  const [before, after, ...more] = readFileSync(join(PROJECT, file), "utf8").split(find);
  return after === undefined || more.length > 0 ? undefined : before + replace + after;
}

/** The first violation that a run of chaos sees in a copy, with the mutant or without; undefined where it sees none. */
function violationIn(mutant: Mutant | undefined): string | undefined {
  const copy = mkdtempSync(join(tmpdir(), "relay-mutant-"));
  try {
    for (const name of ["bin", "src", "package.json"])
      cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
    symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
    if (mutant) writeFileSync(join(copy, mutant.file), mutated(mutant) ?? "");
    const { status, stdout } = spawnSync(
      process.execPath,
      [
        fileURLToPath(new URL("main.ts", import.meta.url)),
        ...["--seed", values.seed, "--minutes", String(LIMIT_MINUTES), "--viewers", String(VIEWERS)],
        ...["--project", copy],
        ...(mutant?.events ? ["--events", mutant.events] : []),
      ],
      { encoding: "utf8", timeout: LIMIT_MINUTES * 60_000 + SLACK_MS },
    );
    return status === 1 ? /^VIOLATION (.*)$/m.exec(stdout)?.[1] : undefined;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The mutants to be played; undefined stands for the copy that is whole. */
function chosen(): readonly (Mutant | undefined)[] {
  const only = values.only.split(",").filter(Boolean);
  const unknown = only.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown !== undefined) throw new Error(`--only: there is no mutant "${unknown}"`);
  if (only.length > 0) return MUTANTS.filter(({ name }) => only.includes(name));
  if (values.draw === undefined) return [undefined, ...MUTANTS];
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: PROJECT, encoding: "utf8" });
  const ticket = ({ name }: Mutant) => createHash("sha256").update(`${commit}${name}`).digest("hex");
  return MUTANTS.toSorted((a, b) => (ticket(a) < ticket(b) ? -1 : 1)).slice(0, Number(values.draw));
}

const failures = MUTANTS.filter((mutant) => mutated(mutant) === undefined).map(
  ({ name, file }) => `${name}: what it replaces does not stand exactly once in ${file}`,
);
process.stdout.write("| mutant | what it breaks | caught by | s |\n|---|---|---|---|\n");
for (const mutant of chosen()) {
  if (mutant && mutated(mutant) === undefined) continue; // a failure already
  const { name, breaks } = mutant ?? { name: "none", breaks: "nothing" };
  const from = performance.now();
  const violation = violationIn(mutant);
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
