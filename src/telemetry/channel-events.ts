/** The events of watched channels, in log and metrics. */
import type { Counter } from "prom-client";
import type { ChannelState } from "../protocol/channel.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/** What a look at a channel found. */
const LOOK_OUTCOMES = ["live", "upcoming", "nothing", "absent", "throttled", "unreadable"] as const;

export type LookOutcome = (typeof LOOK_OUTCOMES)[number];

export class ChannelEvents {
  readonly #log: Logger;
  readonly #looks: Counter<"outcome">;
  #countWatched = () => 0;

  constructor(log: Logger, { reading, first }: MetricMakers) {
    this.#log = log;
    this.#looks = reading.counterBy(
      "relay_channel_looks_total",
      "Looks at channels, by what they found; each loads one to four pages",
      "outcome",
      LOOK_OUTCOMES,
    );
    first.gauge("relay_channels", "Channels watched for viewers or recordings", [], (channels) =>
      channels.set(this.#countWatched()),
    );
  }

  /** `countWatched`: the number of channels that are watched for a viewer or a recording. */
  watch(countWatched: () => number): void {
    this.#countWatched = countWatched;
  }

  looked(outcome: LookOutcome): void {
    this.#looks.inc({ outcome });
  }

  /** A channel has another broadcast to read, or none, or cannot be read (`reason`). */
  changed({ state, ...facts }: ChannelState): void {
    this.#log[facts.reason === undefined ? "info" : "warn"](facts, `channel ${state}`);
  }

  /** An edge met a bug while it followed a channel at its origin. */
  broken(channel: string, error: unknown): void {
    this.#log.error(
      { channel, err: error },
      "a channel could not be followed by a fault of the service: retrying",
    );
  }
}
