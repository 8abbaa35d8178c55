/** The metrics of a service as one: sums over its processes. Those of each process alone name it. */
import { AggregatorRegistry, type Registry } from "prom-client";
import type { Metrics } from "./worker-messages.ts";

/** Of Node.js and the system: they mean one process. */
const OF_PROCESS = /^(process|nodejs)_/;
/** What the first process says for all: its rooms are theirs, too. */
const OF_FIRST = /^relay_(build_info|channels|origin_|rooms)/;
/** The name of the first process. */
const FIRST = "0";
const VIEWERS = "relay_viewers";
/** The streams of a worker at the first process, which counts each as a viewer. */
const STREAMS = "relay_origin_streams";

/** `workers`: the metrics of each worker, by its name. */
export function mergedMetrics(first: Metrics, workers: ReadonlyMap<string, Metrics>): Registry {
  const streams = [...workers.values()].reduce((sum, metrics) => sum + singleValue(metrics, STREAMS), 0);
  const others = [...workers].map(([name, metrics]) =>
    named(
      metrics.filter((metric) => !OF_FIRST.test(metric.name)),
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
