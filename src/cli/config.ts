/**
 * The configurations that the settings mean: of a port, which every service has; and with it, of an instance
 * that reads chats and of an edge.
 */
import type { RequestTimeouts } from "../http/connections/create-http-server.ts";
import type { HttpSettings } from "../http/server.ts";
import { SUSPECT_AFTER_MS } from "../reading/token-health.ts";
import { DEADLINES } from "../upstream/calls.ts";
import { WINDOW_MS } from "../upstream/egress/chat-load.ts";
import { timeOfDay } from "../upstream/readers/timestamp.ts";
import { type FlagValues, UsageError } from "./flags.ts";
import type { EDGE_SETTINGS, PORT_SETTINGS, SETTINGS } from "./setting-table.ts";

/** No browser is slower. */
const TIMEOUTS: RequestTimeouts = { headersMs: 10_000, requestMs: 15_000, checkMs: 1000 };

/** `tailMessages`: of an edge. */
export type PortConfig = ReturnType<typeof portConfig> & { rooms: { tailMessages?: number } };
export type Config = ReturnType<typeof toConfig>;
export type EdgeConfig = ReturnType<typeof toEdgeConfig>;

function portConfig(v: FlagValues<typeof PORT_SETTINGS>) {
  const keepaliveMs = v.RELAY_KEEPALIVE_MS;
  const http: HttpSettings = {
    keepaliveMs,
    access: {
      public: v.RELAY_PUBLIC,
      adminToken: v.RELAY_ADMIN_TOKEN,
      tokenKey: v.RELAY_TOKEN_KEY,
      audience: v.RELAY_TOKEN_AUDIENCE,
    },
    compression: v.RELAY_COMPRESSION === "auto",
    log: { longPollMs: v.RELAY_LONG_POLL_MS, sseMs: v.RELAY_LOG_SSE_MS },
    frameAncestors: v.RELAY_FRAME_ANCESTORS,
    name: v.RELAY_NAME,
    aboutUrl: v.RELAY_ABOUT_URL,
    cors: { origins: v.RELAY_CORS_ORIGINS, headers: v.RELAY_CORS_HEADERS },
    maxViewersPerAddress: v.RELAY_MAX_VIEWERS_PER_ADDRESS || Number.POSITIVE_INFINITY,
    /** The start lowers it to what the limit of open files allows. */
    maxConnections: Number.POSITIVE_INFINITY,
    trustedProxies: v.RELAY_TRUST_PROXY,
    timeouts: TIMEOUTS,
    hasMetrics: v.RELAY_METRICS_LISTEN === undefined,
  };
  return {
    host: v.RELAY_HOST,
    port: v.RELAY_PORT,
    /** Where the metrics are served; undefined for the port itself. */
    metrics: v.RELAY_METRICS_LISTEN,
    /** The number of processes on the port, this one included. */
    workers: v.RELAY_WORKERS,
    rooms: {
      graceMs: v.RELAY_GRACE_MS,
      keepaliveMs,
      maxRooms: v.RELAY_MAX_ROOMS,
      maxViewers: v.RELAY_MAX_VIEWERS,
      isBlanking: v.RELAY_DELETED === "blank",
    },
    http,
    logLevel: v.RELAY_LOG_LEVEL,
  };
}

/** Throws `UsageError` if settings contradict each other. */
export function toConfig(v: FlagValues<typeof SETTINGS>) {
  if (v.RELAY_POLL_MIN_MS > v.RELAY_POLL_MAX_MS) {
    throw new UsageError("RELAY_POLL_MIN_MS: must not be above RELAY_POLL_MAX_MS");
  }
  const port = portConfig(v);
  const { RELAY_RETENTION_DAYS: retentionDays } = v;
  const time = timeOfDay(v.RELAY_TIMEZONE);
  return {
    ...port,
    /** `sqlite:<path>`, `memory:` or `postgres://…` */
    storeUrl: v.RELAY_STORE,
    /** Only for a store that several instances share. */
    shared: {
      leaseMs: v.RELAY_LEASE_MS,
      graceMs: v.RELAY_GRACE_MS,
      listenUrl: v.RELAY_STORE_LISTEN_URL,
      isSynchronous: v.RELAY_STORE_FAILOVER === "synchronous",
    },
    drainMs: v.RELAY_DRAIN_MS,
    upstream: {
      hosts: {
        main: v.RELAY_UPSTREAM_URL,
        music: v.RELAY_UPSTREAM_MUSIC_URL,
        mobile: v.RELAY_UPSTREAM_MOBILE_URL,
      },
      clients: v.RELAY_CLIENTS_FILE,
      deadlines: DEADLINES,
      specs: v.RELAY_EGRESS,
      gate: {
        spacingMs: v.RELAY_GATE_SPACING_MS,
        concurrency: v.RELAY_GATE_CONCURRENCY,
        cooldownMs: v.RELAY_COOLDOWN_MS,
        maxLatenessMs: v.RELAY_MAX_LATENESS_MS,
      },
      reading: { chatView: v.RELAY_CHAT_VIEW, timeOfDay: time },
    },
    rooms: {
      ...port.rooms,
      noChatMs: v.RELAY_NO_CHAT_MS,
      lookMs: v.RELAY_LOOK_MS,
      hiddenMs: v.RELAY_HIDDEN_MS,
      failingMs: v.RELAY_FAILING_MS,
      suspectMs: SUSPECT_AFTER_MS,
      windowMs: WINDOW_MS,
      pollMinMs: v.RELAY_POLL_MIN_MS,
      pollMaxMs: v.RELAY_POLL_MAX_MS,
      maxFailures: v.RELAY_MAX_FAILURES,
      channelMs: v.RELAY_CHANNEL_MS,
      isRecordingFixed: v.RELAY_RECORD.length > 0,
      timeOfDay: time,
    },
    http: {
      ...port.http,
      retentionDays,
    },
    /** The videos and channels to record. */
    recordings: v.RELAY_RECORD,
    /** 0 keeps all messages. */
    retentionDays,
    /** 0 means no limit. */
    maxStoreBytes: v.RELAY_MAX_STORE_BYTES,
    /** The store is a backup: cursors given out after it was made must not be honoured. */
    restored: v.RELAY_RESTORED,
  };
}

/** Throws `UsageError` without an origin. */
export function toEdgeConfig(v: FlagValues<typeof EDGE_SETTINGS>) {
  if (v.RELAY_ORIGIN === "")
    throw new UsageError(
      "--origin or RELAY_ORIGIN is missing: the base URL of the instance that this edge follows; see --help",
    );
  const port = portConfig(v);
  return {
    ...port,
    /** The base URL of the instance that it follows. */
    origin: v.RELAY_ORIGIN,
    originToken: v.RELAY_ORIGIN_TOKEN,
    rooms: {
      ...port.rooms,
      noChatMs: 0, // the origin says how long
      tailMessages: v.RELAY_EDGE_TAIL,
    },
  };
}
