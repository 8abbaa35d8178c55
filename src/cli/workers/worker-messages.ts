/** The messages between the first process of a service and its workers. */
import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { EdgeConfig } from "../config.ts";

export type Metrics = MetricObjectWithValues<MetricValue<string>>[];

export type ToWorker =
  | { kind: "start"; name: string; config: EdgeConfig }
  | { kind: "ask"; id: number }
  | { kind: "taken"; id: number; isTaken: boolean }
  | { kind: "stop" };

/** A worker's answer to a request for a report. */
export interface WorkerReport {
  /** The reasons why the worker should get no new viewers. */
  reasons: string[];
  metrics: Metrics;
}

/**
 * `refused`: it cannot start, and exits; `why` is a line that says what happened. `take`: asks for one of the
 * `most` places of a token's subject, which `giveBack` gives back under the same id.
 */
export type FromWorker =
  | { kind: "listening" }
  | { kind: "refused"; why: string }
  | { kind: "take"; id: number; subject: string; most: number }
  | { kind: "giveBack"; id: number }
  | { kind: "report"; id: number; report: WorkerReport };
