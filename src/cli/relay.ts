/** The relay without its HTTP: what reads the upstream and serves rooms, put together on a store and a way out. */
import type { Clock } from "../clock.ts";
import { Rooms } from "../rooms/rooms.ts";
import type { ObservedStore } from "../store/observed.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { UpstreamCalls } from "../upstream/calls.ts";
import type { Egress } from "../upstream/egress/egress.ts";
import { Flights } from "../upstream/flights.ts";
import { LiveChat } from "../upstream/live-chat.ts";
import type { Config } from "./config.ts";

interface RelayParts {
  config: Config;
  store: ObservedStore;
  egress: Egress;
  clock: Clock;
  telemetry: Telemetry;
}

export function assembleRelay({ config, store, egress, clock, telemetry }: RelayParts) {
  const { upstream: hosts, clients, deadlines, rooms: settings } = config;
  const flights = new Flights(clock);
  const calls = new UpstreamCalls({ hosts, clients, deadlines, flights, egress, telemetry });
  const liveChat = new LiveChat(calls, config.reading, clock, telemetry);
  const { breaker, gate } = egress;
  const rooms = new Rooms({ store, liveChat, breaker, capacity: gate.capacity, clock, telemetry, settings });
  return { calls, liveChat, rooms };
}
