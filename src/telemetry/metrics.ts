/** Every metric of the service, declared once, on a registry of its own. Units are in the names. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const COUNTS = [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** What gauges read whenever metrics are collected. */
export interface MetricSources {
  /** By the name of the egress. */
  readonly gates: Map<string, { queued(): number; cooldownLeftMs(): number }>;
  rooms?: { byState(): Record<string, number>; viewers(): number };
  store?: { sizeBytes(): Promise<number>; isAvailable(): boolean };
}

export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];

  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });

  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
    buckets = SECONDS,
  ) => new Histogram({ name, help, labelNames, buckets, registers });

  /** `read` sets the gauge whenever metrics are collected. */
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: (gauge: Gauge<Label>) => unknown,
  ) => {
    const collect = async () => void (await read(created));
    const created: Gauge<Label> = new Gauge({ name, help, labelNames, registers, collect });
    return created;
  };

  return {
    registry,
    viewers: gauge("relay_viewers", "Viewers attached to rooms", [], (viewers) =>
      viewers.set(sources.rooms?.viewers() ?? 0),
    ),
    rooms: gauge("relay_rooms", "Rooms by state", ["state"], (rooms) => {
      for (const [state, count] of Object.entries(sources.rooms?.byState() ?? {}))
        rooms.set({ state }, count);
    }),
    messages: counter("relay_messages_total", "Messages made durable, by type", ["type"]),
    upstreamCalls: counter(
      "relay_upstream_calls_total",
      "Upstream calls by egress, client, endpoint or path, and outcome",
      ["egress", "client", "endpoint", "outcome"],
    ),
    upstreamCallSeconds: histogram(
      "relay_upstream_call_duration_seconds",
      "Time from the start of an upstream call to its complete answer",
      ["egress", "client", "endpoint"],
    ),
    callLateness: histogram(
      "relay_gate_lateness_seconds",
      "How long after its due time a call started, cooldowns aside",
      ["egress", "lane"],
    ),
    gateQueue: gauge("relay_gate_queue", "Upstream calls that wait for their turn", ["egress"], (queue) => {
      for (const [egress, gate] of sources.gates) queue.set({ egress }, gate.queued());
    }),
    gateCooldown: gauge(
      "relay_gate_cooldown_seconds",
      "Time left until upstream calls start again after throttling",
      ["egress"],
      (cooldown) => {
        for (const [egress, gate] of sources.gates) cooldown.set({ egress }, gate.cooldownLeftMs() / 1000);
      },
    ),
    throttled: counter("relay_upstream_throttled_total", "Cooldowns begun or extended", ["egress"]),
    unreadableCheckpoints: counter(
      "relay_unreadable_checkpoints_total",
      "Stored checkpoints that could not be read, so that their rooms must be bootstrapped anew",
    ),
    failedPolls: counter("relay_failed_polls_total", "Polls that failed, throttling not counted"),
    appendSeconds: histogram("relay_append_duration_seconds", "Time for a batch to become durable"),
    appendMessages: histogram("relay_append_messages", "New messages in a batch", [], COUNTS),
    publishSeconds: histogram(
      "relay_publish_delay_seconds",
      "Time from a batch being durable to its last write to a viewer's socket",
    ),
    sentBytes: counter("relay_sent_bytes_total", "Bytes written to viewers"),
    storeBytes: gauge("relay_store_bytes", "Size of the store", [], async (bytes) =>
      bytes.set((await sources.store?.sizeBytes()) ?? 0),
    ),
    pollSeconds: histogram(
      "relay_poll_duration_seconds",
      "Time from a poll being due to its batch being durable",
    ),
    storeAvailable: gauge(
      "relay_store_available",
      "Whether the store works: 0 from a failed operation to one that shows otherwise, else 1",
      [],
      (available) => available.set(sources.store?.isAvailable() ? 1 : 0),
    ),
    storeOperations: counter(
      "relay_store_operations_total",
      "Store operations that succeeded, by kind; a read is a page of history, whoever waits for it",
      ["kind"],
    ),
    storeFailures: counter("relay_store_failures_total", "Store operations that failed, by kind", ["kind"]),
    viewersDropped: counter(
      "relay_viewers_dropped_total",
      "Viewers disconnected because they made no progress",
    ),
    actionsDropped: counter(
      "relay_dropped_actions_total",
      "Upstream actions that became no message, by kind and reason",
      ["kind", "reason"],
    ),
  };
}
