/**
 * The configuration of an edge, made from its settings; and its base, which edges, workers and other services
 * have in common.
 */
import { REQUEST_TIMEOUTS } from "../http/request-timeouts.ts";
import type { HttpSettings } from "../http/server.ts";
import { STALL_MS } from "../serving/stall.ts";
import type { LogLevel } from "../telemetry/log.ts";
import type { EDGE_FLAGS } from "./edge-flags.ts";
import { type FlagValues, UsageError } from "./flags.ts";

/** The settings of rooms that workers share with the first process. */
interface WorkerRooms {
  graceMs: number;
  keepaliveMs: number;
  stallMs: number;
  maxRooms: number;
  maxViewers: number;
  isBlanking: boolean;
  /** As that of an edge if absent. */
  tailMessages?: number;
}

export interface PortConfig {
  host: string;
  port: number;
  reusePort: boolean;
  /** The number of processes on the port, this one included. */
  workers: number;
  rooms: WorkerRooms;
  http: HttpSettings;
  logLevel: LogLevel;
}

export interface EdgeConfig extends PortConfig {
  /** The base URL of the instance that it follows. */
  origin: string;
  rooms: WorkerRooms & { noChatMs: number; tailMessages: number };
}

/** Throws `UsageError` without an origin. */
export function toEdgeConfig(v: FlagValues<typeof EDGE_FLAGS>): EdgeConfig {
  if (v.RELAY_ORIGIN === "")
    throw new UsageError(
      "--origin or RELAY_ORIGIN is missing: the base URL of the instance that this edge follows; see --help",
    );
  const isBlanking = v.RELAY_DELETED === "blank";
  return {
    host: v.RELAY_HOST,
    port: v.RELAY_PORT,
    reusePort: v.RELAY_REUSE_PORT,
    workers: v.RELAY_WORKERS,
    origin: v.RELAY_ORIGIN,
    rooms: {
      graceMs: v.RELAY_GRACE_MS,
      noChatMs: 0, // the origin says how long
      keepaliveMs: v.RELAY_KEEPALIVE_MS,
      stallMs: STALL_MS,
      maxRooms: v.RELAY_MAX_ROOMS,
      maxViewers: v.RELAY_MAX_VIEWERS,
      tailMessages: v.RELAY_EDGE_TAIL,
      isBlanking,
    },
    http: {
      adminToken: "",
      keepaliveMs: v.RELAY_KEEPALIVE_MS,
      callerPolling: false,
      probe: false,
      rooms: v.RELAY_ROOMS,
      isBlanking,
      retentionDays: 0,
      compression: v.RELAY_COMPRESSION === "auto",
      frameAncestors: v.RELAY_FRAME_ANCESTORS,
      maxViewersPerAddress: v.RELAY_MAX_VIEWERS_PER_ADDRESS || Number.POSITIVE_INFINITY,
      trustedProxies: v.RELAY_TRUST_PROXY,
      timeouts: REQUEST_TIMEOUTS,
    },
    logLevel: v.RELAY_LOG_LEVEL,
  };
}
