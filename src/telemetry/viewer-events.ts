/** The events of viewers and their connections, in log and metrics. */
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/** Why a viewer is disconnected: the label `reason`, and the log's words. */
const VIEWER_DROPS = {
  full: "its connection was full for too long",
  rest: "its stream was over, and it did not take the rest",
  broken: "its next messages could not be sent",
} as const;

export type ViewerDrop = keyof typeof VIEWER_DROPS;

/** What gauges read of the viewers whenever metrics are collected. */
interface ViewerSource {
  count(): number;
  /** `filter`: see the gauge. */
  byForm(): Iterable<{ form: string; filter: "none" | "shared" | "alone"; viewers: number }>;
}

export class ViewerEvents {
  readonly #log: Logger;
  readonly #metrics: ReturnType<typeof createMetrics>;
  /** The open connections that carry several chats. */
  readonly #multiplexed = { merged: 0, channel: 0 };
  /** Since metrics were last collected: incrementing the counter at each write costs too much. */
  #sentBytes = 0;
  #source: ViewerSource = { count: () => 0, byForm: () => [] };

  constructor(log: Logger, makers: MetricMakers) {
    this.#log = log;
    this.#metrics = createMetrics(makers, {
      source: () => this.#source,
      multiplexed: this.#multiplexed,
      takeSentBytes: () => {
        const bytes = this.#sentBytes;
        this.#sentBytes = 0;
        return bytes;
      },
    });
  }

  watch(source: ViewerSource): void {
    this.#source = source;
  }

  /** A connection that carries several chats is open until `gone` aborts. */
  multiplexed(stream: "merged" | "channel", gone: AbortSignal): void {
    this.#multiplexed[stream] += 1;
    gone.addEventListener("abort", () => {
      this.#multiplexed[stream] -= 1;
    });
  }

  /** A durable batch has been written to every viewer that could take it. */
  published(ms: number): void {
    this.#metrics.publishSeconds.observe(ms / 1000);
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** The next messages of a viewer could not be sent. */
  broken(videoId: string, cursor: number): void {
    this.#dropped("broken", { videoId, cursor });
  }

  /** A stream's connection took nothing for too long. `about`: its room, or rooms, and what waits for it. */
  cut(reason: "full" | "rest", about: object): void {
    this.#dropped(reason, about);
  }

  #dropped(reason: ViewerDrop, about: object): void {
    this.#metrics.dropped.inc({ reason });
    this.#log.info(about, `viewer dropped: ${VIEWER_DROPS[reason]}`);
  }

  notHandedOver(): void {
    this.#log.warn(
      { node: process.version },
      "this Node.js does not release its sockets as expected: each viewer costs about twice the CPU and memory",
    );
  }
}

interface Sources {
  source(): ViewerSource;
  multiplexed: Record<string, number>;
  /** The bytes sent since the last call. */
  takeSentBytes(): number;
}

function createMetrics({ all }: MetricMakers, { source, multiplexed, takeSentBytes }: Sources) {
  all.gauge("relay_viewers", "Viewers attached to rooms", [], (viewers) => viewers.set(source().count()));
  all.gauge(
    "relay_viewers_by_form",
    "Viewers by form and filter: none, shared by viewers, or alone because the room has too many others",
    ["form", "filter"],
    (gauge) => {
      gauge.reset();
      for (const { viewers, ...labels } of source().byForm()) gauge.inc(labels, viewers);
    },
  );
  all.gauge(
    "relay_multiplexed_connections",
    "Connections that carry several chats, by stream: merged or channel",
    ["stream"],
    (gauge) => {
      for (const [stream, count] of Object.entries(multiplexed)) gauge.set({ stream }, count);
    },
  );
  all.counter("relay_sent_bytes_total", "Bytes written to viewers", [], function () {
    this.inc(takeSentBytes());
  });
  return {
    publishSeconds: all.histogram(
      "relay_publish_delay_seconds",
      "Time from a durable batch to its last write to a viewer's socket",
    ),
    dropped: all.counterBy(
      "relay_viewers_dropped_total",
      "Connections cut because they were full for too long (full), did not take the rest of a stream that was over (rest), or because of a bug (broken)",
      "reason",
      Object.keys(VIEWER_DROPS),
    ),
  };
}
