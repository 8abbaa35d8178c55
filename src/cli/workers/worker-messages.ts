/** What the first process of a service and its workers say to each other. */
import type { MetricObjectWithValues, MetricValue } from "prom-client";
import type { EdgeConfig } from "../edge-config.ts";

export type Metrics = MetricObjectWithValues<MetricValue<string>>[];

export type ToWorker =
  | { kind: "start"; name: string; config: EdgeConfig }
  | { kind: "ask"; id: number }
  | { kind: "stop" };

/** What a worker answers when it is asked. */
export interface WorkerReport {
  /** The reasons why it should get no new viewers. */
  reasons: string[];
  metrics: Metrics;
}

export type FromWorker = { kind: "listening" } | { kind: "report"; id: number; report: WorkerReport };
