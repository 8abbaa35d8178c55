/**
 * The runtimes in which the SDK must work. `npm run runtimes` installs those that neither the project nor the
 * machine has; tests skip a runtime that is not there.
 */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./command.ts";
import { missingBut } from "./needs.ts";

/** How long a script may take on a busy machine, in milliseconds. */
const LIMIT_MS = 300_000;

export interface Runtime {
  name: string;
  /** The program and its arguments before the script; empty if it is not installed. */
  command: readonly string[];
  /** Why its tests are skipped, or false. */
  skip: string | false;
}

/** A program that `npm run runtimes` installs. */
export const inRuntimes = (path: string): string => join(ROOT, "test/runtimes/node_modules", path);

const runtime = (name: string, [program = "", ...args]: readonly string[]): Runtime => {
  const isThere = existsSync(program);
  return {
    name,
    command: isThere ? [program, ...args] : [],
    skip: !isThere && missingBut(name, "npm run runtimes"),
  };
};

/** The first Node.js of this major version: the project's, the machine's, or an installed one. */
function node(major: number): Runtime {
  const paths = [
    process.execPath,
    "/usr/bin/node",
    "/usr/local/bin/node",
    inRuntimes(`node${major}/bin/node`),
  ];
  const isThis = (path: string) =>
    spawnSync(path, ["--version"], { encoding: "utf8" }).stdout?.startsWith(`v${major}.`);
  return runtime(`Node.js ${major}`, paths.filter(isThis).slice(0, 1));
}

export const NODES: readonly Runtime[] = [20, 22, Number.parseInt(process.versions.node, 10)].map(node);
export const RUNTIMES: readonly Runtime[] = [
  ...NODES,
  runtime("Deno", [inRuntimes(".bin/deno"), "run", "--quiet", "--allow-net"]),
  runtime("Bun", [inRuntimes(".bin/bun")]),
];

/** Runs a script in its folder and resolves to what it prints. Rejects if it fails or does not end. */
export async function outputOf({ command }: Runtime, cwd: string, ...args: string[]): Promise<string> {
  const [program = "", ...before] = command;
  const env = { ...process.env, DENO_DIR: join(tmpdir(), "livechat-relay-deno"), DENO_NO_UPDATE_CHECK: "1" };
  const run = promisify(execFile);
  const { stdout } = await run(program, [...before, ...args], { cwd, env, timeout: LIMIT_MS });
  return stdout;
}
