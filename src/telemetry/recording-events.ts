/** The events of recordings, in log and metrics. */
import { messageOf } from "../base/error-message.ts";
import { RECORDING_STATES, type RecordingState } from "../protocol/recording.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/** What a recording records: a video's chat, or the broadcasts of a channel (`@name`, `UC…`). */
type Recorded = { videoId: string } | { channel: string };

/** The states of recordings that are run: no instance runs an ended one. */
const RUN_STATES = RECORDING_STATES.filter((state) => state !== "ended");

export class RecordingEvents {
  readonly #log: Logger;
  #states: () => Iterable<RecordingState> = () => [];

  constructor(log: Logger, { reading }: MetricMakers) {
    this.#log = log;
    reading.gauge(
      "relay_recordings",
      "Recordings that this instance runs, by state; failed: an error keeps it from recording",
      ["state"],
      (gauge) => {
        const states = [...this.#states()];
        for (const state of RUN_STATES)
          gauge.set({ state }, states.filter((other) => other === state).length);
      },
    );
  }

  /** `states`: of the recordings that this instance runs. */
  watch(states: () => Iterable<RecordingState>): void {
    this.#states = states;
  }

  /** A chat to be recorded cannot be read now. */
  waits(recorded: Recorded, error: unknown, retryMs?: number): void {
    const why = messageOf(error);
    this.#log.warn({ ...recorded, why, retryMs }, "chat cannot be recorded yet: retrying");
  }

  /** A recording met a bug. */
  broken(recorded: Recorded, error: unknown, retryMs?: number): void {
    this.#log.error(
      { ...recorded, err: error, retryMs },
      "recording failed by a fault of the service: retrying",
    );
  }

  complete(videoId: string): void {
    this.#log.info({ videoId }, "recording complete: the chat is over");
  }

  /** The service records chats, and its retention deletes their messages. */
  pruned(retentionDays: number): void {
    this.#log.info(
      { retentionDays },
      "recorded messages are deleted after RELAY_RETENTION_DAYS, like all others; 0 keeps everything",
    );
  }
}
