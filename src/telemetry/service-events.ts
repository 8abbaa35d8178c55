/** The events of the process itself, in log and metrics: its address, its workers, its background tasks. */
import type { Counter } from "prom-client";
import { commit } from "../base/commit.ts";
import { VERSION } from "../base/own-files.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

type Limited = "files" | "connections" | "viewers";

const BUILD = { version: VERSION, commit: commit(), node: process.versions.node };

interface ServiceStart {
  /** Undefined for an edge. */
  store: { place: string; schema: number } | undefined;
  /** The number of processes. */
  workers: number;
  /** By what they limit; Infinity if there is no limit. */
  limits: Readonly<Record<string, number>>;
  /** The settings that differ from their defaults, without secrets. */
  settings: Readonly<Record<string, string>>;
}

export class ServiceEvents {
  readonly #log: Logger;
  readonly #taskFaults: Counter;
  readonly #dropped: Counter;
  #droppedCount = 0;
  #isSystemdDeaf = false;
  #limits: Record<Limited, number> | undefined;

  constructor(log: Logger, { all, first }: MetricMakers) {
    this.#log = log;
    this.#taskFaults = all.counter(
      "relay_task_faults_total",
      "Bugs in background tasks, logged with their stack at growing intervals; the task goes on after a second",
    );
    this.#dropped = all.counter(
      "relay_connections_dropped_total",
      "Connections that were closed at once: there were as many as the limit of open files allows",
    );
    first.gauge(
      "relay_limit",
      "The limits in force: open files of each process, connections and viewers of all; none where the system has none",
      ["of"],
      (gauge) => {
        for (const [of, limit] of Object.entries(this.#limits ?? {}))
          if (Number.isFinite(limit)) gauge.set({ of }, limit);
      },
    );
    first.gauge(
      "relay_build_info",
      "Always 1; labels: version of the service, the commit of its sources, and version of Node.js",
      ["version", "commit", "node"],
      (info) => info.set(BUILD, 1),
    );
  }

  /** The limits in force, for the metrics. */
  limits(limits: Record<Limited, number>): void {
    this.#limits = limits;
  }

  /** A connection was closed at once. The log has the first, the tenth, the hundredth, and so on. */
  connectionDropped(): void {
    this.#dropped.inc();
    this.#droppedCount += 1;
    if (Number.isInteger(Math.log10(this.#droppedCount)))
      this.#log.warn(
        { dropped: this.#droppedCount },
        "connections are closed at once: there are as many as the limit of open files (ulimit -n) allows",
      );
  }

  /** Logged at any level: with port 0 nothing else shows the address. */
  listening(url: string): void {
    this.#log.child({}, { level: "info" }).info({ url }, `listening on ${url}`);
  }

  /** Logged at any level, as `listening` is. */
  showsMetrics(url: string): void {
    this.#log.child({}, { level: "info" }).info({ url }, `metrics on ${url}`);
  }

  /**
   * The start is done: what runs, on which store, with which limits and settings. `isLowered`: whether the
   * machine allows less than was asked for.
   */
  started(start: ServiceStart, isLowered: boolean): void {
    const line = { ...BUILD, ...start };
    if (isLowered)
      this.#log.warn(
        line,
        "started with lower limits than RELAY_MAX_VIEWERS: the limit of open files (ulimit -n) allows no more",
      );
    else this.#log.info(line, "started");
  }

  /** systemd hears nothing of the service. Logged once. */
  systemdDeaf(why: string): void {
    if (!this.#isSystemdDeaf)
      this.#log.warn({ why }, "systemd could not be notified: it may take the service for one that hangs");
    this.#isSystemdDeaf = true;
  }

  /** One of the processes on the port is gone, or could not start (`why`). */
  workerDied(worker: string, why: string, retryMs: number): void {
    this.#log.error({ worker, why, retryMs }, "a worker died: starting it again");
  }

  /** A task in the background met a bug. `failures`: those since its last line in the log; 0: writes none. */
  taskFailed(task: string, error: unknown, failures = 1): void {
    this.#taskFaults.inc();
    if (failures === 0) return;
    this.#log.error(
      { task, failures, err: error },
      "a background task failed by a fault of the service: retrying",
    );
  }
}
