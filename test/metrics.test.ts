/** The series of the metrics: known ones from the start, and few of them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { DroppedActions } from "../src/telemetry/dropped-actions.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";

it("counters start at zero for every known label value, so that an alert on their increase sees the first count", async () => {
  const telemetry = new Telemetry(silentLog);
  telemetry.egressAdded("office", {
    isUp: () => true,
    queuedCalls: () => 0,
    cooldownLeftMs: () => 0,
    roomCount: () => 0,
    roomsCarried: () => 0,
  });
  const open = ["relay_upstream_calls_total"]; // paths, clients and outcomes are the upstream's
  const text = await telemetry.registry.metrics();
  for (const metric of telemetry.registry.getMetricsAsArray()) {
    const { name, type, labelNames = [] } = metric as typeof metric & { type: string; labelNames?: string[] };
    if (type !== "counter" || labelNames.length === 0 || open.includes(name)) continue;
    assert.match(text, new RegExp(`^${name}\\{[^}]+\\} 0$`, "m"));
  }
  for (const series of [
    'relay_gaps_total{reason="unwatched"}',
    'relay_rooms_failed_total{code="UPSTREAM_ERROR"}',
    'relay_request_errors_total{code="INTERNAL"}',
    'relay_messages_total{type="author_deleted"}',
    'relay_store_failures_total{kind="append"}',
    'relay_egress_moves_total{egress="office",reason="down"}',
    'relay_upstream_throttled_total{egress="office"}',
    'relay_walls_total{egress="office",concerns="address"}',
    'relay_dropped_actions_total{kind="other",reason="bug"}',
  ]) {
    assert.ok(text.includes(`\n${series} 0\n`), series);
  }
});

it("metrics stay few, however many kinds the upstream invents", async () => {
  const telemetry = new Telemetry(silentLog);
  for (let i = 0; i < 1000; i++) {
    const dropped: DroppedActions = { reason: "unknown", count: 2, sample: "{}" };
    telemetry.actionsDropped(new Map([[`brandNew${i}Action`, dropped]]));
  }
  telemetry.actionsKnown(["knownAction"]);
  telemetry.readerFailed({ kind: "knownAction", error: new Error("a bug"), sample: "{}" });
  telemetry.actionsDropped(new Map([["knownAction", { reason: "broken", count: 3, sample: "{}" }]]));
  const text = await telemetry.registry.metrics();
  const series = [...text.matchAll(/^relay_dropped_actions_total\{.*\} (\d+)$/gm)];
  assert.ok(series.length <= 200 + 4 + 3, `${series.length} series`);
  assert.equal(
    series.reduce((sum, [, count]) => sum + Number(count), 0),
    2000 + 1 + 3,
  );
  assert.match(text, /^relay_dropped_actions_total\{kind="knownAction",reason="broken"\} 3$/m);
  assert.match(text, /^relay_dropped_actions_total\{kind="other",reason="unknown"\} 1600$/m);
});
