/** The store of a life of the service, and a judge's view of it. */

import type { Clock } from "../../src/base/clock.ts";
import type { ClockWitness } from "../../src/base/clock-witness.ts";
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
  witness: ClockWitness;
}

/** Makes the store of a new life. */
export type Storage = (life: StorageParts) => { engine: StoreEngine; peek: Peek };

/** `aheadMs`: the error of the store's wall clock in the next life, in milliseconds. */
export function onDisk(disk: Disk, aheadMs = () => 0): Storage {
  const { tables } = disk;
  return ({ clock, witness }) => {
    const thread = simulatedThread(disk, clock);
    const engine = new SqliteStore(aheadBy(aheadMs(), clock), thread, witness);
    const peek: Peek = {
      room: async (key) => tables.getRoom(clock.now(), key),
      account: async (key) => tables.getAccount(clock.now(), key),
      after: async (key, cursor) => tables.read(key, cursor, -1),
    };
    return { engine, peek };
  };
}

export function inMemory(): Storage {
  return ({ clock }) => {
    const engine = memoryStore(clock);
    const peek: Peek = {
      room: (key) => engine.getRoom(key).catch(() => undefined), // a closed store in memory is lost
      account: (key) => engine.getAccount(key).catch(() => undefined),
      after: (key, cursor) => engine.read(key, cursor, -1).catch(() => []),
    };
    return { engine, peek };
  };
}

/** The clock with another wall time. */
function aheadBy(ms: number, clock: MortalClock): Clock {
  return {
    now: () => clock.now() + ms,
    monotonic: () => clock.monotonic(),
    uptime: () => clock.uptime(),
    sleep: (sleepMs, signal) => clock.sleep(sleepMs, signal),
    random: () => clock.random(),
  };
}
