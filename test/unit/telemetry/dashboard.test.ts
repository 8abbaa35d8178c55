/**
 * Holds the dashboard to the metrics that there are: it queries none that is not there, and shows them all.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { knownMetrics } from "../../support/known-metrics.ts";

describe("docs/grafana-dashboard.json", () => {
  const file = join(import.meta.dirname, "../../../docs/grafana-dashboard.json");
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as {
    panels: { title: string; type: string; targets?: { expr: string }[] }[];
  };
  const metrics = knownMetrics().map((metric) => {
    // A label that a metric lacks makes a query empty, like a name that it lacks.
    const { name, labelNames = [] } = metric as typeof metric & { labelNames?: string[] };
    return { name, labels: [...labelNames, "le", "instance"] };
  });
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const metricsIn = (query: string) => {
    const names = [...query.matchAll(/\b((?:relay|process|nodejs)_\w+)/g)].map(([, name = ""]) => name);
    return names.map((name) => {
      const own = name.replace(/_(bucket|sum|count)$/, "");
      return metrics.find((metric) => metric.name === name || metric.name === own) ?? name;
    });
  };

  it("queries existing metrics by their labels", () => {
    assert.ok(queries.length > 20);
    for (const query of queries) {
      const [metric, ...others] = metricsIn(query);
      assert.ok(metric, query);
      for (const found of [metric, ...others]) assert.ok(typeof found === "object", `${query}: no ${found}`);
      const by = /by \(([\w, ]+)\)/.exec(query)?.[1]?.split(", ") ?? [];
      for (const label of by) assert.ok(typeof metric === "object" && metric.labels.includes(label), query);
    }
  });

  it("shows every metric of the service, one row per topic, and the documents describe each", () => {
    const docs = join(import.meta.dirname, "../../../docs");
    const page = ["operations.md", "edge.md"].map((name) => readFileSync(join(docs, name), "utf8")).join();
    const shown = new Set(
      queries.flatMap(metricsIn).map((found) => (typeof found === "object" ? found.name : "")),
    );
    for (const { name } of metrics.filter((metric) => metric.name.startsWith("relay_"))) {
      assert.ok(shown.has(name), `${name} is not shown`);
      assert.ok(page.includes(`\`${name}\``), `${name} is not described`);
    }
    assert.deepEqual(
      panels.filter(({ type }) => type === "row").map(({ title }) => title),
      ["Viewers and rooms", "Polling and gate", "Store", "Publishing", "Process", "Edges"],
    );
  });
});
