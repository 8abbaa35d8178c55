/** The store of a life of the service, and a judge's view of it. */

import type { StoreEngine } from "../../src/store/observed.ts";
import { memoryStore } from "../../src/store/sqlite/inline-thread.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite.ts";
import type { StoreHealth } from "../../src/store/store-health.ts";
import type { Telemetry } from "../../src/telemetry/telemetry.ts";
import { type Disk, simulatedThread } from "./disk.ts";
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
    const engine = new SqliteStore(clock, simulatedThread(disk, clock));
    const peek: Peek = {
      room: async (videoId) => tables.getRoom(clock.now(), videoId),
      account: async (videoId) => tables.getAccount(clock.now(), videoId),
      after: async (videoId, cursor) => tables.read(videoId, cursor, -1),
    };
    return { engine, peek };
  };
}

export function inMemory(): Storage {
  return ({ clock }) => {
    const engine = memoryStore(clock);
    const peek: Peek = {
      room: (videoId) => engine.getRoom(videoId).catch(() => undefined), // a closed store in memory is lost
      account: (videoId) => engine.getAccount(videoId).catch(() => undefined),
      after: (videoId, cursor) => engine.read(videoId, cursor, -1).catch(() => []),
    };
    return { engine, peek };
  };
}
