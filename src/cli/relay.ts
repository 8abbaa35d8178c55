/** The relay without its HTTP: what reads the upstream and serves rooms, put together on a store and the ways out. */
import type { Clock } from "../clock.ts";
import { Rooms } from "../rooms/rooms.ts";
import type { ObservedStore } from "../store/observed.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Egress } from "../upstream/egress/egress.ts";
import { Routes } from "../upstream/egress/pool.ts";
import type { Config } from "./config.ts";

interface RelayParts {
  config: Config;
  store: ObservedStore;
  egresses: readonly Egress[];
  clock: Clock;
  telemetry: Telemetry;
}

export function assembleRelay({ config, store, egresses, clock, telemetry }: RelayParts) {
  const { upstream: hosts, clients, deadlines, reading, rooms: settings } = config;
  const routes = new Routes({ egresses, hosts, clients, deadlines, reading, clock, telemetry });
  const rooms = new Rooms({ store, routes, clock, telemetry, settings });
  return { routes, rooms };
}
