/**
 * Composes the service. Upstream, store, rooms and HTTP are started in this order. A stop ends the rooms
 * first, so that HTTP answers until the last stream has ended; then HTTP, store and upstream.
 */
import type { Clock } from "../base/clock.ts";
import { Counts } from "../base/key-counts.ts";
import { ChannelWatch } from "../rooms/channels/channel-watch.ts";
import { Channels } from "../rooms/channels/channels.ts";
import { readVideoChannels } from "../rooms/channels/video-channels.ts";
import { Featuring } from "../rooms/featuring.ts";
import { RoomList } from "../rooms/listing.ts";
import { Recordings } from "../rooms/recordings/recordings.ts";
import { RoomExchange } from "../rooms/room-exchange.ts";
import { Rooms } from "../rooms/rooms.ts";
import { StoreBackedRooms } from "../rooms/store-backed-rooms.ts";
import { History } from "../serving/history/history.ts";
import type { StoreIdentity } from "../store/observed.ts";
import { assertClock, assertRestored, openNamedStore } from "../store/open.ts";
import { storeKind } from "../store/port.ts";
import { runRetention } from "../store/retention.ts";
import { runSizeLimit } from "../store/size-limit.ts";
import { runTally } from "../store/tallier.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { EgressPool } from "../upstream/egress/pool.ts";
import { foreignAddress } from "../upstream/egress/spec.ts";
import type { Config } from "./config.ts";
import { UsageError } from "./flags.ts";
import { runCollections } from "./garbage-collections.ts";
import { Port } from "./listener.ts";

export interface Service {
  /** The URL at which the service listens, without a trailing slash. */
  url: string;
  /** The reasons why the service should get no new viewers; empty if there are none. */
  unreadiness(): Promise<string[]>;
  /** What it stores in; undefined for an edge. */
  store?: StoreIdentity;
  /** Stops gracefully: accepts no new viewers, makes everything durable, and ends every stream cleanly. */
  stop(): Promise<void>;
  /** Resolves if the store is lost for good, after logging it: stop the service, and let the process fail. */
  lost: Promise<Error>;
}

/** Whether somebody can change the list of recordings. */
function mayRecord({ adminToken, tokenKey, public: rights }: Config["http"]["access"]): boolean {
  return adminToken !== "" || tokenKey !== undefined || rights.includes("record");
}

/** What a start is given besides its settings. */
export interface StartParts {
  clock: Clock;
  telemetry: Telemetry;
  /** Ends the start, until the port is opened. */
  stopped?: AbortSignal;
}

/**
 * Rejects with an error of one clear line if the store cannot be opened or the port is in use, with
 * `UsageError` if an egress has an address of another machine, and with the reason of `stopped`.
 */
export async function startService(
  config: Config,
  { clock, telemetry, stopped }: StartParts,
): Promise<Service> {
  await using starting = new AsyncDisposableStack(); // closes in reverse order
  const { specs } = config.upstream;
  const foreign = await foreignAddress(specs); // before anything is opened: a refusal must leave nothing open
  if (foreign) throw new UsageError(`RELAY_EGRESS: ${foreign} is not an address of this machine`);
  const port = new Port(config);
  await port.assertFree(); // a refused start must not make a store
  const egresses = new EgressPool({ ...config.upstream, clock, telemetry });
  starting.defer(() => egresses.close());
  const { storeUrl, shared } = config;
  if (config.restored) assertRestored(storeUrl);
  const { witness } = egresses;
  const file = { isBlanking: config.rooms.isBlanking };
  const options = { shared, file, stopped, witness };
  const store = await openNamedStore("RELAY_STORE", storeUrl, clock, telemetry, options);
  starting.defer(() => store.close());
  starting.defer(() => port.close());
  // Before any room is taken.
  if (config.restored) await assertClock(store);
  if (config.restored) telemetry.store.cursorsMoved(await store.moveCursors(stopped));
  for (const { name } of specs.filter(({ isNamed }) => isNamed)) {
    const pace = store.paceOf(name);
    if (pace) egresses.share(name, pace);
  }
  const settings = config.rooms;
  const recorded = new Counts<string>();
  const parts = { store, egresses, recorded, clock, telemetry, settings };
  const rooms = new Rooms({ sources: new StoreBackedRooms(parts), clock, telemetry, settings });
  new RoomExchange(rooms, parts).start();
  const { openings } = rooms;
  const watching = { ...parts, openings };
  const channels = new Channels(
    telemetry,
    settings.maxRooms,
    (channel, watchers, isKnown) => new ChannelWatch(channel, watching, watchers, isKnown),
  );
  starting.defer(() => channels.close());
  // Readiness fails first; the endpoint answers until the last stream has ended.
  starting.defer(async () => void (await Promise.all([rooms.stop(), port.stopWorkers()])));
  const background = new AbortController();
  const recording = { ...parts, rooms, channels };
  const recordings = new Recordings(config.recordings, recording, background.signal);
  const history = new History(store, clock);
  const list = new RoomList(store, rooms);
  const videoChannels = readVideoChannels(store, openings, clock, rooms.stopped);
  const featuring = new Featuring(store);
  const source = { featuring, list, history, recordings, egresses };
  const isBlanking = () => settings.isBlanking;
  const served = { rooms, channels, videoChannels, source, telemetry, clock, isBlanking };
  stopped?.throwIfAborted();
  const url = await port.open(served);

  const running = starting.move();
  const stop = async () => {
    background.abort();
    if (storeKind(config.storeUrl) === "shared") await rooms.drain(config.drainMs);
    await running.disposeAsync();
  };
  void runRetention(store, config.retentionDays, witness, clock, telemetry, background.signal);
  const recordedNames = () => [...config.recordings, ...recorded.keys()];
  void runSizeLimit(store, config.maxStoreBytes, recordedNames, clock, telemetry, background.signal);
  void runTally(store, clock, telemetry, background.signal);
  void runCollections(clock, telemetry, background.signal);
  const { retentionDays } = config;
  if (config.recordings.length > 0 && retentionDays > 0) telemetry.recordings.pruned(retentionDays);
  recordings.start({ isListRun: mayRecord(config.http.access) });
  return {
    url,
    store: store.identity,
    unreadiness: () => rooms.unreadiness(),
    stop,
    lost: store.lost,
  };
}
