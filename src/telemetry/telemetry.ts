/**
 * All events of the service: each has one method, which writes the log line and updates the metrics. No call
 * site knows a metric's name. Ids go into the log, and metrics have few labels. Neither contains a token, a
 * key or a viewer's address.
 */
import type { Registry } from "prom-client";
import type { ChannelState } from "../protocol/channel.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import type { DroppedActions, ReaderBug } from "./dropped-actions.ts";
import type { Logger } from "./log.ts";
import type { Marker } from "./marks.ts";
import type { DropReason, EgressSource, LookOutcome, MetricSources, StoreOperation } from "./metrics.ts";
import { createMetrics, createSharedMetrics, MOVE_REASONS, type MoveReason, OTHER_KINDS } from "./metrics.ts";
import { Connections } from "./multiplexed-connections.ts";

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
  #shared: ReturnType<typeof createSharedMetrics> | undefined;
  readonly #kindsSeen = new Set<string>();
  readonly #buggyKinds = new Set<string>();
  /** Since metrics were last collected: incrementing the counter at each write costs too much. */
  #sentBytes = 0;

  constructor(log: Logger) {
    this.log = log;
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

  egressAdded(egress: string, source: EgressSource): void {
    this.sources.egresses.set(egress, source);
    this.#metrics.throttled.inc({ egress }, 0);
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
    const isNamed = !isNew || seen.size < MAX_KINDS;
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

  /** A video whose room could not be opened. `isTrouble`: the reason is not about the video. */
  roomRefused(videoId: string, error: unknown, isTrouble: boolean): void {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const level = isTrouble ? "warn" : "info";
    this.log[level]({ videoId, error: name, why: message }, "room not opened: bootstrap failed");
  }

  channelLooked(outcome: LookOutcome): void {
    this.#metrics.channelLooks.inc({ outcome });
  }

  /** A channel has another stream to read, or none, or cannot be read (`reason`). */
  channelChanged({ state, ...facts }: ChannelState): void {
    this.log[facts.reason === undefined ? "info" : "warn"](facts, `channel ${state}`);
  }

  /** A chat to be recorded, or a channel (`@name`, `UC…`), cannot be read now. */
  recordingWaits(video: { videoId: string } | { channel: string }, error: unknown, retryMs?: number): void {
    const why = error instanceof Error ? error.message : String(error);
    this.log.warn({ ...video, why, retryMs }, "chat cannot be recorded yet: retrying");
  }

  recorded(videoId: string): void {
    this.log.info({ videoId }, "recording complete: the chat is over");
  }

  /** A room continues from its checkpoint: after a restart, or because its owner is gone. */
  roomResumed(videoId: string, cursor: number): void {
    this.#shared?.takeovers.inc();
    this.log.info({ videoId, cursor }, "room resumed from its checkpoint");
  }

  checkpointUnreadable(videoId: string): void {
    this.#metrics.unreadableCheckpoints.inc();
    this.log.warn({ videoId }, "checkpoint unreadable: messages may be missing, a gap will mark the place");
  }

  totalsUnreadable(videoId: string): void {
    this.#metrics.unreadableTotals.inc();
    this.log.warn({ videoId }, "totals unreadable: counted again from the oldest stored message");
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
      this.log.error({ videoId, ...end.error }, "room failed");
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
  requestRefused(code: ErrorCode): void {
    this.#metrics.requestErrors.inc({ code });
  }

  /** A request failed by our fault; `route` is undefined if none matched. */
  requestFailed(error: unknown, route: string | undefined): void {
    this.log.error({ err: error, route }, "a request failed");
  }

  /** A live answer held enough actions that others may be missing. `isNews`: whether to log it. */
  answerFull(videoId: string, actions: number, isNews: boolean): void {
    this.#metrics.fullAnswers.inc();
    if (isNews) {
      this.log.warn({ videoId, actions }, "full answer: polling too slowly, messages may be missing");
    }
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

  /**
   * The named store did not exist: expected on a first start, otherwise perhaps a typing error in the name.
   */
  storeMade(path: string): void {
    this.log.info({ path }, "made a new store");
  }

  storeSucceeded(operation: StoreOperation, ms: number): void {
    this.#metrics.storeOperations.inc({ kind: operation });
    if (operation === "append") this.#metrics.appendSeconds.observe(ms / 1000);
  }

  storeFailed(operation: StoreOperation, why: string): void {
    this.#metrics.storeFailures.inc({ kind: operation });
    this.log.debug({ operation, why }, "a store operation failed");
  }

  /** The store fails, or still fails. `reason`: as in `/readyz`; `why` includes advice if there is any. */
  storeOutage(operation: StoreOperation, reason: string, why: string, forMs: number): void {
    this.log.error(
      { operation, reason, why, forMs: Math.round(forMs) },
      "the store failed: polling paused, viewers stay connected, retrying",
    );
  }

  storeRecovered(afterMs: number): void {
    this.log.info({ afterMs: Math.round(afterMs) }, "the store works again");
  }

  /** The start waits for an unreachable store, at most for `limitMs`. */
  storeAwaited(why: string, limitMs: number): void {
    this.log.warn({ why, limitMs }, "the store cannot be reached: the start waits for it");
  }

  /** Several instances share the store. `isNotified`: whether notifications of the others arrive. */
  storeShared(isNotified: () => boolean): void {
    this.#shared ??= createSharedMetrics(this.registry, isNotified);
  }

  /** Whether notifications of other instances arrive. */
  notificationsHeard(isHeard: boolean): void {
    if (isHeard) this.log.info("listening for notifications of other instances");
    else
      this.log.warn(
        "PostgreSQL's notifications do not arrive, probably because of a pooler in transaction mode: set RELAY_STORE_LISTEN_URL to the server itself; until then the database is polled four times a second",
      );
  }

  notificationsLost(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.log.warn({ why }, "LISTEN connection lost: reconnecting");
  }

  /** Another instance reads the room now, or will. */
  roomGivenWay(videoId: string): void {
    this.log.info({ videoId }, "another instance reads this room now; following it");
  }

  storeLost(why: string): void {
    this.log.fatal({ why }, "the store is lost: the service stops");
  }

  /** A round of the retention is done. */
  pruned(entries: number): void {
    if (entries > 0) this.log.info({ entries }, "deleted messages older than the retention");
  }

  pruningPostponed(jumpedMs: number): void {
    this.log.warn(
      { jumpedMs: Math.round(jumpedMs) },
      "the system clock jumped ahead: the retention deletes nothing before its next round",
    );
  }

  /** The database was replaced, or its history changed. */
  lineageAdopted(rooms: number): void {
    this.log.warn(
      { rooms },
      "the database failed over or was replaced: all rooms moved to new cursors, with their messages",
    );
  }

  cursorsMoved(rooms: number): void {
    this.log.warn(
      { rooms },
      "RELAY_RESTORED is on: all rooms moved to new cursors; switch it off before the next start",
    );
  }

  viewerDropped(videoId: string, cursor: number): void {
    this.#metrics.viewersDropped.inc();
    this.log.info({ videoId, cursor }, "viewer dropped: no progress for too long");
  }
}
