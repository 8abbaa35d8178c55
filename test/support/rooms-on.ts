/** Rooms on a store that the test can reach, over a simulated upstream, without HTTP in front of them. */
import type { SettingName } from "../../src/cli/config.ts";
import { systemClock } from "../../src/clock.ts";
import { Rooms } from "../../src/rooms/rooms.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import type { MemoryStore } from "../../src/store/memory.ts";
import { silentLog } from "../../src/telemetry/log.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { UpstreamCalls } from "../../src/upstream/calls.ts";
import { directEgress } from "../../src/upstream/egress/egress.ts";
import { Flights } from "../../src/upstream/flights.ts";
import { LiveChat } from "../../src/upstream/live-chat.ts";
import { testConfig } from "./relay.ts";
import { observe } from "./store-subject.ts";

export async function roomsOn(engine: MemoryStore, given: Partial<Record<SettingName, string>> = {}) {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const config = testConfig(upstream, given);
  const clock = systemClock;
  const telemetry = new Telemetry(silentLog);
  const { upstream: hosts, clients, deadlines, rooms: settings } = config;
  const egress = directEgress(config.gate, clock, telemetry);
  const flights = new Flights(clock);
  const calls = new UpstreamCalls({ hosts, clients, deadlines, flights, egress, telemetry });
  stack.defer(() => calls.close());
  const liveChat = new LiveChat(calls, config.reading, clock, telemetry);
  const rooms = new Rooms({ store: observe(engine, clock, telemetry), liveChat, clock, telemetry, settings });
  stack.defer(() => rooms.stop());
  const owned = stack.move();
  const dispose = () => owned.disposeAsync();
  return { config, upstream, liveChat, telemetry, clock, rooms, [Symbol.asyncDispose]: dispose };
}
