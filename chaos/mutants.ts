/**
 * The judge judged: each patch in `mutants/` breaks one promise of the service in a copy of the project, and a run of
 * chaos against that copy must notice within two minutes. Before them comes a copy without any patch, where it must not.
 *
 *     npm run chaos:mutants [-- --only NAME,NAME] [--seed N]
 *
 * A patch begins with lines `Breaks: <what is wrong in it>` and, where only some events can show it, `Events: <names>`.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLine } from "./command-line.ts";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const PATCHES = fileURLToPath(new URL("mutants", import.meta.url));
const LIMIT_MINUTES = 2;
const VIEWERS = 60;
/** Starting, settling and judging come on top of the time of a run. */
const SLACK_MS = 90_000;

const { values } = commandLine({
  options: { only: { type: "string", default: "" }, seed: { type: "string", default: "1" } },
});
const only = values.only.split(",").filter(Boolean);

/** The copy without a patch. */
const SOUND = "none";

interface Result {
  name: string;
  breaks: string;
  /** The first violation; undefined where the mutant survived. */
  caughtBy: string | undefined;
  seconds: number;
}

function judged(name: string): Result {
  const file = join(PATCHES, `${name}.patch`);
  const patch = name === SOUND ? "Breaks: nothing" : readFileSync(file, "utf8");
  const [, breaks = ""] = /^Breaks: (.*)$/m.exec(patch) ?? [];
  const [, events] = /^Events: (.*)$/m.exec(patch) ?? [];
  const copy = mkdtempSync(join(tmpdir(), "relay-mutant-"));
  try {
    for (const name of ["src", "package.json"])
      cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
    symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
    if (name !== SOUND) execFileSync("git", ["apply", file], { cwd: copy });
    const from = performance.now();
    const { status, stdout } = spawnSync(
      process.execPath,
      [
        fileURLToPath(new URL("main.ts", import.meta.url)),
        ...["--seed", values.seed, "--minutes", String(LIMIT_MINUTES), "--viewers", String(VIEWERS)],
        ...["--project", copy],
        ...(events ? ["--events", events] : []),
      ],
      { encoding: "utf8", timeout: LIMIT_MINUTES * 60_000 + SLACK_MS },
    );
    const [, violation] = /^VIOLATION (.*)$/m.exec(stdout) ?? [];
    return {
      name,
      breaks,
      caughtBy: status === 1 ? violation : undefined,
      seconds: Math.round((performance.now() - from) / 1000),
    };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const names = readdirSync(PATCHES)
  .filter((file) => file.endsWith(".patch"))
  .map((file) => basename(file, ".patch"))
  .toSorted();
const results: Result[] = [];
process.stdout.write("| mutant | what it breaks | caught by | s |\n|---|---|---|---|\n");
for (const name of [SOUND, ...names]) {
  if (only.length > 0 && !only.includes(name)) continue;
  const result = judged(name);
  results.push(result);
  const { breaks, caughtBy = "not caught", seconds } = result;
  process.stdout.write(`| ${name} | ${breaks} | ${caughtBy.slice(0, 160)} | ${seconds} |\n`);
}
const wrong = results.filter(({ name, caughtBy }) => (name === SOUND) !== (caughtBy === undefined));
process.stdout.write(`\n${results.length - wrong.length} of ${results.length} as they should be\n`);
process.exit(wrong.length > 0 ? 1 : 0);
