/** The store of a life of the service, and a judge's view of it. */

import type { StoreHealth } from "../../src/store/health.ts";
import { MemoryStore } from "../../src/store/memory/memory.ts";
import type { StoreEngine } from "../../src/store/observed.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite.ts";
import type { Telemetry } from "../../src/telemetry/telemetry.ts";
import { type Disk, SimulatedThread } from "./disk.ts";
import type { Peek } from "./peek.ts";
import type { MortalClock } from "./scheduler.ts";

interface StorageParts {
  clock: MortalClock;
  telemetry: Telemetry;
  health: StoreHealth;
}

/** Makes the store of a new life. */
export type Storage = (life: StorageParts) => { engine: StoreEngine; peek: Peek };

export function onDisk(disk: Disk): Storage {
  const { tables } = disk;
  return ({ clock }) => {
    const engine = new SqliteStore("simulated.db", clock, new SimulatedThread(disk, clock));
    // There is no file, and to measure one would take real time while virtual time passes.
    engine.sizeBytes = async () => 0;
    engine.freeBytes = async () => Number.POSITIVE_INFINITY;
    const peek: Peek = {
      room: async (videoId) => tables.getRoom(videoId, clock.now()),
      account: async (videoId) => tables.getAccount(videoId, clock.now()),
      after: async (videoId, cursor) => tables.read(videoId, cursor, -1),
    };
    return { engine, peek };
  };
}

export function inMemory(): Storage {
  return ({ clock }) => {
    const engine = new MemoryStore(clock);
    const peek: Peek = {
      room: (videoId) => engine.getRoom(videoId).catch(() => undefined), // a closed store in memory is lost
      account: (videoId) => engine.getAccount(videoId).catch(() => undefined),
      after: (videoId, cursor) => engine.read(videoId, cursor, Number.POSITIVE_INFINITY).catch(() => []),
    };
    return { engine, peek };
  };
}
