/**
 * One life of the service: the real relay from the store upwards, put together as `cli/` does, on a clock, a store and
 * connections of the simulation. A kill leaves it as it is, cut off from all of them.
 */
import type { Config } from "../src/cli/config.ts";
import { Rooms } from "../src/rooms/rooms.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { ObservedStore, type StoreEngine } from "../src/store/observed.ts";
import type { RoomRecord } from "../src/store/port.ts";
import { SqliteStore } from "../src/store/sqlite/sqlite.ts";
import type { StoredMessage } from "../src/store/stored-message.ts";
import type { Logger } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { EgressPool } from "../src/upstream/egress/pool.ts";
import type { EgressSpec } from "../src/upstream/egress/spec.ts";
import { probe } from "../src/upstream/probe.ts";
import { type Disk, SimulatedThread } from "./disk.ts";
import type { Network } from "./network.ts";
import { MortalClock, type Scheduler } from "./scheduler.ts";

interface LifeParts {
  config: Config;
  scheduler: Scheduler;
  network: Network;
  /** Undefined for the memory store. */
  disk: Disk | undefined;
  log: Logger;
}

/** The log as a judge reads it, past the store's thread and its failures. */
export interface Peek {
  room(videoId: string): Promise<RoomRecord | undefined>;
  after(videoId: string, cursor: number): Promise<StoredMessage[]>;
}

export class Life {
  readonly rooms: Rooms;
  readonly peek: Peek;
  readonly #clock: MortalClock;
  readonly #store: ObservedStore;
  readonly #egresses: EgressPool;

  /** Rejects where the store does not work: then there is no service, until the next try. */
  static async begin(parts: LifeParts): Promise<Life> {
    const life = new Life(parts);
    try {
      await life.#store.probeWrite();
      return life;
    } catch (error) {
      life.kill();
      throw error;
    }
  }

  private constructor({ config, scheduler, network, disk, log }: LifeParts) {
    const clock = new MortalClock(scheduler);
    const telemetry = new Telemetry(log);
    const connectionsOf = ({ name }: EgressSpec) => network.connectionsOf(clock, name);
    this.#egresses = new EgressPool({ ...config.upstream, clock, telemetry, connectionsOf });
    const { engine, peek } = disk ? onDisk(disk, clock) : inMemory(clock);
    const store = new ObservedStore(engine, clock, telemetry);
    const parts = { store, egresses: this.#egresses, clock, telemetry };
    this.rooms = new Rooms({ ...parts, settings: config.rooms });
    this.peek = peek;
    this.#clock = clock;
    this.#store = store;
  }

  /** A probe of a video, by the egress that is best. Resolves when it is over, whatever came of it. */
  async probe(videoId: string): Promise<void> {
    await this.#clock
      .untilDeath(probe(this.#egresses.best, videoId, new AbortController().signal))
      .catch(() => {});
  }

  /** As the service stops on a signal. */
  async stop(): Promise<void> {
    await this.rooms.stop();
    await this.#egresses.close();
    await this.#clock.sleep(1); // in the service the listener closes here
    await this.#store.close();
    this.#clock.isDead = true;
  }

  /** Nothing of it goes on, and nothing is said to anybody. */
  kill(): void {
    this.#clock.isDead = true;
  }
}

function onDisk(disk: Disk, clock: MortalClock): { engine: StoreEngine; peek: Peek } {
  const { tables } = disk;
  return {
    engine: new SqliteStore("simulated.db", clock, new SimulatedThread(disk, clock)),
    peek: {
      room: async (videoId) => tables.getRoom(videoId, clock.now()),
      after: async (videoId, cursor) => tables.read(videoId, cursor, -1),
    },
  };
}

function inMemory(clock: MortalClock): { engine: StoreEngine; peek: Peek } {
  const engine = new MemoryStore(clock);
  return {
    engine,
    peek: {
      room: (videoId) => engine.getRoom(videoId).catch(() => undefined), // once it is closed, all of it is lost
      after: (videoId, cursor) => engine.read(videoId, cursor, Number.POSITIVE_INFINITY).catch(() => []),
    },
  };
}
