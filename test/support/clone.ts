/**
 * A fresh clone of the last commit, and the commands that the documents print, run there as a user runs them:
 * with the Node.js and the npm of the machine.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./command.ts";

const LIMIT_MS = 240_000;

/** What the documents print and no test here runs, and why. */
const NOT_RUN: [pattern: RegExp, reason: string][] = [
  [/^npm (ci|test|run check)$/, ".ci/run does it, in a fresh clone"],
  [/^npm run (simulate|sweep|neighbours|mutants|chaos|soak|load)\b/, "takes minutes or hours"],
  [/^npm run demo -- --script /, "takes minutes; a test of the demo plays its steps"],
  [/\bdocker /, "needs a Docker daemon"],
  [/^kubectl /, "needs a Kubernetes cluster"],
  [/ --origin https:/, "names a service of the reader's own"],
  [/^(HOST=|apt-get |certbot |nginx )|\bnginx$|https:\/\/\$HOST/, "changes the machine's own nginx"],
  [/^systemctl .*(@|-edge\b)|^journalctl /, "needs a running systemd"],
  [/ > \/etc\/|^chmod 600 \/etc\/|^cp .*-edge\.service /, "writes into the machine's own /etc"],
];

/** Programs that a machine may lack. */
const OPTIONAL = /^(go|promtool|python3) /;

/** Why a command is not run; undefined if it is. */
export function whyNotRun(command: string): string | undefined {
  const [, program] = OPTIONAL.exec(command) ?? [];
  if (program && spawnSync(program, ["--version"]).error) return `${program} is not installed`;
  return NOT_RUN.find(([pattern]) => pattern.test(command))?.[1];
}

/** The blocks of commands of a page, in their order. */
export function blocksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block.trim());
}

const run = promisify(execFile);

/** A clone with what `npm ci` has installed here. */
export async function cloneInto(folder: string): Promise<void> {
  await run("git", ["clone", "-q", ROOT, folder]);
  await equip(folder);
}

/**
 * Gives a clone what `npm ci` has installed here: by links, which take less than a second, or else by copies.
 * `npm ci` would take sixteen seconds of CPU.
 */
export async function equip(folder: string): Promise<void> {
  const [from, to] = [join(ROOT, "node_modules/."), join(folder, "node_modules")];
  await run("cp", ["-al", from, to]).catch(() => run("cp", ["-a", from, to]));
}

/** The environment of a user of this machine who has not installed anything of the project. */
export function userEnvironment(port = 8080): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|RELAY_|NODE_TEST_|NODE$)/.test(name));
  const { PATH = "", ...env } = Object.fromEntries(own);
  const outside = PATH.split(":").filter((path) => !path.includes("node_modules"));
  return { ...env, PATH: outside.join(":"), RELAY_PORT: `${port}`, RELAY_URL: `http://127.0.0.1:${port}` };
}

/** Commands in a shell, in a process group of its own. */
export class Running {
  out = "";
  #error = "";
  readonly #child: ChildProcess;

  constructor(script: string, cwd: string, env: NodeJS.ProcessEnv) {
    const stdio = ["ignore", "pipe", "pipe"] as const;
    this.#child = spawn("sh", ["-e", "-c", script], { cwd, env, stdio: [...stdio], detached: true });
    this.#child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
      this.#child.emit("printed");
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.#error += text;
    });
    this.#child.once("close", () => this.#child.emit("printed"));
  }

  /** Resolves with the first match in its output. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(LIMIT_MS);
    for (let found: RegExpExecArray | null; ; ) {
      found = pattern.exec(this.out);
      if (found) return found;
      assert.ok(!this.#isOver, `it ended after: ${this.out}${this.#error}`);
      await once(this.#child, "printed", { signal });
    }
  }

  /** Resolves once it has ended by itself and well, with its output. */
  async ended(): Promise<string> {
    if (!this.#isOver) await once(this.#child, "close", { signal: AbortSignal.timeout(LIMIT_MS) });
    assert.equal(this.#child.exitCode, 0, `${this.out}${this.#error}`);
    return this.out;
  }

  /** As Ctrl-C does. */
  async stop(): Promise<void> {
    if (this.#isOver) return;
    const closed = once(this.#child, "close");
    process.kill(-(this.#child.pid ?? Number.NaN), "SIGINT");
    await closed;
  }

  get #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
