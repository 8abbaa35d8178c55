/** A transport without a proxy of its own, as that of an only egress. */
import type { Clock } from "../../src/base/clock.ts";
import { HttpConnections } from "../../src/upstream/egress/connections.ts";
import { DIRECT } from "../../src/upstream/egress/spec.ts";
import { Transport } from "../../src/upstream/egress/transport.ts";

export function directTransport(clock: Clock): Transport {
  return new Transport(clock, new HttpConnections(DIRECT), false);
}
