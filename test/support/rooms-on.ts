/** Rooms on a store that the test can reach, over a simulated upstream, without HTTP in front of them. */
import type { SettingName } from "../../src/cli/config.ts";
import { systemClock } from "../../src/clock.ts";
import { Rooms } from "../../src/rooms/rooms.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import type { MemoryStore } from "../../src/store/memory.ts";
import { silentLog } from "../../src/telemetry/log.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { EgressPool } from "../../src/upstream/egress/pool.ts";
import { testConfig } from "./relay.ts";
import { observe } from "./store-subject.ts";

export async function roomsOn(engine: MemoryStore, given: Partial<Record<SettingName, string>> = {}) {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const config = testConfig(upstream, given);
  const clock = systemClock;
  const telemetry = new Telemetry(silentLog);
  const egresses = new EgressPool({ ...config.upstream, clock, telemetry });
  const store = observe(engine, clock, telemetry);
  const rooms = new Rooms({ store, egresses, clock, telemetry, settings: config.rooms });
  stack.defer(() => egresses.close());
  stack.defer(() => rooms.stop());
  const owned = stack.move();
  const dispose = () => owned.disposeAsync();
  return { config, upstream, egresses, telemetry, clock, rooms, store, [Symbol.asyncDispose]: dispose };
}
