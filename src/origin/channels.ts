/** The channels that are watched at an edge: the origin chooses their streams. */
import type { Clock } from "../clock.ts";
import { ChannelWatches, type WatchedChannels } from "../rooms/channels/channels.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { OriginChannelWatch } from "./channel-watch.ts";
import type { Origin } from "./origin.ts";

interface OriginChannelsParts {
  origin: Origin;
  clock: Clock;
  telemetry: Telemetry;
  settings: {
    /** The maximum number of rooms; it also limits the number of channels. */
    maxRooms: number;
  };
}

export class OriginChannels implements WatchedChannels {
  readonly #parts: OriginChannelsParts;
  readonly #watches: ChannelWatches<OriginChannelWatch>;
  readonly #closed = new AbortController();

  constructor(parts: OriginChannelsParts) {
    this.#parts = parts;
    this.#watches = new ChannelWatches(parts.settings.maxRooms);
    parts.telemetry.sources.channels = () => this.#watches.size;
  }

  watch(channel: string): OriginChannelWatch {
    const left = () => void this.#watches.delete(channel);
    const begin = () => new OriginChannelWatch(channel, this.#parts, this.#closed.signal, left);
    return this.#watches.of(channel, begin).join();
  }

  /** Stops watching all channels. */
  close(): void {
    this.#closed.abort();
  }
}
