/**
 * The events of the service, except those of the store (`store-events.ts`) and of an edge
 * (`origin-events.ts`). Each has one method, which writes the log line and updates the metrics. No call site
 * knows a metric's name. Ids go into the log, and metrics have few labels. Neither contains a token, a key or
 * a viewer's address.
 */
import type { Registry } from "prom-client";
import type { ChannelState } from "../protocol/channel.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { FULL, type FullCause, type RelayError } from "../protocol/errors.ts";
import type { DroppedActions, ReaderBug } from "./dropped-actions.ts";
import type { Logger } from "./log.ts";
import type { Marker } from "./marks.ts";
import type { EgressSource } from "./metric-makers.ts";
import type { DropReason, LookOutcome, MetricSources } from "./metrics.ts";
import {
  createMetrics,
  KNOWN_DROP_REASONS,
  MOVE_REASONS,
  type MoveReason,
  OTHER_KINDS,
  VIEWER_DROPS,
} from "./metrics.ts";
import { Connections } from "./multiplexed-connections.ts";
import { StoreEvents } from "./store-events.ts";

/** The upstream adds kinds freely; metrics show about this many by name and the rest as "other". */
const MAX_KINDS = 200;

export class Telemetry {
  readonly log: Logger;
  /** Called when a rare branch is taken. */
  mark: Marker = () => {};
  /** The sources of gauges; each part of the service sets its own. */
  readonly sources: MetricSources = { egresses: new Map(), connections: new Connections() };
  readonly #metrics = createMetrics(this.sources);
  readonly registry: Registry = this.#metrics.registry;
  /**
   * The metrics that only instances that read chats have, and those of which only the first process's count.
   */
  readonly ofReading: Registry = this.#metrics.ofReading;
  readonly ofFirst: Registry = this.#metrics.ofFirst;
  readonly store: StoreEvents;
  readonly #kindsKnown = new Set<string>();
  readonly #kindsSeen = new Set<string>();
  readonly #buggyKinds = new Set<string>();
  /** The number of refusals of a full service, by cause. */
  readonly #refused = new Map<FullCause, number>();
  /** Since metrics were last collected: incrementing the counter at each write costs too much. */
  #sentBytes = 0;

  constructor(log: Logger) {
    this.log = log;
    this.store = new StoreEvents(log, this.#metrics);
    this.sources.takeSentBytes = () => {
      const bytes = this.#sentBytes;
      this.#sentBytes = 0;
      return bytes;
    };
  }

  /** Logged at any level: with port 0 nothing else shows the address. */
  listening(url: string): void {
    this.log.child({}, { level: "info" }).info({ url }, `listening on ${url}`);
  }

  /** One of the processes on the port is gone, or could not start (`why`). */
  workerDied(worker: string, why: string, retryMs: number): void {
    this.log.error({ worker, why, retryMs }, "a worker died: starting it again");
  }

  recordingsPruned(retentionDays: number): void {
    this.log.info(
      { retentionDays },
      "recorded messages are deleted after RELAY_RETENTION_DAYS, like all others; 0 keeps everything",
    );
  }

  egressAdded(egress: string, source: EgressSource): void {
    this.sources.egresses.set(egress, source);
    this.#metrics.throttled.inc({ egress }, 0);
    for (const concerns of ["address", "video"]) this.#metrics.walls.inc({ egress, concerns }, 0);
    for (const reason of MOVE_REASONS) this.#metrics.roomsMoved.inc({ egress, reason }, 0);
  }

  callStarted(egress: string, lane: string, lateMs: number): void {
    this.#metrics.callLateness.observe({ egress, lane }, lateMs / 1000);
  }

  /** An upstream call begins; the returned function takes its outcome. */
  upstreamCall(labels: { egress: string; client: string; endpoint: string }): (outcome: string) => void {
    const stop = this.#metrics.upstreamCallSeconds.startTimer(labels);
    return (outcome) => {
      stop();
      this.#metrics.upstreamCalls.inc({ ...labels, outcome });
      if (outcome !== "ok") this.log.debug({ ...labels, outcome }, "upstream call failed");
    };
  }

  /** `what`: the calls that pause. */
  throttled(egress: string, cooldownMs: number, kind: string, what: "all calls" | "page loads"): void {
    this.#metrics.throttled.inc({ egress });
    this.log.warn(
      { egress, cooldownMs: Math.round(cooldownMs), kind },
      `throttled by the upstream: ${what} pause`,
    );
  }

  /** YouTube showed a wall in place of a chat: for all videos of this address, or perhaps for one alone. */
  walled(egress: string, concerns: "address" | "video"): void {
    this.#metrics.walls.inc({ egress, concerns });
  }

  /** The calls of `rooms` rooms fail together. */
  egressDown(egress: string, rooms: number, why: string): void {
    this.log.error(
      { egress, rooms, why },
      "upstream unavailable: rooms whose calls failed wait, viewers stay connected, retrying",
    );
  }

  egressUp(egress: string, afterMs: number): void {
    this.log.info({ egress, afterMs: Math.round(afterMs) }, "upstream available again: all rooms continue");
  }

  /** No egress reaches the upstream, and rooms are left to other instances. */
  upstreamLost(): void {
    this.log.error(
      "no egress reaches YouTube: rooms that other instances want are left to them, trying again",
    );
  }

  /** After `upstreamLost`. */
  upstreamReached(): void {
    this.log.info("YouTube is reached again: rooms are read here as before");
  }

  /** After `upstreamLost`: whether YouTube is reached stays unknown, because page loads are throttled. */
  upstreamUntried(): void {
    this.log.info("no page may be loaded to see whether YouTube is reached: rooms are read here again");
  }

  /** The room moved to another egress. */
  roomMoved(videoId: string, egress: string, to: string, reason: MoveReason): void {
    this.#metrics.roomsMoved.inc({ egress, reason });
    this.log.info({ videoId, egress, to, reason }, "room moved to another egress");
  }

  /**
   * `rooms`: number of rooms that are read; `roomsCarried`: number of such rooms that can be read in time.
   */
  pollsLate(lateMs: number, rooms: number, roomsCarried: number): void {
    this.log.warn(
      { lateMs: Math.round(lateMs), rooms, roomsCarried },
      "polls start late: too many rooms for the spacing of upstream calls",
    );
  }

  /** The kinds of actions that have readers: each is counted by its name, from zero. */
  actionsKnown(kinds: Iterable<string>): void {
    for (const kind of kinds) {
      this.#kindsKnown.add(kind);
      for (const reason of KNOWN_DROP_REASONS) this.#metrics.actionsDropped.inc({ kind, reason }, 0);
    }
  }

  actionsDropped(dropped: ReadonlyMap<string, DroppedActions>): void {
    for (const [kind, { reason, count, sample }] of dropped) {
      if (this.#countDropped(this.#kindsSeen, kind, reason, count) && reason !== "silent") {
        this.log.warn({ kind, reason, sample }, "an upstream action was not relayed");
      }
    }
  }

  /** A bug in a reader: logged with its stack the first time that a kind shows it. */
  readerFailed({ kind, error, sample }: ReaderBug): void {
    if (this.#countDropped(this.#buggyKinds, kind, "bug", 1)) {
      this.log.error(
        { kind, sample, err: error },
        "a reader failed on an upstream action, which was not relayed",
      );
    }
  }

  /** Whether the kind is counted by its name for the first time. */
  #countDropped(seen: Set<string>, kind: string, reason: DropReason, count: number): boolean {
    const isNew = !seen.has(kind);
    const isNamed = !isNew || this.#kindsKnown.has(kind) || seen.size < MAX_KINDS;
    this.#metrics.actionsDropped.inc({ kind: isNamed ? kind : OTHER_KINDS, reason }, count);
    if (isNamed) seen.add(kind);
    return isNew && isNamed;
  }

  roomOpened(
    videoId: string,
    facts: { chatType: string; client: string; endpoint: string; cursor: number },
  ): void {
    this.#metrics.roomsOpened.inc();
    this.log.info({ videoId, ...facts }, "room opened");
  }

  /** A room that could not be opened. `isTrouble`: there may be a chat, and the service has capacity. */
  roomRefused(videoId: string, error: unknown, isTrouble: boolean): void {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const level = isTrouble ? "warn" : "info";
    this.log[level]({ videoId, error: name, why: message }, "room not opened");
  }

  channelLooked(outcome: LookOutcome): void {
    this.#metrics.channelLooks.inc({ outcome });
  }

  /** A channel has another stream to read, or none, or cannot be read (`reason`). */
  channelChanged({ state, ...facts }: ChannelState): void {
    this.log[facts.reason === undefined ? "info" : "warn"](facts, `channel ${state}`);
  }

  /** An edge met a bug while it followed a channel at its origin. */
  channelBroken(channel: string, error: unknown): void {
    this.log.error(
      { channel, err: error },
      "a channel could not be followed by a fault of the service: retrying",
    );
  }

  /** A chat to be recorded, or a channel (`@name`, `UC…`), cannot be read now. */
  recordingWaits(video: { videoId: string } | { channel: string }, error: unknown, retryMs?: number): void {
    const why = error instanceof Error ? error.message : String(error);
    this.log.warn({ ...video, why, retryMs }, "chat cannot be recorded yet: retrying");
  }

  /** A task in the background met a bug. `failures`: those since its last line in the log; 0: writes none. */
  taskFailed(task: string, error: unknown, failures = 1): void {
    this.#metrics.taskFaults.inc();
    if (failures === 0) return;
    this.log.error(
      { task, failures, err: error },
      "a background task failed by a fault of the service: retrying",
    );
  }

  /** A recording met a bug. */
  recordingBroken(video: { videoId: string } | { channel: string }, error: unknown, retryMs?: number): void {
    this.log.error({ ...video, err: error, retryMs }, "recording failed by a fault of the service: retrying");
  }

  recorded(videoId: string): void {
    this.log.info({ videoId }, "recording complete: the chat is over");
  }

  /** A room continues from its checkpoint: after a restart, or because its owner is gone. */
  roomResumed(videoId: string, cursor: number): void {
    this.#metrics.roomsResumed.inc();
    this.log.info({ videoId, cursor }, "room resumed from its checkpoint");
  }

  /** Without its position, the room is bootstrapped again; without its memory, it continues. */
  checkpointUnreadable(videoId: string, part: "position" | "memory"): void {
    this.#metrics.unreadableCheckpoints.inc({ part });
    this.log.warn(
      { videoId, part },
      "checkpoint unreadable: messages may be missing, a gap will mark the place",
    );
  }

  roomReopened(videoId: string, why: string): void {
    this.log.info({ videoId, why }, "room re-bootstrapped");
  }

  roomCaughtUp(videoId: string, silentMs: number): void {
    this.log.info({ videoId, silentMs: Math.round(silentMs) }, "late answer completed from the chat's page");
  }

  /** `sinceMs`: wall time of the last good answer before it, in milliseconds since 1970. */
  gapFound(videoId: string, reason: string, sinceMs: number): void {
    this.#metrics.gaps.inc({ reason });
    const since = new Date(sinceMs).toISOString();
    this.log.warn({ videoId, reason, since }, "messages may be missing: gap message written");
  }

  roomClosed(videoId: string, end: RoomEnd): void {
    if (end.state === "failed") {
      this.#metrics.roomsFailed.inc({ code: end.error.code });
      this.log.error({ videoId, code: end.error.code, why: end.error.message }, "room failed");
    } else this.log.info({ videoId, reason: end.reason }, `room ${end.state}`);
  }

  roomBroken(videoId: string, error: unknown): void {
    this.log.error({ videoId, err: error }, "room broken: its viewers are disconnected and can resume");
  }

  pollFailed(videoId: string, failures: number, why: string): void {
    this.#metrics.failedPolls.inc();
    this.log.warn({ videoId, failures, why }, "poll failed");
  }

  /** A request was answered with an error. Callers' mistakes are counted, but not logged. */
  requestRefused(error: Pick<RelayError, "code"> & Partial<Pick<RelayError, "full">>): void {
    this.#metrics.requestErrors.inc({ code: error.code });
    this.full(error);
  }

  /**
   * A request, or a chat of a connection that has several, was refused; counted if the service is full. The
   * log has the first refusal for each cause, the tenth, the hundredth, and so on.
   */
  full({ full }: Partial<Pick<RelayError, "full">>): void {
    if (full === undefined) return;
    this.#metrics.full.inc({ cause: full });
    const refused = (this.#refused.get(full) ?? 0) + 1;
    this.#refused.set(full, refused);
    if (Number.isInteger(Math.log10(refused)))
      this.log.warn({ cause: full, refused }, `at capacity: ${FULL[full].message}`);
  }

  /** A request failed by our fault; `route` is undefined if none matched. */
  requestFailed(error: unknown, route: string | undefined): void {
    this.log.error({ err: error, route }, "a request failed");
  }

  /** A live answer that may lack older messages. `silentMs`: the interruption before it, if that is why. */
  answerFull(videoId: string, actions: number, silentMs: number | undefined, isNews: boolean): void {
    this.#metrics.fullAnswers.inc();
    if (!isNews) return;
    const cause = silentMs === undefined ? "polling too slowly" : "polling was interrupted";
    this.log.warn({ videoId, actions, silentMs }, `full answer: ${cause}, messages may be missing`);
  }

  /** A batch is durable; `types` are those of its new messages. */
  appended(types: readonly string[]): void {
    this.#metrics.appendMessages.observe(types.length);
    for (const type of types) this.#metrics.messages.inc({ type });
  }

  polled(ms: number): void {
    this.#metrics.pollSeconds.observe(ms / 1000);
  }

  /** A durable batch has been written to every viewer that could take it. */
  published(ms: number): void {
    this.#metrics.publishSeconds.observe(ms / 1000);
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  streamsNotHandedOver(): void {
    this.log.warn(
      { node: process.version },
      "this Node.js does not release its sockets as expected: each viewer costs about twice the CPU and memory",
    );
  }

  proxyNotTrusted(): void {
    this.log.warn(
      "a request has X-Forwarded-For, but RELAY_TRUST_PROXY is 0: behind a proxy, all viewers share one address, and its RELAY_MAX_VIEWERS_PER_ADDRESS",
    );
  }

  /** Another instance reads the room now, or will. */
  roomGivenWay(videoId: string): void {
    this.log.info({ videoId }, "another instance reads this room now; following it");
  }

  viewerDropped(videoId: string, cursor: number, reason: keyof typeof VIEWER_DROPS): void {
    this.#metrics.viewersDropped.inc({ reason });
    this.log.info({ videoId, cursor }, `viewer dropped: ${VIEWER_DROPS[reason]}`);
  }
}
