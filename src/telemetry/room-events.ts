/** The events of rooms and of the chats that they read, in log and metrics. */
import { asError } from "../base/error-message.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { type ChatKey, chatOf } from "../protocol/chat-key.ts";
import { ERRORS } from "../protocol/errors.ts";
import { GAP_REASONS, MESSAGE_TYPES } from "../protocol/kinds.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

const COUNTS = [0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

/** The parts of a checkpoint that may be unreadable. */
const CHECKPOINT_PARTS = ["position", "memory"] as const;

export type CheckpointPart = (typeof CHECKPOINT_PARTS)[number];

/** What gauges read of the rooms whenever metrics are collected. */
interface RoomCounts {
  /** The number of rooms by state. */
  byState(): Record<string, number>;
  /** The number of rooms that read Top chat although all messages are wanted. */
  countInTop(): number;
}

export class RoomEvents {
  readonly #log: Logger;
  readonly #metrics: ReturnType<typeof createMetrics>;
  #source: RoomCounts = { byState: () => ({}), countInTop: () => 0 };

  constructor(log: Logger, makers: MetricMakers) {
    this.#log = log;
    this.#metrics = createMetrics(makers, () => this.#source);
  }

  watch(source: RoomCounts): void {
    this.#source = source;
  }

  opened(
    videoId: string,
    facts: { chatType: string; view: string; client: string; endpoint: string; cursor: number },
  ): void {
    this.#metrics.opened.inc();
    this.#log.info({ videoId, ...facts }, "room opened");
  }

  /** Only Top chat is read from now on, although all messages are wanted. */
  inTop(videoId: string, why: string): void {
    this.#log.warn(
      { videoId, view: "top", why },
      "only Top chat is read: messages that it leaves out are missing",
    );
  }

  /**
   * A room that could not be opened, for another reason than CAPACITY. `isTrouble`: the reason is not that
   * the chat is absent, or a page was a wall.
   */
  refused(videoId: string, error: unknown, isTrouble: boolean): void {
    const { name, message } = asError(error);
    const level = isTrouble ? "warn" : "info";
    this.#log[level]({ videoId, error: name, why: message }, "room not opened");
  }

  /**
   * A room continues from its checkpoint: after a restart, because its owner is gone, or to wait for a chat
   * that may come back.
   */
  resumed(videoId: string, cursor: number): void {
    this.#metrics.resumed.inc();
    this.#log.info({ videoId, cursor }, "room resumed from its checkpoint");
  }

  /** Without its position, the room is bootstrapped again; without its memory, it continues. */
  checkpointUnreadable(key: ChatKey, part: CheckpointPart): void {
    this.#metrics.unreadableCheckpoints.inc({ part });
    this.#log.warn(
      { ...chatOf(key), part },
      "checkpoint unreadable: messages may be missing, a gap will mark the place",
    );
  }

  reopened(videoId: string, why: string): void {
    this.#log.info({ videoId, why }, "room re-bootstrapped");
  }

  /** The chat is off or hidden: the room waits for it. */
  awaits(videoId: string, standing: string, why: string): void {
    this.#log.info({ videoId, standing, why }, "room waits for its chat");
  }

  caughtUp(videoId: string, silentMs: number): void {
    this.#log.info({ videoId, silentMs: Math.round(silentMs) }, "late answer completed from the chat's page");
  }

  /** `sinceMs`: wall time of the last good answer before it, in milliseconds since 1970. */
  gapFound(key: ChatKey, reason: string, sinceMs: number): void {
    this.#metrics.gaps.inc({ reason });
    const since = new Date(sinceMs).toISOString();
    this.#log.warn({ ...chatOf(key), reason, since }, "messages may be missing: gap message written");
  }

  /** A live answer that may lack older messages. `silentMs`: the interruption before it, if that is why. */
  answerFull(videoId: string, actions: number, silentMs: number | undefined, isNews: boolean): void {
    this.#metrics.fullAnswers.inc();
    if (!isNews) return;
    const cause = silentMs === undefined ? "polling too slowly" : "polling was interrupted";
    this.#log.warn({ videoId, actions, silentMs }, `full answer: ${cause}, messages may be missing`);
  }

  polled(ms: number): void {
    this.#metrics.pollSeconds.observe(ms / 1000);
  }

  pollFailed(videoId: string, failures: number, why: string): void {
    this.#metrics.failedPolls.inc();
    this.#log.warn({ videoId, failures, why }, "poll failed");
  }

  /** A batch is durable; `types` are those of its new messages. */
  appended(types: readonly string[]): void {
    this.#metrics.batchSize.observe(types.length);
    for (const type of types) this.#metrics.messages.inc({ type });
  }

  ended(videoId: string, end: RoomEnd): void {
    if (end.state === "failed") {
      this.#metrics.failed.inc({ code: end.error.code });
      this.#log.error({ videoId, code: end.error.code, why: end.error.message }, "room failed");
    } else this.#log.info({ videoId, reason: end.reason }, `room ${end.state}`);
  }

  broken(key: ChatKey, error: unknown): void {
    this.#log.error(
      { ...chatOf(key), err: error },
      "room broken: its viewers are disconnected and can resume",
    );
  }

  /** Another instance reads the room now, or will. */
  givenWay(videoId: string): void {
    this.#log.info({ videoId }, "another instance reads this room now; following it");
  }
}

function createMetrics({ reading, first }: MetricMakers, source: () => RoomCounts) {
  first.gauge("relay_rooms", "Rooms by state", ["state"], (rooms) => {
    for (const [state, count] of Object.entries(source().byState())) rooms.set({ state }, count);
  });
  reading.gauge(
    "relay_rooms_in_top_chat",
    "Rooms that read Top chat only, although RELAY_CHAT_VIEW is all: messages are missing",
    [],
    (rooms) => rooms.set(source().countInTop()),
  );
  return {
    opened: reading.counter("relay_rooms_opened_total", "Rooms that a bootstrap opened"),
    resumed: reading.counter(
      "relay_rooms_resumed_total",
      "Rooms continued from their checkpoint, after a restart or in place of another instance",
    ),
    failed: reading.counterBy(
      "relay_rooms_failed_total",
      "Rooms that stopped with an error frame, by its code",
      "code",
      Object.keys(ERRORS),
    ),
    unreadableCheckpoints: reading.counterBy(
      "relay_unreadable_checkpoints_total",
      "Stored checkpoints that could not be read, by part: without its position a room is bootstrapped again, without its memory it continues after a gap",
      "part",
      CHECKPOINT_PARTS,
    ),
    gaps: reading.counterBy(
      "relay_gaps_total",
      "Messages of type gap: places where messages may be missing",
      "reason",
      GAP_REASONS,
    ),
    fullAnswers: reading.counter(
      "relay_full_answers_total",
      "Full answers of live chats: polling is too slow, and messages may be missing",
    ),
    failedPolls: reading.counter("relay_failed_polls_total", "Polls that failed, throttling not counted"),
    pollSeconds: reading.histogram(
      "relay_poll_duration_seconds",
      "Time from a poll's due time to its durable batch",
    ),
    messages: reading.counterBy(
      "relay_messages_total",
      "Messages made durable, by type",
      "type",
      MESSAGE_TYPES,
    ),
    batchSize: reading.histogram("relay_append_messages", "New messages in a batch", [], COUNTS),
  };
}
