/** Rooms on a store that the test can reach, over a simulated upstream, without HTTP in front of them. */

import { startSimulator } from "../../simulator/index.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { Counts } from "../../src/base/key-counts.ts";
import type { SettingName } from "../../src/cli/setting-table.ts";
import { ChannelWatch } from "../../src/rooms/channels/channel-watch.ts";
import { Channels } from "../../src/rooms/channels/channels.ts";
import { readVideoChannels } from "../../src/rooms/channels/video-channels.ts";
import { Featuring } from "../../src/rooms/featuring.ts";
import { RoomList } from "../../src/rooms/listing.ts";
import { Recordings } from "../../src/rooms/recordings/recordings.ts";
import { RoomExchange } from "../../src/rooms/room-exchange.ts";
import { Rooms } from "../../src/rooms/rooms.ts";
import { StoreBackedRooms } from "../../src/rooms/store-backed-rooms.ts";
import { History } from "../../src/serving/history/history.ts";
import type { ObservedStore } from "../../src/store/observed.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { EgressPool } from "../../src/upstream/egress/pool.ts";
import { recorderOf } from "./recorder-parts.ts";
import { testConfig } from "./relay.ts";

export async function roomsOn(
  store: ObservedStore,
  given: Partial<Record<SettingName, string>> = {},
  clock: Clock = systemClock,
) {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const config = testConfig(upstream, given);
  const telemetry = new Telemetry(silentLog);
  const egresses = new EgressPool({ ...config.upstream, clock, telemetry });
  const settings = config.rooms;
  const recorded = new Counts<string>();
  const parts = { store, egresses, recorded, clock, telemetry, settings };
  const rooms = new Rooms({ sources: new StoreBackedRooms(parts), clock, telemetry, settings });
  new RoomExchange(rooms, parts).start();
  const list = new RoomList(store, rooms);
  const { openings } = rooms;
  const watching = { ...parts, openings };
  const channels = new Channels(
    telemetry,
    settings.maxRooms,
    (channel, watchers, isKnown) => new ChannelWatch(channel, watching, watchers, isKnown),
  );
  const history = new History(store, clock);
  const recording = recorderOf({ rooms, channels, config, recorded, store, egresses, clock, telemetry });
  const recordings = new Recordings([], recording, new AbortController().signal);
  stack.defer(() => egresses.close());
  stack.defer(() => channels.close());
  stack.defer(() => rooms.stop());
  const videoChannels = readVideoChannels(store, openings, clock, rooms.stopped);
  const owned = stack.move();
  const dispose = () => owned.disposeAsync();
  return {
    source: { featuring: new Featuring(store), list, history, recordings, egresses },
    config,
    upstream,
    egresses,
    telemetry,
    clock,
    rooms,
    list,
    channels,
    videoChannels,
    history,
    recordings,
    store,
    isBlanking: () => settings.isBlanking,
    [Symbol.asyncDispose]: dispose,
  };
}
