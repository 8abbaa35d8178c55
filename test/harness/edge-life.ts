/** One life of an edge: composed as in `cli/`, on a simulated clock and a simulated line to its origin. */
import type { EdgeConfig } from "../../src/cli/config.ts";
import { RequestTurns } from "../../src/http/connections/request-turns.ts";
import { LogReads } from "../../src/http/log/log-reads.ts";
import { PAGES } from "../../src/http/route-bounds.ts";
import { originVideoChannels } from "../../src/origin/edge-video-channels.ts";
import { Origin } from "../../src/origin/origin.ts";
import { OriginChannelWatch } from "../../src/origin/origin-channel-watch.ts";
import type { OriginAnswer, OriginRequest } from "../../src/origin/origin-connections.ts";
import { OriginHealth } from "../../src/origin/origin-health.ts";
import { OriginRooms } from "../../src/origin/origin-rooms.ts";
import { Channels } from "../../src/rooms/channels/channels.ts";
import type { VideoChannels } from "../../src/rooms/channels/video-channels.ts";
import { Rooms } from "../../src/rooms/rooms.ts";
import { refuseUnavailable } from "../../src/serving/store-refusal.ts";
import { OriginEvents } from "../../src/telemetry/origin-events.ts";
import type { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { OriginService } from "./origin-api.ts";
import type { OriginLine } from "./origin-line.ts";
import { MortalClock, type Scheduler } from "./scheduler.ts";

interface EdgeLifeParts {
  config: EdgeConfig;
  scheduler: Scheduler;
  line: OriginLine;
  telemetry: Telemetry;
}

export class EdgeLife implements OriginService {
  readonly rooms: Rooms;
  readonly channels: Channels<OriginChannelWatch>;
  readonly videoChannels: VideoChannels;
  readonly clock: MortalClock;
  readonly telemetry: Telemetry;
  readonly keepaliveMs: number;
  readonly reads: LogReads;
  readonly #origin: Origin;
  readonly #background = new AbortController();

  static async begin(parts: EdgeLifeParts): Promise<EdgeLife> {
    const clock = new MortalClock(parts.scheduler);
    const { keepaliveMs } = parts.config.rooms;
    const connections = parts.line.connections(clock);
    const origin = new Origin(parts.config.origin, connections, clock, keepaliveMs);
    const events = new OriginEvents(parts.telemetry);
    const health = new OriginHealth(origin, clock, events);
    await health.ask();
    return new EdgeLife(parts, { clock, origin, events, health });
  }

  private constructor(
    { config, telemetry }: EdgeLifeParts,
    parts: { clock: MortalClock; origin: Origin; events: OriginEvents; health: OriginHealth },
  ) {
    const { clock, origin, health } = parts;
    const { rooms: settings } = config;
    const isBlanking = () => settings.isBlanking || origin.isBlanking;
    const sources = new OriginRooms({ ...parts, telemetry, settings, isBlanking });
    this.rooms = new Rooms({ sources, clock, telemetry, settings });
    this.channels = new Channels(
      telemetry,
      settings.maxRooms,
      (channel, watchers, isKnown) =>
        new OriginChannelWatch(channel, { origin, clock, telemetry }, watchers, isKnown),
    );
    this.videoChannels = originVideoChannels(origin, clock, this.rooms);
    this.clock = clock;
    this.telemetry = telemetry;
    this.keepaliveMs = settings.keepaliveMs;
    this.#origin = origin;
    this.reads = new LogReads({
      turns: new RequestTurns(PAGES, "pages"),
      rooms: this.rooms,
      clock,
      telemetry,
      source: origin,
      log: config.http.log,
      isBlanking,
    });
    void health.watch(this.#background.signal);
  }

  async pages(query: string, signal: AbortSignal): Promise<OriginAnswer> {
    return await this.passOn({ path: `/v1/messages${query}`, headers: {} }, signal);
  }

  passOn(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    return this.#origin.pass(request, signal).catch(refuseUnavailable);
  }

  /** Stops it as a signal stops an edge. */
  async stop(): Promise<void> {
    this.#background.abort();
    await this.rooms.stop();
    this.channels.close();
    await this.#origin.close();
    await this.clock.sleep(1); // the service closes its listener here
    this.clock.die();
  }

  /** Freezes it silently: nothing continues, and no connection is closed. */
  kill(): void {
    this.clock.die();
  }
}
