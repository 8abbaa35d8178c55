/** The events of the process itself, in log and metrics: its address, its workers, its background tasks. */
import type { Counter } from "prom-client";
import { VERSION } from "../base/own-files.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

export class ServiceEvents {
  readonly #log: Logger;
  readonly #taskFaults: Counter;

  constructor(log: Logger, { all, first }: MetricMakers) {
    this.#log = log;
    this.#taskFaults = all.counter(
      "relay_task_faults_total",
      "Bugs in background tasks, logged with their stack at growing intervals; the task goes on after a second",
    );
    first.gauge(
      "relay_build_info",
      "Always 1; labels: version of the service and of Node.js",
      ["version", "node"],
      (info) => info.set({ version: VERSION, node: process.versions.node }, 1),
    );
  }

  /** Logged at any level: with port 0 nothing else shows the address. */
  listening(url: string): void {
    this.#log.child({}, { level: "info" }).info({ url }, `listening on ${url}`);
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
