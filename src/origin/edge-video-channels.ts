/** The channels of videos at an edge, as its origin knows them. */
import type { Clock } from "../base/clock.ts";
import { VideoChannels } from "../rooms/channels/video-channels.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Origin } from "./origin.ts";

export function originVideoChannels(origin: Origin, clock: Clock, rooms: Rooms): VideoChannels {
  const sources = {
    stored: async () => [],
    remember: async () => {},
    look: (videoId: string, { address }: { address: string }, signal: AbortSignal) =>
      origin.channelsOf(videoId, address, signal),
  };
  return new VideoChannels(sources, rooms.openings, clock, rooms.stopped);
}
