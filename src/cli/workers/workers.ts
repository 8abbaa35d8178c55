/**
 * The workers of a service: processes that share its port. This one, the first, reads the chats or
 * follows the origin; the workers are edges of it, on a private address. One that dies is started again,
 * and all of them end with the first.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { extname } from "node:path";
import type { FastifyInstance } from "fastify";
import { ENGINE_OPTIONS } from "#engine-options";
import { after, type Clock } from "../../base/clock.ts";
import { Deadline, unlessAborted } from "../../base/deadline.ts";
import { IS_ONE_FILE } from "../../base/own-files.ts";
import { backoffMs } from "../../base/retry.ts";
import { SubjectCounts } from "../../http/access/viewer-places.ts";
import { createServer, type Served } from "../../http/server.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { EdgeConfig, PortConfig } from "../config.ts";
import { countsOf, mergedMetrics, sumOfCounts } from "./merged-metrics.ts";
import { WORKER_COMMAND } from "./worker-command.ts";
import { workerConfig } from "./worker-config.ts";
import type { FromWorker, Metrics, ToWorker, WorkerReport } from "./worker-messages.ts";

/** What a worker runs: `.ts` in the sources, `.js` in the bundle. The one file runs itself. */
const WORKER = IS_ONE_FILE ? WORKER_COMMAND : new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
/** Until the worker is loaded, Node.js would open its debugger at a SIGUSR1. One file has these already. */
const OPTIONS = [...process.execArgv, "--disable-sigusr1", ...ENGINE_OPTIONS];
/** The waits before a worker that has died is started again; they grow until one of them listens. */
const RESTARTS = { firstMs: 250, maxMs: 30_000 };
/**
 * Time limits of a report, and of a stop: as long as the rooms of the first process may take for theirs.
 */
const REPORT_LIMIT_MS = 1000;
const STOP_LIMIT_MS = 4000;

interface Running {
  process: ChildProcess;
  isListening: boolean;
  /** As last reported. */
  counts: Metrics;
  /** What gives its viewers' places of their subjects back, by the worker's ids. */
  places: Map<number, () => void>;
}

export class Workers {
  /** Counts the viewers of tokens' subjects in all processes. */
  readonly subjects = new SubjectCounts();
  readonly #served: Served;
  readonly #telemetry: Telemetry;
  readonly #clock: Clock;
  readonly #running = new Map<string, Running>();
  readonly #reports = new Map<number, (report: WorkerReport) => void>();
  readonly #stopped = new AbortController();
  #lastId = 0;
  /** The sums of the workers that have died. */
  #countsBefore: Metrics = [];
  readonly #names: readonly string[];
  #private: FastifyInstance | undefined;

  /** `count`: the number of workers, without the first process. */
  constructor(served: Served, count: number) {
    this.#names = Array.from({ length: count }, (_, index) => String(index + 1));
    this.#served = served;
    this.#telemetry = served.telemetry;
    this.#clock = served.clock;
  }

  /**
   * Starts the workers, which listen a moment later. `config` names the port that was found;
   * `maxConnections`: how many they may have to this process.
   */
  async start(config: PortConfig, maxConnections: number): Promise<void> {
    const { http } = config;
    // Other programs of the machine reach the private address, too.
    const workerToken = randomBytes(32).toString("base64url");
    this.#private = await createServer(this.#served, {
      ...http,
      access: { ...http.access, workerToken },
      group: this,
      isForWorkers: true,
      maxConnections,
      trustedProxies: http.trustedProxies + 1,
    });
    const origin = await this.#private.listen({ host: "127.0.0.1", port: 0 });
    const given = workerConfig(config, { origin, originToken: workerToken });
    for (const name of this.#names) this.#run(name, given);
  }

  async unreadiness(): Promise<string[]> {
    const reports = await this.#reportsOf();
    return this.#names.flatMap((name) => {
      const reasons = reports.get(name)?.reasons ?? ["it does not answer"];
      return reasons.map((reason) => `worker ${name}: ${reason}`);
    });
  }

  async metrics(): Promise<string> {
    const reports = await this.#reportsOf();
    const others = new Map([...reports].map(([name, { metrics }]) => [name, metrics]));
    const { registry, ofFirst } = this.#telemetry.makers;
    const first = await registry.getMetricsAsJSON();
    const counts = [this.#countsBefore, ...this.#running.values().map(({ counts }) => counts)];
    return await mergedMetrics(first, others, counts, ofFirst).metrics();
  }

  /** Ends all workers, each with its streams. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    using limit = new Deadline(this.#clock, STOP_LIMIT_MS);
    await Promise.all(
      [...this.#running.values()].map(async ({ process }) => {
        if (process.exitCode !== null || process.signalCode !== null) return;
        const exited = once(process, "exit");
        this.#send(process, { kind: "stop" });
        await unlessAborted(exited, limit.signal).catch(() => process.kill("SIGKILL"));
      }),
    );
  }

  async close(): Promise<void> {
    await this.#private?.close();
  }

  /** `failures`: how many starts have failed just before. */
  #run(name: string, config: EdgeConfig, failures = 0): void {
    const execArgv = IS_ONE_FILE ? [] : OPTIONS;
    const process = fork(WORKER, { serialization: "advanced", execArgv });
    const running: Running = { process, isListening: false, counts: [], places: new Map() };
    this.#running.set(name, running);
    let refusal: string | undefined;
    const ended = (why: string) => {
      const before = running.isListening ? 0 : failures;
      const waitMs = backoffMs(RESTARTS, before);
      running.isListening = false;
      this.#countsBefore = sumOfCounts(this.#countsBefore, running.counts);
      running.counts = [];
      for (const giveBack of running.places.values()) giveBack();
      running.places.clear();
      if (this.#stopped.signal.aborted) return;
      this.#telemetry.service.workerDied(name, why, waitMs);
      after(this.#clock, waitMs, this.#stopped.signal, () => this.#run(name, config, before + 1));
    };
    process.on("message", (message: FromWorker) => {
      if (message.kind === "listening") running.isListening = true;
      else if (message.kind === "refused") refusal = message.why;
      else if (message.kind === "take") this.#take(running, message);
      else if (message.kind === "giveBack") {
        running.places.get(message.id)?.();
        running.places.delete(message.id);
      } else {
        running.counts = countsOf(message.report.metrics);
        this.#reports.get(message.id)?.(message.report);
      }
    });
    process.on("error", (error) => {
      // A process that the system does not start has no exit. Other errors: a message came after the exit.
      if (process.pid === undefined) ended(error.message);
    });
    process.on("exit", (code, signal) => ended(refusal ?? signal ?? `exit code ${code}`));
    this.#send(process, { kind: "start", name, config });
  }

  #take({ process, places }: Running, { id, subject, most }: Extract<FromWorker, { kind: "take" }>): void {
    const hasEnded = process.exitCode !== null || process.signalCode !== null;
    const giveBack = hasEnded ? undefined : this.subjects.take(subject, most);
    if (giveBack) places.set(id, giveBack);
    this.#send(process, { kind: "taken", id, isTaken: giveBack !== undefined });
  }

  /** The reports of all workers that answer in time. */
  async #reportsOf(): Promise<Map<string, WorkerReport>> {
    const asked = [...this.#running].map(async ([name, { process, isListening }]) => {
      const report = isListening ? await this.#ask(process) : undefined;
      return report && ([name, report] as const);
    });
    return new Map((await Promise.all(asked)).filter((answer) => answer !== undefined));
  }

  async #ask(process: ChildProcess): Promise<WorkerReport | undefined> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<WorkerReport>();
    this.#reports.set(id, resolve);
    using limit = new Deadline(this.#clock, REPORT_LIMIT_MS);
    try {
      this.#send(process, { kind: "ask", id });
      return await unlessAborted(promise, limit.signal);
    } catch {
      return undefined; // it does not answer
    } finally {
      this.#reports.delete(id);
    }
  }

  #send(process: ChildProcess, message: ToWorker): void {
    if (process.connected) process.send(message, () => {}); // it may have ended, which its exit event reports
  }
}
