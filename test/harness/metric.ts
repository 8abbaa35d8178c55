/** Reads one metric as a scrape shows it. */
import type { Telemetry } from "../../src/telemetry/telemetry.ts";

/** The value of one metric by its name with labels; undefined if it has none yet. */
export async function metricOf({ registry }: Telemetry, name: string): Promise<number | undefined> {
  const [series = ""] = name.split("{");
  const histogram = series.replace(/_(bucket|sum|count)$/, "");
  const metric = [series, histogram].find((each) => registry.getSingleMetric(each));
  if (metric === undefined) return undefined;
  const lines = (await registry.getSingleMetricAsString(metric)).split("\n");
  const line = lines.find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length));
}
