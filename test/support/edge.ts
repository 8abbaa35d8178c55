/** An edge in this process, on real sockets, of an origin or another edge. */

import { type Clock, systemClock } from "../../src/base/clock.ts";
import { toEdgeConfig } from "../../src/cli/config.ts";
import { startEdge } from "../../src/cli/edge-service.ts";
import { readFlags } from "../../src/cli/flags.ts";
import type { Service } from "../../src/cli/service.ts";
import { EDGE_SETTINGS } from "../../src/cli/setting-table.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";

interface TestEdge extends AsyncDisposable {
  url: string;
  telemetry: Telemetry;
  service: Service;
}

type Settings = Partial<Record<keyof typeof EDGE_SETTINGS, string>>;

/** `isWorker`: as a worker of its origin. */
export async function startTestEdge(
  origin: string,
  settings: Settings = {},
  clock: Clock = systemClock,
  isWorker = false,
): Promise<TestEdge> {
  const given = { RELAY_PORT: "0", RELAY_ORIGIN: origin, ...settings };
  const config = toEdgeConfig(readFlags(EDGE_SETTINGS, [], given).values);
  config.http.isWorker = isWorker;
  const telemetry = new Telemetry(silentLog);
  const service = await startEdge(config, { clock, telemetry });
  return { url: service.url, telemetry, service, [Symbol.asyncDispose]: () => service.stop() };
}
