/** The settings of a worker: those of an edge, made of the settings of the service. */
import type { EdgeConfig, PortConfig } from "../config.ts";
import { OF_EDGE } from "../setting-table.ts";

/** The number of newest messages of a room that a worker holds in memory. */
const TAIL_MESSAGES = Number(OF_EDGE.RELAY_EDGE_TAIL.default);
/**
 * A worker's rooms close soon after its last viewer: the first process lets them linger. A viewer that
 * comes back at once finds its room.
 */
const GRACE_MS = 5000;

/** `first`: the private address of the first process, and the token that it asks of its workers. */
export function workerConfig(
  { host, port, http, rooms, logLevel }: PortConfig,
  first: Pick<EdgeConfig, "origin" | "originToken">,
): EdgeConfig {
  const { graceMs, keepaliveMs, maxRooms, maxViewers, isBlanking, tailMessages } = rooms;
  const { group: _, ...shared } = http;
  return {
    host,
    port,
    metrics: undefined,
    ...first,
    logLevel,
    workers: 1,
    rooms: {
      keepaliveMs,
      maxRooms,
      maxViewers,
      isBlanking,
      noChatMs: 0,
      graceMs: Math.min(graceMs, GRACE_MS),
      tailMessages: tailMessages ?? TAIL_MESSAGES,
    },
    http: { ...shared, isWorker: true },
  };
}
