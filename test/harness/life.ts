/**
 * One life of the service: the real relay from the store upwards, composed as in `cli/`, on a simulated
 * clock, store and network. A kill cuts it off from all three and leaves it as it is.
 */

import { Counts } from "../../src/base/key-counts.ts";
import type { Config } from "../../src/cli/config.ts";
import { RequestTurns } from "../../src/http/connections/request-turns.ts";
import { LogReads } from "../../src/http/log/log-reads.ts";
import { PAGES } from "../../src/http/route-bounds.ts";
import type { OriginAnswer } from "../../src/origin/origin-connections.ts";
import { ChannelWatch } from "../../src/rooms/channels/channel-watch.ts";
import { Channels } from "../../src/rooms/channels/channels.ts";
import { readVideoChannels, type VideoChannels } from "../../src/rooms/channels/video-channels.ts";
import { RoomList } from "../../src/rooms/listing.ts";
import { Recordings } from "../../src/rooms/recordings/recordings.ts";
import { RoomExchange } from "../../src/rooms/room-exchange.ts";
import { Rooms } from "../../src/rooms/rooms.ts";
import { StoreBackedRooms } from "../../src/rooms/store-backed-rooms.ts";
import { History } from "../../src/serving/history/history.ts";
import { type ObservedStore, observed } from "../../src/store/observed.ts";
import { runRetention } from "../../src/store/retention.ts";
import { StoreHealth } from "../../src/store/store-health.ts";
import type { Telemetry } from "../../src/telemetry/telemetry.ts";
import { EgressPool } from "../../src/upstream/egress/pool.ts";
import type { EgressSpec } from "../../src/upstream/egress/spec.ts";
import { probe } from "../../src/upstream/probe.ts";
import { Door } from "./door.ts";
import type { Network } from "./network.ts";
import { historyAnswer, type OriginService } from "./origin-api.ts";
import type { Peek } from "./peek.ts";
import { MortalClock, type Scheduler } from "./scheduler.ts";
import type { Storage } from "./storage.ts";

interface LifeParts {
  config: Config;
  scheduler: Scheduler;
  network: Pick<Network, "connectionsOf">;
  storage: Storage;
  telemetry: Telemetry;
  /** The name of its instance; "" if there is only one. */
  instance?: string;
  /** The error of its wall clock, in milliseconds. */
  aheadMs?: number;
}

export class Life implements OriginService {
  readonly rooms: Rooms;
  readonly list: RoomList;
  readonly channels: Channels<ChannelWatch>;
  readonly videoChannels: VideoChannels;
  readonly peek: Peek;
  readonly egresses: EgressPool;
  readonly clock: MortalClock;
  readonly store: ObservedStore;
  readonly telemetry: Telemetry;
  readonly keepaliveMs: number;
  readonly #drainMs: number;
  readonly #history: History;
  readonly #isBlanking: () => boolean;
  readonly reads: LogReads;
  readonly recorded = new Counts<string>();
  readonly #background = new AbortController();
  #door: Door | undefined;

  /** Rejects if the store does not work: then there is no service until the next attempt. */
  static async begin(parts: LifeParts): Promise<Life> {
    const life = new Life(parts);
    try {
      await life.store.probeWrite(0);
      await life.#begin(parts);
      return life;
    } catch (error) {
      life.kill();
      throw error;
    }
  }

  async #begin({ config, scheduler }: LifeParts): Promise<void> {
    const { rooms, channels, store, clock, telemetry } = this;
    const { access } = config.http;
    if (access.tokenKey) this.#door = await Door.open(this, { settings: access, scheduler });
    const { signal } = this.#background;
    void runRetention(store, config.retentionDays, this.egresses.witness, clock, telemetry, signal);
    if (config.recordings.length === 0) return;
    const parts = {
      rooms,
      channels,
      recorded: this.recorded,
      store,
      egresses: this.egresses,
      clock,
      telemetry,
      settings: config.rooms,
    };
    new Recordings(config.recordings, parts, this.#background.signal).start({ isListRun: false });
  }

  /** Where rights are checked; undefined if no key for tokens is set. */
  get door(): Door | undefined {
    return this.#door;
  }

  constructor({ config, scheduler, network, storage, telemetry, instance = "", aheadMs }: LifeParts) {
    const clock = new MortalClock(scheduler, aheadMs);
    const connectionsOf = ({ name }: EgressSpec) => network.connectionsOf(clock, name, instance);
    this.egresses = new EgressPool({ ...config.upstream, clock, telemetry, connectionsOf });
    const health = new StoreHealth(clock, telemetry);
    const { engine, peek } = storage({ clock, telemetry, health, witness: this.egresses.witness });
    const store = observed(engine, clock, telemetry, health);
    const settings = config.rooms;
    const parts = { store, egresses: this.egresses, recorded: this.recorded, clock, telemetry, settings };
    this.rooms = new Rooms({ sources: new StoreBackedRooms(parts), clock, telemetry, settings });
    new RoomExchange(this.rooms, parts).start();
    this.list = new RoomList(store, this.rooms);
    const { openings, stopped } = this.rooms;
    this.videoChannels = readVideoChannels(store, openings, clock, stopped);
    const watching = { ...parts, openings };
    this.channels = new Channels(
      telemetry,
      settings.maxRooms,
      (channel, watchers, isKnown) => new ChannelWatch(channel, watching, watchers, isKnown),
    );
    this.peek = peek;
    this.clock = clock;
    this.store = store;
    this.telemetry = telemetry;
    this.keepaliveMs = config.rooms.keepaliveMs;
    this.#drainMs = instance === "" ? 0 : config.drainMs;
    this.#history = new History(store, clock);
    this.#isBlanking = () => settings.isBlanking;
    this.reads = new LogReads({
      turns: new RequestTurns(PAGES, "pages"),
      rooms: this.rooms,
      clock,
      telemetry,
      source: { history: this.#history },
      log: config.http.log,
      isBlanking: this.#isBlanking,
    });
  }

  pages(query: string, signal: AbortSignal): Promise<OriginAnswer> {
    const parts = { rooms: this.rooms, history: this.#history, isBlanking: this.#isBlanking };
    return historyAnswer(query, parts, signal);
  }

  /** Probes a video by the best egress. Resolves at the end of the probe, whatever its result. */
  async probe(videoId: string): Promise<void> {
    await this.clock
      .untilDeath(probe(this.egresses.best, videoId, new AbortController().signal))
      .catch(() => {});
  }

  /** Stops it as a signal stops the service. */
  async stop(): Promise<void> {
    this.#background.abort();
    if (this.#drainMs > 0) await this.rooms.drain(this.#drainMs);
    await this.rooms.stop();
    this.channels.close();
    await this.egresses.close();
    await this.clock.sleep(1); // the service closes its listener here
    await this.store.close();
    this.clock.die();
  }

  /** Freezes it silently: nothing continues, and no connection is closed. */
  kill(): void {
    this.clock.die();
  }
}
