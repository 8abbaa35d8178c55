/** Composes an edge: an origin in place of store and upstream, then rooms and HTTP as in any instance. */
import type { Subjects } from "../http/access/viewer-places.ts";
import { originVideoChannels } from "../origin/edge-video-channels.ts";
import { OriginHttpConnections } from "../origin/http-connections.ts";
import { Origin } from "../origin/origin.ts";
import { OriginChannelWatch } from "../origin/origin-channel-watch.ts";
import { OriginHealth } from "../origin/origin-health.ts";
import { OriginRooms } from "../origin/origin-rooms.ts";
import { Channels } from "../rooms/channels/channels.ts";
import { Rooms } from "../rooms/rooms.ts";
import { OriginEvents } from "../telemetry/origin-events.ts";
import type { EdgeConfig } from "./config.ts";
import { runCollections } from "./garbage-collections.ts";
import { Port } from "./listener.ts";
import type { Service, StartParts } from "./service.ts";

/**
 * Starts an edge, even while its origin is away. Rejects with an error of one clear line if something else
 * answers in the origin's place or the port is in use, and with the reason of `stopped`. `subjects`: if it is
 * a worker.
 */
export async function startEdge(
  config: EdgeConfig,
  { clock, telemetry, stopped, subjects }: StartParts & { subjects?: Subjects },
): Promise<Service> {
  await using starting = new AsyncDisposableStack(); // closes in reverse order
  const { rooms: settings, http } = config;
  const { isWorker = false } = http;
  const { origin: url, originToken: token } = config;
  const connections = new OriginHttpConnections(url, token, isWorker);
  const origin = new Origin(url, connections, clock, settings.keepaliveMs);
  starting.defer(() => origin.close());
  const events = new OriginEvents(telemetry);
  const health = new OriginHealth(origin, clock, events);
  await health.ask(stopped);
  stopped?.throwIfAborted();
  const port = new Port(config);
  starting.defer(() => port.close());
  const channels = new Channels(
    telemetry,
    settings.maxRooms,
    (channel, watchers, isKnown) =>
      new OriginChannelWatch(channel, { origin, clock, telemetry }, watchers, isKnown),
  );
  starting.defer(() => channels.close());
  const isBlanking = () => settings.isBlanking || origin.isBlanking;
  const sources = new OriginRooms({
    origin,
    health,
    clock,
    telemetry,
    events,
    settings,
    isBlanking,
    isWorker,
  });
  const rooms = new Rooms({ sources, clock, telemetry, settings });
  starting.defer(async () => void (await Promise.all([rooms.stop(), port.stopWorkers()])));
  const videoChannels = originVideoChannels(origin, clock, rooms);
  const served = { rooms, channels, videoChannels, source: origin, telemetry, clock, isBlanking, subjects };
  const listening = await port.open(served);

  const running = starting.move();
  const background = new AbortController();
  void health.watch(background.signal);
  void runCollections(clock, telemetry, background.signal);
  return {
    url: listening,
    unreadiness: () => rooms.unreadiness(),
    stop: async () => {
      background.abort();
      await running.disposeAsync();
    },
    lost: new Promise(() => {}),
  };
}
