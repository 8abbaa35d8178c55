/**
 * The command line, in this process or in one of its own, through a shell or a terminal: what it prints, and
 * how it ends. One that takes very long is given up.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { Writable } from "node:stream";
import { run } from "../../src/cli/run.ts";
import { PATIENCE_MS } from "./eventually.ts";
import { Changes } from "./viewers.ts";

export const ROOT = join(import.meta.dirname, "../..");
/** As users start it: what another process has compiled is not compiled again. */
const MAIN = join(ROOT, "bin/livechat-relay.js");
/** The one executable file, if the tests of processes are to run it in place of the checkout. */
const FILE = process.env.RELAY_TEST_FILE;

abstract class Printing {
  out = "";
  error = "";
  readonly #changes = new Changes();
  protected abstract isOver: boolean;

  get lines(): string[] {
    return this.out.split("\n").slice(0, -1);
  }

  /** Resolves with the first match in what it prints. */
  async printed(pattern: RegExp): Promise<string> {
    const found = () => pattern.exec(`${this.out}${this.error}`);
    await this.#changes.until(() => found() !== null || this.isOver, `what prints ${pattern}`);
    const [all, part = all] = found() ?? assert.fail(`it ended after: ${this.out}${this.error}`);
    return part;
  }

  protected changed(): void {
    this.#changes.announce();
  }
}

interface RunOptions {
  env?: NodeJS.ProcessEnv;
  /** Whether standard error is a terminal. */
  isTerminal?: boolean;
}

/** The command line in this process. */
export class Run extends Printing {
  /** With the exit code. */
  readonly exited: Promise<number>;
  /** The signals that it would still have taken when it called `exit`. */
  takenAtExit: readonly (string | symbol)[] = [];
  protected isOver = false;
  readonly #signals = new EventEmitter();

  constructor(args: readonly string[], { env = {}, isTerminal = false }: RunOptions = {}) {
    super();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const limit = setTimeout(() => reject(new Error(`not over: ${this.out}${this.error}`)), PATIENCE_MS);
    this.exited = promise.finally(() => {
      clearTimeout(limit);
      this.isOver = true;
      this.changed();
    });
    const signals = this.#signals;
    run(args, {
      env,
      stdout: this.#collector("out"),
      stderr: Object.assign(this.#collector("error"), { isTTY: isTerminal, columns: 80 }),
      on: (name, listener) => signals.on(name, listener),
      off: (name, listener) => signals.off(name, listener),
      exit: (code) => {
        this.takenAtExit = signals.eventNames();
        resolve(code);
      },
    }).then(resolve, reject);
  }

  listens(name: NodeJS.Signals): boolean {
    return this.#signals.listenerCount(name) > 0;
  }

  signal(name: NodeJS.Signals): void {
    assert.ok(this.#signals.emit(name, name), `nothing listens for ${name}`);
  }

  #collector(name: "out" | "error"): Writable {
    return new Writable({
      decodeStrings: false,
      write: (text, _encoding, done) => {
        this[name] += text;
        this.changed();
        done();
      },
    });
  }
}

/** In this process, or with the one executable file, if that is to run. */
export async function outcome(args: readonly string[], options: RunOptions = {}) {
  if (FILE !== undefined && !options.isTerminal)
    return outcomeOfProcess(args, { ...options, cwd: process.cwd() });
  const command = new Run(args, options);
  return { code: await command.exited, out: command.out, error: command.error };
}

interface StartOptions {
  env?: NodeJS.ProcessEnv;
  node?: string;
  main?: string;
  /** The one executable file, in place of `node` with `main`. */
  file?: string;
  /** In a process group of its own. */
  detached?: boolean;
  cwd?: string;
}

/** The command line as a process. */
export class Command extends Printing {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;

  constructor(args: readonly string[], options: StartOptions = {}) {
    super();
    const { env = {}, node, main, file = FILE, detached = false, cwd = ROOT } = options;
    const stdio = ["ignore", "pipe", "pipe"] as const;
    const isFile = file !== undefined && node === undefined && main === undefined;
    const [program, first] = isFile ? [file, []] : [node ?? process.execPath, [main ?? MAIN]];
    this.child = spawn(program, [...first, ...args], {
      ...(isFile && { argv0: "livechat-relay" }),
      cwd,
      stdio: [...stdio],
      env,
      detached,
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
      this.changed();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.error += text;
      this.changed();
    });
    this.exited = once(this.child, "close").finally(() => this.changed());
  }

  protected get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

export async function outcomeOfProcess(args: readonly string[], options: StartOptions = {}) {
  const command = new Command(args, options);
  const [code] = await command.exited;
  return { code, out: command.out, error: command.error };
}

/** A line of shell with the command line as `relay`, its result the exit code of `relay`. */
export function outcomeInShell(line: string, options: StartOptions = {}) {
  const relay = FILE ? `(exec -a livechat-relay '${FILE}' "$@")` : `'${process.execPath}' '${MAIN}' "$@"`;
  const script = `set -o pipefail; relay() { ${relay}; }; ${line}`;
  return outcomeOfProcess([script], {
    ...options,
    env: { PATH: process.env.PATH, ...options.env },
    node: "bash",
    main: "-c",
  });
}

/** The same on a pseudo-terminal of its own, 80 columns wide. */
export function outcomeOnTerminal(args: readonly string[]) {
  const quoted = [...(FILE ? [FILE] : [process.execPath, MAIN]), ...args]
    .map((word) => `'${word}'`)
    .join(" ");
  return outcomeOfProcess(["-c", `stty cols 80; exec ${quoted}`, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm", SHELL: "/bin/sh" },
    node: "script",
    main: "-qe",
  });
}
