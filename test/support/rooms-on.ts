/** Rooms on a store that the test can reach, over a simulated upstream, without HTTP in front of them. */
import type { SettingName } from "../../src/cli/config.ts";
import { assembleRelay } from "../../src/cli/relay.ts";
import { systemClock } from "../../src/clock.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import type { MemoryStore } from "../../src/store/memory.ts";
import { silentLog } from "../../src/telemetry/log.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { openEgresses } from "../../src/upstream/egress/egress.ts";
import { testConfig } from "./relay.ts";
import { observe } from "./store-subject.ts";

export async function roomsOn(engine: MemoryStore, given: Partial<Record<SettingName, string>> = {}) {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const config = testConfig(upstream, given);
  const clock = systemClock;
  const telemetry = new Telemetry(silentLog);
  const egresses = openEgresses({ ways: config.egress, settings: config.gate, clock, telemetry });
  const store = observe(engine, clock, telemetry);
  const { routes, rooms } = assembleRelay({ config, store, egresses, clock, telemetry });
  stack.defer(() => routes.close());
  stack.defer(() => rooms.stop());
  const owned = stack.move();
  const dispose = () => owned.disposeAsync();
  return { config, upstream, routes, telemetry, clock, rooms, store, [Symbol.asyncDispose]: dispose };
}
