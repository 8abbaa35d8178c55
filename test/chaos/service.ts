/**
 * Runs the service as its operator does: with the `start` script in a project's folder, or with the one
 * executable file in RELAY_TEST_FILE, in a process group of its own, and again after each end. It skips npm,
 * which takes longer than the service to start. It reads and counts the log, and leaves no process behind,
 * even if the driver fails.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { atExit } from "./at-exit.ts";
import type { FaultInjector } from "./fault-injector.ts";

const KEPT_LINES = 200;
/** Different texts of errors that are counted one by one; further ones count as "other". */
const KEPT_ERRORS = 200;
const START_LIMIT_MS = 30_000;

/** By the number in a log line. */
const LEVELS: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};
const ERROR_LEVEL = 50;
/** Errors that no trouble of the upstream, the store or a client explains. */
const BUG = /by a fault of the service|^(a request failed|a reader failed|messages were not counted)/;

/**
 * Linux gives outgoing connections ports from 32768 on: a service that is down must not lose its own to one.
 */
const PORTS = { first: 20_000, count: 12_000 };
/** Two drivers begin at different ones, and none is given out twice. */
let nextPort = 16 * process.pid;
/** What the system says of a process that is no more. */
const GONE = new Set(["ESRCH", "ENOENT"]);

interface ServiceOptions {
  /** A folder with a `package.json` that has a `start` script, and everything that it needs. */
  projectDir: string;
  port: number;
  /** The command of the program to run in place of `serve`. */
  command?: string;
  /** `RELAY_*`; the port is added. */
  settings: Readonly<Record<string, string>>;
  /** Taken into the service from its start on. */
  injector?: FaultInjector;
}

/** How the service ended: its exit code, or the signal that killed it. */
interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class Service implements AsyncDisposable {
  readonly url: string;
  /** How many lines it has logged, by level. */
  readonly linesByLevel = new Map<string, number>();
  /** How often it has logged each error. */
  readonly errors = new Map<string, number>();
  /** How often it has left a room to another instance. */
  roomsLeft = 0;
  /** The newest lines of its output, whatever they are, of all its lives. */
  readonly lastLines: string[] = [];
  /** The end of the present life, or of the last one. Resolves when all its output is read. */
  exited: Promise<Exit> = Promise.resolve({ code: null, signal: null });
  readonly #options: ServiceOptions;
  #child: ChildProcess | undefined;
  /** The newest messages of the present life. */
  #messages: string[] = [];
  #waiting: (() => void)[] = [];

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.url = `http://127.0.0.1:${options.port}`;
  }

  /** Undefined where it is not running. */
  get pid(): number | undefined {
    const child = this.#child;
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }

  /**
   * Begins a life, with settings for this one alone. Resolves once it listens, to the milliseconds that this
   * took; rejects where it ends before.
   */
  async start(extra: Readonly<Record<string, string>> = {}): Promise<number> {
    assert.ok(!this.#child, "the service is running");
    const began = performance.now();
    this.#spawn(extra);
    const limit = setTimeout(() => this.#killGroup(), START_LIMIT_MS);
    await this.logged("listening on ").finally(() => clearTimeout(limit));
    return performance.now() - began;
  }

  /**
   * The first log message of the present life that begins so, past or to come. Rejects where it ends before.
   */
  async logged(beginning: string): Promise<string> {
    for (;;) {
      const found = this.#messages.find((message) => message.startsWith(beginning));
      if (found !== undefined) return found;
      const last = this.lastLines.slice(-20).join("\n");
      if (!this.#child) throw new Error(`the service ended before it logged "${beginning}":\n${last}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Returns whether the service was running. */
  signal(name: NodeJS.Signals): boolean {
    const { pid } = this;
    return pid !== undefined && unlessGone(() => process.kill(pid, name)) === true;
  }

  /** A bug that the service outlives, as it logged it. */
  get bug(): string | undefined {
    return this.errors.keys().find((text) => BUG.test(text));
  }

  /** Resident memory; undefined while it is not running. */
  rssBytes(): number | undefined {
    const status = unlessGone(() => readFileSync(`/proc/${this.pid}/status`, "utf8")) ?? "";
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  }

  /** Open descriptors; undefined while it is not running. */
  openFiles(): number | undefined {
    return unlessGone(() => readdirSync(`/proc/${this.pid}/fd`).length);
  }

  /** Kills whatever of it still runs. Resolves when it is gone. */
  async close(): Promise<void> {
    this.#killGroup();
    await this.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #spawn(extra: Readonly<Record<string, string>>): void {
    const { projectDir, port, settings, injector, command = "serve" } = this.#options;
    const { PATH, HOME } = process.env;
    const manifest = readFileSync(join(projectDir, "package.json"), "utf8");
    const { scripts }: { scripts: { start: string } } = JSON.parse(manifest);
    // A fault is injected into the modules of a checkout.
    const file = injector ? undefined : process.env.RELAY_TEST_FILE;
    const script =
      file === undefined ? scripts.start.replace(/serve$/, command) : `exec "${file}" ${command}`;
    const child = spawn("sh", ["-c", script], {
      cwd: projectDir,
      env: {
        PATH: `${join(projectDir, "node_modules/.bin")}:${PATH}`,
        HOME,
        ...settings,
        ...extra,
        RELAY_PORT: String(port),
        ...injector?.environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const cancelExit = atExit(() => this.#killGroup());
    this.#child = child;
    this.#messages = [];
    this.exited = once(child, "close").then(([code, signal]) => {
      cancelExit();
      this.#child = undefined;
      this.#wake();
      return { code, signal };
    });
    this.#read(child.stdout, (line) => this.#takeLog(line));
    this.#read(child.stderr, () => {});
  }

  #read(output: Readable, take: (line: string) => void): void {
    createInterface({ input: output }).on("line", (line) => {
      this.lastLines.push(line);
      if (this.lastLines.length > KEPT_LINES) this.lastLines.shift();
      take(line);
    });
  }

  #takeLog(line: string): void {
    const { level, msg, why, err } = parseLine(line);
    if (level === undefined) return; // not of the log
    count(this.linesByLevel, LEVELS[level] ?? String(level));
    if (level >= ERROR_LEVEL) {
      const text = [msg, why ?? err?.message].filter(Boolean).join(": ");
      count(this.errors, this.errors.has(text) || this.errors.size < KEPT_ERRORS ? text : "other");
    }
    if (msg?.startsWith("another instance reads this room now")) this.roomsLeft += 1;
    this.#messages.push(msg ?? "");
    if (this.#messages.length > KEPT_LINES) this.#messages.shift();
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #killGroup(): void {
    const group = this.#child?.pid;
    if (group !== undefined) unlessGone(() => process.kill(-group, "SIGKILL"));
  }
}

/** The fields of a log line that are read. */
interface LogLine {
  level?: number;
  msg?: string;
  why?: string;
  err?: { message?: string };
}

/** Empty for a line that is not a log line, or that a kill has cut off. */
function parseLine(line: string): LogLine {
  try {
    return line.startsWith("{") ? (JSON.parse(line) as LogLine) : {};
  } catch {
    return {};
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** A process may end between two looks at it, or not be there at all. */
function unlessGone<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof Error && "code" in error && GONE.has(String(error.code))) return undefined;
    throw error;
  }
}

/** Ports that nobody listens on and that no outgoing connection is given. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tried = 0; ports.length < count; tried++) {
    assert.ok(tried < PORTS.count, "no port is free");
    const port = PORTS.first + (nextPort++ % PORTS.count);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (isFree) ports.push(port);
    server.close();
  }
  return ports;
}
