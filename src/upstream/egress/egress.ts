/** A way out to the upstream: one address, with its own pace and its own connections. */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { Breaker } from "./breaker.ts";
import type { Connections } from "./connections.ts";
import { Gate, type GateSettings } from "./gate.ts";
import { Transport } from "./transport.ts";

export interface Egress {
  /** A label of metrics. */
  name: string;
  gate: Gate;
  breaker: Breaker;
  transport: Transport;
}

/** The machine's own address, or the proxy that the environment names. */
export function directEgress(
  settings: GateSettings,
  clock: Clock,
  telemetry: Telemetry,
  connections?: Connections,
): Egress {
  const name = "direct";
  return {
    name,
    gate: new Gate(name, settings, clock, telemetry),
    breaker: new Breaker(name, clock, telemetry),
    transport: new Transport(clock, connections),
  };
}
