/**
 * The events of an edge, in log and metrics: its connections to the origin. Their metrics take the place of
 * those that only instances have that read chats.
 */
import type { Counter } from "prom-client";
import type { Telemetry } from "./telemetry.ts";

interface OriginSource {
  /** Whether the origin counts as alive. */
  isGood(): boolean;
  openStreams(): number;
}

export class OriginEvents {
  readonly #telemetry: Telemetry;
  readonly #breaks: Counter;
  #source: OriginSource = { isGood: () => false, openStreams: () => 0 };
  /** Undefined before the first answer. */
  #isAway: boolean | undefined;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
    const { registry, ofReading, first } = telemetry.makers;
    for (const { name } of ofReading.getMetricsAsArray()) registry.removeSingleMetric(name);
    first.gauge("relay_origin_up", "Whether the origin has answered in the last ten seconds", [], (up) =>
      up.set(this.#source.isGood() ? 1 : 0),
    );
    first.gauge(
      "relay_origin_streams",
      "Streams that are open at the origin, each a viewer there",
      [],
      (open) => open.set(this.#source.openStreams()),
    );
    this.#breaks = first.counter(
      "relay_origin_stream_breaks_total",
      "Streams of the origin that broke and were resumed",
    );
  }

  watch(source: OriginSource): void {
    this.#source = source;
  }

  originAnswered(): void {
    if (this.#isAway !== false) this.#telemetry.log.info("the origin answers");
    this.#isAway = false;
  }

  /** `why`: a line that says what happened. */
  originAway(why: string): void {
    if (!this.#isAway)
      this.#telemetry.log.warn({ why }, "the origin does not answer: viewers stay connected, retrying");
    this.#isAway = true;
  }

  roomFollowed(videoId: string, facts: { chatType: string; cursor: number }): void {
    this.#telemetry.log.info({ videoId, ...facts }, "room followed at the origin");
  }

  streamBroke(videoId: string, why: string): void {
    this.#breaks.inc();
    this.#telemetry.log.info({ videoId, why }, "the origin's stream broke: resuming it");
  }

  /** The origin does not honour this edge's cursor, or refuses the room. */
  roomLost(videoId: string, why: string): void {
    this.#telemetry.log.warn({ videoId, why }, "room lost at the origin: its viewers come back");
  }
}
