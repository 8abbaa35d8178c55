/**
 * The events of an edge, in log and metrics: its connections to the origin. It declares the three metrics
 * that only an edge has.
 */
import { Counter, Gauge, type Registry } from "prom-client";
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
    const { registry, ofReading, ofFirst } = telemetry;
    for (const { name } of ofReading.getMetricsAsArray()) registry.removeSingleMetric(name);
    this.#breaks = originMetrics([registry, ofFirst], () => this.#source);
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

function originMetrics(registers: Registry[], source: () => OriginSource): Counter {
  new Gauge({
    name: "relay_origin_up",
    help: "Whether the origin has answered in the last ten seconds",
    registers,
    collect() {
      this.set(source().isGood() ? 1 : 0);
    },
  });
  new Gauge({
    name: "relay_origin_streams",
    help: "Streams that are open at the origin, each a viewer there",
    registers,
    collect() {
      this.set(source().openStreams());
    },
  });
  return new Counter({
    name: "relay_origin_stream_breaks_total",
    help: "Streams of the origin that broke and were resumed",
    registers,
  });
}
