/** The command line as a process, killed if it takes very long: its output, its end, and both through a terminal. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
/** As users start it: what another process has compiled is not compiled again. */
const MAIN = join(ROOT, "bin/livechat-relay.js");

interface StartOptions {
  env?: NodeJS.ProcessEnv;
  node?: string;
  main?: string;
  /** In a process group of its own. */
  detached?: boolean;
  cwd?: string;
}

export class Command {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  out = "";
  error = "";
  #wake = () => {};

  constructor(args: readonly string[], options: StartOptions = {}) {
    const { env = {}, node = process.execPath, main = MAIN, detached = false, cwd = ROOT } = options;
    const stdio = ["ignore", "pipe", "pipe"] as const;
    this.child = spawn(node, [main, ...args], {
      cwd,
      stdio: [...stdio],
      env,
      detached,
      timeout: 30_000,
      killSignal: "SIGKILL",
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
      this.#wake();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.error += text;
      this.#wake();
    });
    this.exited = once(this.child, "close").finally(() => this.#wake());
  }

  get lines(): string[] {
    return this.out.split("\n").slice(0, -1);
  }

  /** Resolves with the first match in what it prints. */
  async printed(pattern: RegExp): Promise<string> {
    for (;;) {
      const [all, found = all] = pattern.exec(`${this.out}${this.error}`) ?? [];
      if (found !== undefined) return found;
      assert.equal(this.child.exitCode, null, `it ended after: ${this.out}${this.error}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export async function outcome(args: readonly string[], options: StartOptions = {}) {
  const command = new Command(args, options);
  const [code] = await command.exited;
  return { code, out: command.out, error: command.error };
}

/** A line of shell with the command line as `relay`, its result the exit code of `relay`. */
export function outcomeInShell(line: string, options: StartOptions = {}) {
  const script = `set -o pipefail; relay() { '${process.execPath}' '${MAIN}' "$@"; }; ${line}`;
  return outcome([script], {
    ...options,
    env: { PATH: process.env.PATH, ...options.env },
    node: "bash",
    main: "-c",
  });
}

/** The same on a pseudo-terminal of its own, 80 columns wide. */
export function outcomeOnTerminal(args: readonly string[], { env = {}, cwd = ROOT }: StartOptions = {}) {
  const quoted = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(" ");
  return outcome(["-c", `stty cols 80; exec ${quoted}`, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm", SHELL: "/bin/sh", ...env },
    node: "script",
    main: "-qe",
    cwd,
  });
}
