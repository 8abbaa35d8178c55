/** A way out to the upstream: one address, with its own pace, health and connections. */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { Breaker } from "./breaker.ts";
import { type Connections, HttpConnections } from "./connections.ts";
import { Gate, type GateSettings } from "./gate.ts";
import type { Way } from "./spec.ts";
import { Transport } from "./transport.ts";

export interface Egress {
  /** A label of metrics. */
  name: string;
  gate: Gate;
  breaker: Breaker;
  transport: Transport;
}

interface EgressParts {
  ways: readonly Way[];
  settings: GateSettings;
  clock: Clock;
  telemetry: Telemetry;
  connectionsOf?: (way: Way) => Connections;
}

/** One for each way. Throws an error that says what the environment's proxy must be. */
export function openEgresses(parts: EgressParts): Egress[] {
  const { ways, settings, clock, telemetry, connectionsOf = (way) => new HttpConnections(way) } = parts;
  return ways.map((way) => {
    const { name } = way;
    const gate = new Gate(name, settings, clock, telemetry);
    const rooms = ways.length > 1 ? () => gate.capacity.roomCount : undefined;
    return {
      name,
      gate,
      breaker: new Breaker(name, clock, telemetry, rooms),
      transport: new Transport(clock, connectionsOf(way)),
    };
  });
}
