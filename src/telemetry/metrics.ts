/**
 * The metrics of the service, each declared once, with those who report it (`all`, `reading`, `first`).
 * `origin-events.ts` declares the three that only an edge has, `store-events.ts` the one that only a shared
 * store has. Units are in the names.
 */

import { Registry } from "prom-client";
import { VERSION } from "../package-root.ts";
import { ERRORS, FULL } from "../protocol/errors.ts";
import { GAP_REASONS, MESSAGE_TYPES } from "../protocol/kinds.ts";
import { RECORDING_STATES, type RecordingState } from "../protocol/recording.ts";
import { type EgressSource, makersOn } from "./metric-makers.ts";
import type { Connections } from "./multiplexed-connections.ts";

const ERROR_CODES = Object.keys(ERRORS);
const COUNTS = [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** The operations of every store, by their names in the port, metrics and log. */
export const PORT_OPERATIONS = [
  "append",
  "finish",
  "read",
  "cursorAt",
  "messagesById",
  "find",
  "getRoom",
  "listRooms",
  "getAccount",
  "probeWrite",
  "prune",
  "tally",
  "tallyRooms",
  "moveCursors",
] as const;

/** The operations of the list of recordings. */
export const RECORDING_OPERATIONS = [
  "listRecordings",
  "addRecording",
  "removeRecording",
  "runRecordings",
] as const;

/** The operations of rooms' ownership that every store reports. */
export const OWNERSHIP_OPERATIONS = ["take", "watchedForMs", "wantedElsewhere", "oneTooMany"] as const;

const STORE_OPERATIONS = [
  ...PORT_OPERATIONS,
  ...RECORDING_OPERATIONS,
  ...OWNERSHIP_OPERATIONS,
  // of rooms' ownership, reported by the store that instances share
  "giveBack",
  "renew",
  "setViewers",
  // with several instances
  "sweep",
  "orphans",
  "release",
] as const;

export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** Why actions of a known kind became no message; `bug`: one of our readers failed. */
export const KNOWN_DROP_REASONS = ["broken", "silent", "bug"] as const;
const DROP_REASONS = ["unknown", ...KNOWN_DROP_REASONS] as const;

export type DropReason = (typeof DROP_REASONS)[number];

/** Why a viewer is disconnected: the label `reason`, and the log's words. */
export const VIEWER_DROPS = {
  stalled: "no progress for too long",
  broken: "its next messages could not be sent",
} as const;

/** What a look at a channel found. */
const LOOK_OUTCOMES = ["live", "upcoming", "nothing", "absent", "throttled", "unreadable"] as const;

export type LookOutcome = (typeof LOOK_OUTCOMES)[number];

/** The states of recordings that are run: no instance runs an ended one. */
const RUN_STATES = RECORDING_STATES.filter((state) => state !== "ended");

/** The label of all kinds that have no series of their own. */
export const OTHER_KINDS = "other";

/** Why a room moves to another egress. `down`: its egress is no longer configured. */
export const MOVE_REASONS = ["throttled", "unreachable", "down"] as const;

export type MoveReason = (typeof MOVE_REASONS)[number];

/** What the log says of the egress that the room has left. */
export const MOVE_WORDS: Readonly<Record<MoveReason, string>> = {
  throttled: "its own is throttled",
  unreachable: "its own cannot be reached",
  down: "its own is not in RELAY_EGRESS",
};

/** The sources that gauges read whenever metrics are collected. */
export interface MetricSources {
  /** By the name of the egress. */
  readonly egresses: Map<string, EgressSource>;
  rooms?: {
    byState(): Record<string, number>;
    viewers(): number;
    /** `filter`: see the gauge. */
    byForm(): Iterable<{ form: string; filter: "none" | "shared" | "alone"; viewers: number }>;
  };
  readonly connections: Connections;
  /** The number of channels that are watched for a viewer or a recording. */
  channels?: () => number;
  /** The states of the recordings that this instance has begun. */
  recordings?: () => Iterable<RecordingState>;
  /** The bytes sent since the last call. */
  takeSentBytes?: () => number;
  store?: {
    sizeBytes(): Promise<number>;
    /** Undefined for a store without a disk of its own. */
    freeBytes(): Promise<number | undefined>;
    /** Probes the store if it was unavailable. */
    isAvailable(): Promise<boolean>;
  };
}

export function createMetrics(sources: MetricSources) {
  const registry = new Registry();
  const ofReading = new Registry();
  const ofFirst = new Registry();
  const all = makersOn([registry], sources.egresses);
  const reading = makersOn([registry, ofReading], sources.egresses);
  const first = makersOn([registry, ofFirst], sources.egresses);

  const actionsDropped = reading.counter(
    "relay_dropped_actions_total",
    "Upstream actions that became no message, by kind and reason",
    ["kind", "reason"],
  );
  for (const reason of DROP_REASONS) actionsDropped.labels(OTHER_KINDS, reason).inc(0);

  return {
    registry,
    /** Only instances that read chats and store messages have these, so an edge does not. */
    ofReading,
    /** Only the first process's values count if there are several: its rooms include the workers'. */
    ofFirst,
    viewers: all.gauge("relay_viewers", "Viewers attached to rooms", [], (viewers) =>
      viewers.set(sources.rooms?.viewers() ?? 0),
    ),
    viewersByForm: all.gauge(
      "relay_viewers_by_form",
      "Viewers by form and filter: none, shared by viewers, or alone because the room has too many others",
      ["form", "filter"],
      (gauge) => {
        gauge.reset();
        for (const { viewers, ...labels } of sources.rooms?.byForm() ?? []) gauge.inc(labels, viewers);
      },
    ),
    connections: all.gauge(
      "relay_multiplexed_connections",
      "Connections that carry several chats, by stream: merged or channel",
      ["stream"],
      (gauge) => {
        for (const [stream, count] of sources.connections.byStream()) gauge.set({ stream }, count);
      },
    ),
    rooms: first.gauge("relay_rooms", "Rooms by state", ["state"], (rooms) => {
      for (const [state, count] of Object.entries(sources.rooms?.byState() ?? {}))
        rooms.set({ state }, count);
    }),
    channels: first.gauge("relay_channels", "Channels watched for viewers or recordings", [], (channels) =>
      channels.set(sources.channels?.() ?? 0),
    ),
    channelLooks: reading.counterBy(
      "relay_channel_looks_total",
      "Looks at channels, by what they found; each loads one to four pages",
      "outcome",
      LOOK_OUTCOMES,
    ),
    recordings: reading.gauge(
      "relay_recordings",
      "Recordings that this instance runs, by state; failed: an error keeps it from recording",
      ["state"],
      (gauge) => {
        const states = [...(sources.recordings?.() ?? [])];
        for (const state of RUN_STATES)
          gauge.set({ state }, states.filter((other) => other === state).length);
      },
    ),
    roomsOpened: reading.counter("relay_rooms_opened_total", "Rooms that a bootstrap opened"),
    roomsResumed: reading.counter(
      "relay_rooms_resumed_total",
      "Rooms continued from their checkpoint, after a restart or in place of another instance",
    ),
    roomsFailed: reading.counterBy(
      "relay_rooms_failed_total",
      "Rooms that stopped with an error frame, by its code",
      "code",
      ERROR_CODES,
    ),
    requestErrors: all.counterBy(
      "relay_request_errors_total",
      "Requests that were refused or failed, by code",
      "code",
      ERROR_CODES,
    ),
    full: all.counterBy(
      "relay_capacity_refusals_total",
      "Requests, and chats of connections with several, that were refused with CAPACITY, by cause",
      "cause",
      Object.keys(FULL),
    ),
    taskFaults: all.counter(
      "relay_task_faults_total",
      "Bugs in background tasks, logged with their stack at growing intervals; the task goes on after a second",
    ),
    buildInfo: first.gauge(
      "relay_build_info",
      "Always 1; labels: version of the service and of Node.js",
      ["version", "node"],
      (info) => info.set({ version: VERSION, node: process.versions.node }, 1),
    ),
    messages: reading.counterBy(
      "relay_messages_total",
      "Messages made durable, by type",
      "type",
      MESSAGE_TYPES,
    ),
    upstreamCalls: reading.counter(
      "relay_upstream_calls_total",
      "Upstream calls by egress, client, endpoint or path, and outcome",
      ["egress", "client", "endpoint", "outcome"],
    ),
    upstreamCallSeconds: reading.histogram(
      "relay_upstream_call_duration_seconds",
      "Time from the start of an upstream call to its complete answer",
      ["egress", "client", "endpoint"],
    ),
    callLateness: reading.histogram(
      "relay_gate_lateness_seconds",
      "Delay of a call's start after its due time, cooldowns excluded",
      ["egress", "lane"],
    ),
    gateQueue: reading.egressGauge("relay_gate_queue", "Upstream calls waiting for their turn", (egress) =>
      egress.queuedCalls(),
    ),
    egressRooms: reading.egressGauge("relay_egress_rooms", "Rooms that are read", (egress) =>
      egress.roomCount(),
    ),
    egressRoomsCarried: reading.egressGauge(
      "relay_egress_rooms_carried",
      "How many rooms like the current ones can be read in time; NaN while there is none",
      (egress) => egress.roomsCarried(),
    ),
    gateCooldown: reading.egressGauge(
      "relay_gate_cooldown_seconds",
      "Time left until upstream calls start again after throttling",
      (egress) => egress.cooldownLeftMs() / 1000,
    ),
    egressUp: reading.egressGauge(
      "relay_egress_up",
      "Whether the upstream answers this egress: 0 during an outage (calls of several rooms fail, or no connection is found), else 1",
      (egress) => (egress.isUp() ? 1 : 0),
    ),
    gatePageCooldown: reading.egressGauge(
      "relay_gate_page_cooldown_seconds",
      "Time left until pages are loaded again, after throttling of pages or of all calls",
      (egress) => egress.cooldownLeftMs(true) / 1000,
    ),
    roomsMoved: reading.counter(
      "relay_egress_moves_total",
      "Rooms that left this egress for another, by reason",
      ["egress", "reason"],
    ),
    throttled: reading.counter("relay_upstream_throttled_total", "Cooldowns begun or extended", ["egress"]),
    walls: reading.counter(
      "relay_walls_total",
      "Walls in place of a chat or a channel, by what they concern: the address or the video",
      ["egress", "concerns"],
    ),
    unreadableCheckpoints: reading.counterBy(
      "relay_unreadable_checkpoints_total",
      "Stored checkpoints that could not be read, by part: without its position a room is bootstrapped again, without its memory it continues after a gap",
      "part",
      ["position", "memory"],
    ),
    unreadableTotals: reading.counter(
      "relay_unreadable_totals_total",
      "Stored totals of a room that could not be read; they are counted again from the oldest stored message",
    ),
    unreadableRows: reading.counterBy(
      "relay_unreadable_rows_total",
      "Stored rows that could not be read, by part: viewers get a gap in place of a message, a room without its end counts as failed",
      "part",
      ["message", "end"],
    ),
    failedPolls: reading.counter("relay_failed_polls_total", "Polls that failed, throttling not counted"),
    fullAnswers: reading.counter(
      "relay_full_answers_total",
      "Full answers of live chats: polling is too slow, and messages may be missing",
    ),
    gaps: reading.counterBy(
      "relay_gaps_total",
      "Messages of type gap: places where messages may be missing",
      "reason",
      GAP_REASONS,
    ),
    appendSeconds: reading.histogram("relay_append_duration_seconds", "Time for a batch to become durable"),
    appendMessages: reading.histogram("relay_append_messages", "New messages in a batch", [], COUNTS),
    publishSeconds: all.histogram(
      "relay_publish_delay_seconds",
      "Time from a durable batch to its last write to a viewer's socket",
    ),
    sentBytes: all.counter("relay_sent_bytes_total", "Bytes written to viewers", [], function () {
      this.inc(sources.takeSentBytes?.() ?? 0);
    }),
    storeBytes: reading.gauge("relay_store_bytes", "Size of the store", [], async (bytes) =>
      bytes.set((await sources.store?.sizeBytes()) ?? 0),
    ),
    storeFreeBytes: reading.gauge(
      "relay_store_free_bytes",
      "Free space on the store's disk; infinite for a store without a disk of its own, NaN while it cannot be read",
      [],
      async (free) => free.set((await sources.store?.freeBytes()) ?? Number.POSITIVE_INFINITY),
    ),
    pollSeconds: reading.histogram(
      "relay_poll_duration_seconds",
      "Time from a poll's due time to its durable batch",
    ),
    storeAvailable: reading.gauge(
      "relay_store_available",
      "Whether the store works: 0 from a failed operation until one shows that it works again, else 1",
      [],
      async (available) => available.set((await sources.store?.isAvailable()) ? 1 : 0),
    ),
    storeOperations: reading.counterBy(
      "relay_store_operations_total",
      "Store operations that succeeded, by kind; a read is one page of history, shared by all who wait for it",
      "kind",
      STORE_OPERATIONS,
    ),
    storeFailures: reading.counterBy(
      "relay_store_failures_total",
      "Store operations that failed, by kind",
      "kind",
      STORE_OPERATIONS,
    ),
    viewersDropped: all.counterBy(
      "relay_viewers_dropped_total",
      "Connections cut because the viewer took nothing (stalled), or because of a bug (broken)",
      "reason",
      Object.keys(VIEWER_DROPS),
    ),
    actionsDropped,
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
