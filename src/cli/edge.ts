/** `edge`: follows another instance. */
import { toEdgeConfig } from "./edge-config.ts";
import type { EDGE_FLAGS } from "./edge-flags.ts";
import { startEdge } from "./edge-service.ts";
import type { Input } from "./flags.ts";
import { startLogged } from "./serve.ts";
import type { Service } from "./service.ts";
import type { Surroundings } from "./surroundings.ts";

/** Rejects like `startEdge`, and with `UsageError` without an origin. */
export async function edge(
  input: Input<typeof EDGE_FLAGS>,
  surroundings: Surroundings,
  stopped: AbortSignal,
): Promise<Service> {
  return await startLogged(startEdge, toEdgeConfig(input.values), input, surroundings, stopped);
}
