/**
 * The service as a process of its own, begun exactly as `npm start` does: the package's start script in a shell
 * that gives way to it, so that a signal to the process reaches the service.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { delimiter } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { SettingName } from "../../src/cli/config.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { testEnvironment } from "./relay.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BIN = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));
const LISTENING = "listening on ";

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class RelayProcess implements AsyncDisposable {
  /** Where it listens; a new port each time. */
  url = "";
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #messages: string[] = [];
  #stderr = "";
  #wake = () => {};

  /** Resolves once it listens. */
  static async start(
    upstream: Simulator,
    settings: Partial<Record<SettingName, string>>,
  ): Promise<RelayProcess> {
    const { scripts } = JSON.parse(await readFile(`${ROOT}/package.json`, "utf8"));
    const child = spawn("/bin/sh", ["-c", scripts.start], {
      cwd: ROOT,
      env: { PATH: `${BIN}${delimiter}${process.env.PATH}`, ...testEnvironment(upstream, settings) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const relay = new RelayProcess(child);
    try {
      relay.url = (await relay.logged(LISTENING)).slice(LISTENING.length);
    } catch (error) {
      await relay.kill();
      throw error;
    }
    return relay;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = once(child, "exit").then(([code, signal]) => {
      this.#wake();
      return { code, signal };
    });
    assert.ok(child.stdout && child.stderr);
    child.stderr.on("data", (text) => {
      this.#stderr += text;
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#messages.push(String(JSON.parse(line).msg));
      this.#wake();
    });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The first log message that begins so, past or to come. */
  async logged(beginning: string): Promise<string> {
    for (;;) {
      const found = this.#messages.find((message) => message.startsWith(beginning));
      if (found !== undefined) return found;
      assert.ok(this.isRunning, `the relay ended without logging "${beginning}": ${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  signal(name: NodeJS.Signals): void {
    assert.ok(this.#child.kill(name), "the relay is not there to take a signal");
  }

  /** `kill -9`; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.isRunning) this.#child.kill("SIGKILL");
    await this.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
