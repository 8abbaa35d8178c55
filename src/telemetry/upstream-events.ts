/** The events of calls to the upstream and of the egresses that make them, in log and metrics. */
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/** What gauges read of an egress whenever metrics are collected. */
interface EgressSource {
  isUp(): boolean;
  queuedCalls(): number;
  cooldownLeftMs(isPage?: boolean): number;
  roomCount(): number;
  roomsCarried(): number;
}

/** Why a room moves to another egress. `down`: its egress is no longer configured. */
const MOVE_REASONS = ["throttled", "unreachable", "down"] as const;

export type MoveReason = (typeof MOVE_REASONS)[number];

/** What a wall in place of a chat or channel concerns: all videos at this address, or perhaps one alone. */
const WALLED = ["address", "video"] as const;

export type Walled = (typeof WALLED)[number];

export class UpstreamEvents {
  readonly #log: Logger;
  readonly #metrics: ReturnType<typeof createMetrics>;
  readonly #egresses = new Map<string, EgressSource>();

  constructor(log: Logger, makers: MetricMakers) {
    this.#log = log;
    this.#metrics = createMetrics(makers, this.#egresses);
  }

  egressAdded(egress: string, source: EgressSource): void {
    this.#egresses.set(egress, source);
    this.#metrics.throttled.inc({ egress }, 0);
    for (const concerns of WALLED) this.#metrics.walls.inc({ egress, concerns }, 0);
    for (const reason of MOVE_REASONS) this.#metrics.moves.inc({ egress, reason }, 0);
  }

  callStarted(egress: string, lane: string, lateMs: number): void {
    this.#metrics.lateness.observe({ egress, lane }, lateMs / 1000);
  }

  /** A call begins; the returned function takes its outcome. */
  called(labels: { egress: string; client: string; endpoint: string }): (outcome: string) => void {
    const stop = this.#metrics.callSeconds.startTimer(labels);
    return (outcome) => {
      stop();
      this.#metrics.calls.inc({ ...labels, outcome });
      if (outcome !== "ok") this.#log.debug({ ...labels, outcome }, "upstream call failed");
    };
  }

  /** `what`: the calls that pause. */
  throttled(egress: string, cooldownMs: number, kind: string, what: "all calls" | "page loads"): void {
    this.#metrics.throttled.inc({ egress });
    this.#log.warn(
      { egress, cooldownMs: Math.round(cooldownMs), kind },
      `throttled by the upstream: ${what} pause`,
    );
  }

  /** This machine has no free file for a connection. */
  shortOfFiles(egress: string): void {
    this.#log.warn(
      { egress },
      "no free file for a call to YouTube: calls wait until there is one; raise the limit of open files (ulimit -n)",
    );
  }

  /** The first call that got no connection from the egress's proxy since its last answer. */
  proxyDead(egress: string, proxy: string, why: string): void {
    this.#log.warn({ egress, proxy, why }, "the proxy gives no connection: check it");
  }

  /** YouTube showed a wall in place of a chat or a channel. */
  walled(egress: string, concerns: Walled): void {
    this.#metrics.walls.inc({ egress, concerns });
  }

  /** The egress counts as down. `rooms`: how many rooms' calls have failed since its last answer. */
  egressDown(egress: string, rooms: number, why: string): void {
    this.#log.error(
      { egress, rooms, why },
      "upstream unavailable: rooms whose calls failed wait, viewers stay connected, retrying",
    );
  }

  egressUp(egress: string, afterMs: number): void {
    this.#log.info({ egress, afterMs: Math.round(afterMs) }, "upstream available again: all rooms continue");
  }

  /** No egress reaches the upstream, and rooms are left to other instances. */
  cutOff(): void {
    this.#log.error(
      "no egress reaches YouTube: rooms that other instances want are left to them, trying again",
    );
  }

  /** After `cutOff`. */
  reached(): void {
    this.#log.info("YouTube is reached again: rooms are read here as before");
  }

  /** After `cutOff`: whether YouTube is reached stays unknown, because page loads are throttled. */
  untried(): void {
    this.#log.info("no page may be loaded to see whether YouTube is reached: rooms are read here again");
  }

  /** The room moved to another egress. */
  roomMoved(videoId: string, egress: string, to: string, reason: MoveReason): void {
    this.#metrics.moves.inc({ egress, reason });
    this.#log.info({ videoId, egress, to, reason }, "room moved to another egress");
  }

  /**
   * `rooms`: number of rooms that are read; `roomsCarried`: number of such rooms that can be read in time.
   */
  pollsLate(lateMs: number, rooms: number, roomsCarried: number): void {
    this.#log.warn(
      { lateMs: Math.round(lateMs), rooms, roomsCarried },
      "polls start late: too many rooms for the spacing of upstream calls",
    );
  }
}

function createMetrics({ reading }: MetricMakers, egresses: ReadonlyMap<string, EgressSource>) {
  const gauge = (name: string, help: string, read: (egress: EgressSource) => number) =>
    reading.gauge(name, help, ["egress"], (gauge) => {
      for (const [egress, source] of egresses) gauge.set({ egress }, read(source));
    });
  gauge("relay_gate_queue", "Upstream calls waiting for their turn", (egress) => egress.queuedCalls());
  gauge("relay_egress_rooms", "Rooms that are read", (egress) => egress.roomCount());
  gauge(
    "relay_egress_rooms_carried",
    "How many rooms like the current ones can be read in time; NaN while there is none",
    (egress) => egress.roomsCarried(),
  );
  gauge(
    "relay_gate_cooldown_seconds",
    "Time left until upstream calls start again after throttling",
    (egress) => egress.cooldownLeftMs() / 1000,
  );
  gauge(
    "relay_gate_page_cooldown_seconds",
    "Time left until pages are loaded again, after throttling of pages or of all calls",
    (egress) => egress.cooldownLeftMs(true) / 1000,
  );
  gauge(
    "relay_egress_up",
    "Whether the upstream answers this egress: 0 during an outage (calls of several rooms fail, or no connection is found), else 1",
    (egress) => (egress.isUp() ? 1 : 0),
  );
  return {
    calls: reading.counter(
      "relay_upstream_calls_total",
      "Upstream calls by egress, client, endpoint or path, and outcome",
      ["egress", "client", "endpoint", "outcome"],
    ),
    callSeconds: reading.histogram(
      "relay_upstream_call_duration_seconds",
      "Time from the start of an upstream call to its complete answer",
      ["egress", "client", "endpoint"],
    ),
    lateness: reading.histogram(
      "relay_gate_lateness_seconds",
      "Delay of a call's start after its due time, cooldowns excluded",
      ["egress", "lane"],
    ),
    throttled: reading.counter("relay_upstream_throttled_total", "Cooldowns begun or extended", ["egress"]),
    walls: reading.counter(
      "relay_walls_total",
      "Walls in place of a chat or a channel, by what they concern: the address or the video",
      ["egress", "concerns"],
    ),
    moves: reading.counter("relay_egress_moves_total", "Rooms that left this egress for another, by reason", [
      "egress",
      "reason",
    ]),
  };
}
