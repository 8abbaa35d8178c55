/**
 * The metrics of a service with several processes: the sum over all processes, but those of `ofFirst` as the
 * first process reports them. Metrics that make sense only for one process get a label with its name.
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
 * `workers`: the metrics of each worker that answers, by its name; those that only a worker has are left out.
 * `counts`: those of all workers that there are or were. `ofFirst`: see `MetricMakers`.
 */
export function mergedMetrics(
  first: Metrics,
  workers: ReadonlyMap<string, Metrics>,
  counts: readonly Metrics[],
  ofFirst: Registry,
): Registry {
  const streams = [...workers.values()].reduce((sum, metrics) => sum + singleValue(metrics, STREAMS), 0);
  const summed = new Set(first.map((metric) => metric.name).filter((name) => !ofFirst.getSingleMetric(name)));
  const isSummed = ({ name }: Metrics[number]) => summed.has(name);
  const others = [...workers].map(([name, metrics]) =>
    named(
      metrics.filter((metric) => isSummed(metric) && !isCount(metric)),
      name,
    ),
  );
  const counted = counts.map((metrics) => metrics.filter(isSummed));
  return AggregatorRegistry.aggregate([named(withoutStreams(first, streams), FIRST), ...others, ...counted]);
}

/** The metrics that only grow. A sum of them that fell would be taken for one that began again. */
export function countsOf(metrics: Metrics): Metrics {
  return metrics.filter(isCount);
}

export function sumOfCounts(...counts: Metrics[]): Metrics {
  return AggregatorRegistry.aggregate(counts).getMetricsAsArray() as unknown as Metrics;
}

function isCount({ name, type }: Metrics[number]): boolean {
  return !OF_PROCESS.test(name) && /^(counter|histogram)$/.test(String(type));
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
