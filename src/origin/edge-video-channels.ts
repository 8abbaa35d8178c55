/** The channels of videos at an edge, as its origin knows them. */
import type { Clock } from "../base/clock.ts";
import { VideoChannels } from "../rooms/channels/video-channels.ts";
import type { Origin } from "./origin.ts";

export function originVideoChannels(origin: Origin, clock: Clock, stopped: AbortSignal): VideoChannels {
  const sources = {
    stored: async () => [],
    remember: async () => {},
    look: (videoId: string, address: string, signal: AbortSignal) =>
      origin.channelsOf(videoId, address, signal),
  };
  return new VideoChannels(sources, clock, stopped);
}
