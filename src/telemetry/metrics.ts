/** Every metric of the service, declared once, on a registry of its own. Units are in the names. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const COUNTS = [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** What gauges read whenever metrics are collected. */
export interface MetricSources {
  /** By the name of the egress. */
  readonly gates: Map<string, GateSource>;
  rooms?: RoomsSource;
  store?: StoreSource;
}

export interface GateSource {
  queued(): number;
  cooldownLeftMs(): number;
}

export interface RoomsSource {
  byState(): Record<string, number>;
  viewers(): number;
}

export interface StoreSource {
  sizeBytes(): Promise<number>;
  isAvailable(): boolean;
}

export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    viewers: new Gauge({
      name: "relay_viewers",
      help: "Viewers attached to rooms",
      registers,
      collect() {
        this.set(sources.rooms?.viewers() ?? 0);
      },
    }),
    rooms: new Gauge({
      name: "relay_rooms",
      help: "Rooms by state",
      labelNames: ["state"],
      registers,
      collect() {
        for (const [state, count] of Object.entries(sources.rooms?.byState() ?? {}))
          this.set({ state }, count);
      },
    }),
    messages: new Counter({
      name: "relay_messages_total",
      help: "Messages made durable, by type",
      labelNames: ["type"],
      registers,
    }),
    upstreamCalls: new Counter({
      name: "relay_upstream_calls_total",
      help: "Upstream calls by egress, client, endpoint or path, and outcome",
      labelNames: ["egress", "client", "endpoint", "outcome"],
      registers,
    }),
    upstreamCallSeconds: new Histogram({
      name: "relay_upstream_call_duration_seconds",
      help: "Time from the start of an upstream call to its complete answer",
      labelNames: ["egress", "client", "endpoint"],
      buckets: SECONDS,
      registers,
    }),
    callLateness: new Histogram({
      name: "relay_gate_lateness_seconds",
      help: "How long after its due time a call started, cooldowns aside",
      labelNames: ["egress", "lane"],
      buckets: SECONDS,
      registers,
    }),
    gateQueue: new Gauge({
      name: "relay_gate_queue",
      help: "Upstream calls that wait for their turn",
      labelNames: ["egress"],
      registers,
      collect() {
        for (const [egress, gate] of sources.gates) this.set({ egress }, gate.queued());
      },
    }),
    gateCooldown: new Gauge({
      name: "relay_gate_cooldown_seconds",
      help: "Time left until upstream calls start again after throttling",
      labelNames: ["egress"],
      registers,
      collect() {
        for (const [egress, gate] of sources.gates) this.set({ egress }, gate.cooldownLeftMs() / 1000);
      },
    }),
    throttled: new Counter({
      name: "relay_upstream_throttled_total",
      help: "Cooldowns begun or extended",
      labelNames: ["egress"],
      registers,
    }),
    unreadableCheckpoints: new Counter({
      name: "relay_unreadable_checkpoints_total",
      help: "Stored checkpoints that could not be read, so that their rooms must be bootstrapped anew",
      registers,
    }),
    failedPolls: new Counter({
      name: "relay_failed_polls_total",
      help: "Polls that failed, throttling not counted",
      registers,
    }),
    appendSeconds: new Histogram({
      name: "relay_append_duration_seconds",
      help: "Time for a batch to become durable",
      buckets: SECONDS,
      registers,
    }),
    appendMessages: new Histogram({
      name: "relay_append_messages",
      help: "New messages in a batch",
      buckets: COUNTS,
      registers,
    }),
    publishSeconds: new Histogram({
      name: "relay_publish_delay_seconds",
      help: "Time from a batch being durable to its last write to a viewer's socket",
      buckets: SECONDS,
      registers,
    }),
    sentBytes: new Counter({ name: "relay_sent_bytes_total", help: "Bytes written to viewers", registers }),
    storeBytes: new Gauge({
      name: "relay_store_bytes",
      help: "Size of the store",
      registers,
      async collect() {
        this.set((await sources.store?.sizeBytes()) ?? 0);
      },
    }),
    pollSeconds: new Histogram({
      name: "relay_poll_duration_seconds",
      help: "Time from a poll being due to its batch being durable",
      buckets: SECONDS,
      registers,
    }),
    storeAvailable: new Gauge({
      name: "relay_store_available",
      help: "Whether the store works: 0 from a failed operation to one that shows otherwise, else 1",
      registers,
      collect() {
        this.set(sources.store?.isAvailable() ? 1 : 0);
      },
    }),
    storeOperations: new Counter({
      name: "relay_store_operations_total",
      help: "Store operations that succeeded, by kind; a read is a page of history, whoever waits for it",
      labelNames: ["kind"],
      registers,
    }),
    storeFailures: new Counter({
      name: "relay_store_failures_total",
      help: "Store operations that failed, by kind",
      labelNames: ["kind"],
      registers,
    }),
    viewersDropped: new Counter({
      name: "relay_viewers_dropped_total",
      help: "Viewers disconnected because they made no progress",
      registers,
    }),
    actionsDropped: new Counter({
      name: "relay_dropped_actions_total",
      help: "Upstream actions that became no message, by kind and reason",
      labelNames: ["kind", "reason"],
      registers,
    }),
  };
}
