/** The channels of videos at an edge. It asks the origin about each, and stores nothing. */
import type { Clock } from "../base/clock.ts";
import { type ChannelQuestion, VideoChannels } from "../rooms/channels/video-channels.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Origin } from "./origin.ts";

export function originVideoChannels(origin: Origin, clock: Clock, rooms: Rooms): VideoChannels {
  const sources = {
    // The origin may know from its store that it is one of these; else it loads the video's page.
    keyOf: (videoId: string, channels: readonly string[] = []) => [videoId, ...channels].join(),
    stored: async () => [],
    remember: async () => {},
    ask: (question: ChannelQuestion, { address }: { address: string }, signal: AbortSignal) =>
      origin.channelsOf(question, address, signal),
  };
  return new VideoChannels(sources, rooms.openings, clock, rooms.stopped);
}
