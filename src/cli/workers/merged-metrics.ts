/**
 * The metrics of a service with several processes: the sum over all processes. Metrics that make sense only
 * for one process get a label with its name.
 */
import { AggregatorRegistry, type Registry } from "prom-client";
import type { Metrics } from "./worker-messages.ts";

/** Metrics of Node.js and the system, which make sense only for one process. */
const OF_PROCESS = /^(process|nodejs)_/;
/** The name of the first process. */
const FIRST = "0";
const VIEWERS = "relay_viewers";
/** The streams of a worker at the first process, which counts each as a viewer. */
const STREAMS = "relay_origin_streams";

/**
 * `workers`: the metrics of each worker, by its name; those that only a worker has are left out. `ofFirst`:
 * see `Telemetry`.
 */
export function mergedMetrics(
  first: Metrics,
  workers: ReadonlyMap<string, Metrics>,
  ofFirst: Registry,
): Registry {
  const streams = [...workers.values()].reduce((sum, metrics) => sum + singleValue(metrics, STREAMS), 0);
  const summed = new Set(first.map((metric) => metric.name).filter((name) => !ofFirst.getSingleMetric(name)));
  const others = [...workers].map(([name, metrics]) =>
    named(
      metrics.filter((metric) => summed.has(metric.name)),
      name,
    ),
  );
  return AggregatorRegistry.aggregate([named(withoutStreams(first, streams), FIRST), ...others]);
}

function named(metrics: Metrics, worker: string): Metrics {
  return metrics.map((metric) =>
    OF_PROCESS.test(metric.name)
      ? {
          ...metric,
          values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker } })),
        }
      : metric,
  );
}

function withoutStreams(metrics: Metrics, streams: number): Metrics {
  return metrics.map((metric) =>
    metric.name === VIEWERS
      ? { ...metric, values: metric.values.map((value) => ({ ...value, value: value.value - streams })) }
      : metric,
  );
}

function singleValue(metrics: Metrics, name: string): number {
  return metrics.find((metric) => metric.name === name)?.values[0]?.value ?? 0;
}
