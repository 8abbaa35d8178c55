/** All metrics that a service or an edge can have. */
import { collectDefaultMetrics, type MetricObject } from "prom-client";
import { silentLog } from "../../src/telemetry/logger.ts";
import { OriginEvents } from "../../src/telemetry/origin-events.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";

export function knownMetrics(): MetricObject[] {
  const [service, edge] = [new Telemetry(silentLog), new Telemetry(silentLog)];
  collectDefaultMetrics({ register: service.registry });
  new OriginEvents(edge);
  const all = [service, edge].flatMap(({ registry }) => registry.getMetricsAsArray());
  return [...new Map(all.map((metric) => [metric.name, metric])).values()];
}
