/** `edge`: follows another instance. Warns of settings in the environment that only that instance uses. */
import { toEdgeConfig } from "./config.ts";
import { startEdge } from "./edge-service.ts";
import { type Input, variablesIn } from "./flags.ts";
import type { ProcessIo } from "./process-io.ts";
import { startLogged } from "./serve.ts";
import type { Service } from "./service.ts";
import { EDGE_SETTINGS, SETTINGS } from "./setting-table.ts";

/** Rejects like `startEdge`, and with `UsageError` without an origin. */
export async function edge(
  input: Input<typeof EDGE_SETTINGS>,
  io: ProcessIo,
  stopped: AbortSignal,
): Promise<Service> {
  const config = toEdgeConfig(input.values);
  const own = variablesIn(EDGE_SETTINGS, io.env);
  const unused = variablesIn(SETTINGS, io.env).filter((name) => !own.includes(name));
  const warnings = unused.map((name) => `an edge does not use ${name}: set it at the origin`);
  return await startLogged(startEdge, config, input, io, stopped, warnings);
}
