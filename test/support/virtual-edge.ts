/** An edge of a virtual relay, or of another edge, on a line that a test can cut and silence. */

import { Random } from "../../simulator/random.ts";
import { toEdgeConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { EDGE_SETTINGS } from "../../src/cli/setting-table.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { EdgeLife } from "../harness/edge-life.ts";
import type { OriginService } from "../harness/origin-api.ts";
import { OriginLine } from "../harness/origin-line.ts";
import type { MortalClock } from "../harness/scheduler.ts";
import type { VirtualRelay } from "../harness/virtual-relay.ts";

export interface VirtualEdge {
  life: EdgeLife;
  line: OriginLine;
  /** Whenever a stream was opened or closed: how many are open. */
  streams: readonly number[];
}

export async function virtualEdge(
  relay: VirtualRelay,
  settings: Partial<Record<keyof typeof EDGE_SETTINGS, string>> = {},
  host: () => OriginService & { clock: MortalClock } = () => relay.service,
): Promise<VirtualEdge> {
  const given = { RELAY_ORIGIN: "http://origin", ...settings };
  const config = toEdgeConfig(readFlags(EDGE_SETTINGS, [], given).values);
  const streams: number[] = [];
  const count = (by: number) => () => void streams.push((streams.at(-1) ?? 0) + by);
  const { clock: scheduler } = relay;
  const line = new OriginLine({
    scheduler,
    random: new Random(2 ** 32 * relay.clock.random(), "line"),
    host,
    streamOpened: count(1),
    streamClosed: count(-1),
  });
  const telemetry = new Telemetry(silentLog);
  const life = await relay.when(EdgeLife.begin({ config, scheduler, line, telemetry }));
  return { life, line, streams };
}
