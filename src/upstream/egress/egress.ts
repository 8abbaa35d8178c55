/** A way out to the upstream: one address, with its own pace and its own connections. */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { Gate, type GateSettings } from "./gate.ts";
import { Transport } from "./transport.ts";

export interface Egress {
  /** A label of metrics. */
  name: string;
  gate: Gate;
  transport: Transport;
}

/** The machine's own address, or the proxy that the environment names. */
export function directEgress(settings: GateSettings, clock: Clock, telemetry: Telemetry): Egress {
  const name = "direct";
  return { name, gate: new Gate(name, settings, clock, telemetry), transport: new Transport(clock) };
}
