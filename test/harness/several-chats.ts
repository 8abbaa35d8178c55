/**
 * The connections that carry several chats, on any sink: what `/v1/merged` and `/v1/stream?channel=` do once
 * they have checked the request.
 */
import type { Clock } from "../../src/clock.ts";
import { errorConverter } from "../../src/http/errors.ts";
import { ChannelViewer, firstLook, parsePlace } from "../../src/http/streams/channel-viewer.ts";
import { readMerged } from "../../src/http/streams/merged-chat.ts";
import { parseVector } from "../../src/protocol/cursor-vector.ts";
import type { WatchedChannels } from "../../src/rooms/channels/channels.ts";
import type { Rooms } from "../../src/rooms/rooms.ts";
import type { Format } from "../../src/serving/form.ts";
import { type BodySink, Multiplex } from "../../src/serving/multiplex/multiplex.ts";
import { PART_FORMS } from "../../src/serving/multiplex/parts.ts";
import { parseTypes } from "../../src/serving/type-filter.ts";
import type { Telemetry } from "../../src/telemetry/telemetry.ts";

/** The service behind a connection. */
export interface Served {
  rooms: Rooms;
  channels: WatchedChannels;
  clock: Clock;
  telemetry: Telemetry;
  keepaliveMs: number;
}

/** What a client asks for, whatever it watches. */
interface Asked {
  lastEventId: string | undefined;
  backfill?: number | undefined;
  /** As in the query. */
  types?: string;
  format?: Format;
  isDetailed?: boolean;
  address: string;
}

/** Throws `RelayError` CAPACITY. The chats are read in the background. */
export function openMerged(
  { rooms, clock, telemetry, keepaliveMs }: Served,
  videoIds: readonly string[],
  { lastEventId, backfill, types = "", format = "sse", isDetailed = false, address }: Asked,
  sink: BodySink,
): void {
  rooms.assertPlaces(videoIds.length);
  const cursors = parseVector(lastEventId, videoIds.length) ?? [];
  const filter = parseTypes(types);
  const requests = videoIds.map((videoId, place) => ({
    ...{ videoId, lastEventId: cursors[place], backfill, filter },
    address: () => address,
  }));
  const line = new Multiplex(sink, format);
  void line.keepOpen({ clock, telemetry, keepaliveMs });
  const form = PART_FORMS[format][isDetailed ? "detailed" : "plain"];
  const toRelayError = errorConverter("/v1/merged", telemetry);
  void readMerged(line, requests, { rooms, clock, form, toRelayError });
}

/**
 * Resolves when the answer has begun. Rejects with `RelayError` NO_LIVE_CHAT or CAPACITY, or the signal's
 * reason. The streams are read in the background.
 */
export async function openChannel(
  { rooms, channels, clock, telemetry, keepaliveMs }: Served,
  channel: string,
  { lastEventId, backfill, types = "", format = "sse", isDetailed = false, address }: Asked,
  open: () => BodySink,
  gone: AbortSignal,
): Promise<void> {
  using opening = new DisposableStack();
  const cameAt = clock.monotonic();
  const watch = opening.use(channels.watch(channel));
  await firstLook({ watch, rooms, clock }, gone);
  const line = new Multiplex(open(), format);
  void line.keepOpen({ clock, telemetry, keepaliveMs });
  const form = PART_FORMS[format][isDetailed ? "detailed" : "plain"];
  const toRelayError = errorConverter("/v1/stream", telemetry);
  const resume = parsePlace(lastEventId);
  const request = { backfill, filter: parseTypes(types), resume, cameAt, address };
  const viewer = new ChannelViewer(line, request, { watch, rooms, clock, form, toRelayError });
  const owned = opening.move();
  void viewer.run().finally(() => owned.dispose());
}
