/** Composes an edge: an origin in place of store and upstream, then rooms and HTTP as in any instance. */
import type { Clock } from "../clock.ts";
import { createServer } from "../http/server.ts";
import { OriginChannels } from "../origin/channels.ts";
import { OriginHealth } from "../origin/health.ts";
import { Origin } from "../origin/origin.ts";
import { OriginRooms } from "../origin/origin-rooms.ts";
import { Rooms } from "../rooms/rooms.ts";
import { STALL_MS } from "../serving/stall.ts";
import { OriginEvents } from "../telemetry/origin-events.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { EDGE_FLAGS } from "./edge-flags.ts";
import { type FlagValues, UsageError } from "./flags.ts";
import { listen, type Service, urlOf } from "./service.ts";

/** Throws `UsageError` without an origin. */
export function toEdgeConfig(v: FlagValues<typeof EDGE_FLAGS>) {
  if (v.RELAY_ORIGIN === "")
    throw new UsageError(
      "--origin: is missing: the base URL of the instance that this edge follows; see --help",
    );
  const isBlanking = v.RELAY_DELETED === "blank";
  return {
    host: v.RELAY_HOST,
    port: v.RELAY_PORT,
    reusePort: v.RELAY_REUSE_PORT,
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
    },
    logLevel: v.RELAY_LOG_LEVEL,
  };
}

export type EdgeConfig = ReturnType<typeof toEdgeConfig>;

/**
 * Starts an edge, even while its origin is away. Rejects with an error of one clear line if something else
 * answers in the origin's place or the port is in use, and with the reason of `stopped`.
 */
export async function startEdge(
  config: EdgeConfig,
  clock: Clock,
  telemetry: Telemetry,
  stopped: AbortSignal = new AbortController().signal,
): Promise<Service> {
  await using starting = new AsyncDisposableStack(); // closes in reverse order
  const { rooms: settings } = config;
  const origin = new Origin({ url: config.origin, keepaliveMs: settings.keepaliveMs, clock });
  starting.defer(() => origin.close());
  const events = new OriginEvents(telemetry);
  const health = new OriginHealth(origin, clock, events);
  await health.ask(stopped);
  stopped.throwIfAborted();
  const sources = new OriginRooms({ origin, health, clock, telemetry, events, settings });
  const rooms = new Rooms({ sources, clock, telemetry, settings });
  const channels = new OriginChannels({ origin, clock, telemetry, settings });
  const app = await createServer({ rooms, channels, source: origin, telemetry, clock }, config.http);
  starting.defer(() => app.close());
  starting.defer(() => channels.close());
  starting.defer(() => rooms.stop());
  await listen(app, config);

  const running = starting.move();
  const background = new AbortController();
  void health.watch(background.signal);
  return {
    url: urlOf(app, config),
    stop: async () => {
      background.abort();
      await running.disposeAsync();
    },
    lost: new Promise(() => {}),
  };
}
