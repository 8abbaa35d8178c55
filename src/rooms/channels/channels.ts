/** The channels that are watched on this instance, for viewers and for recordings. */
import { atCapacity } from "../../protocol/errors.ts";
import type { WatchedChannel } from "./broadcasts.ts";
import { ChannelWatch, type ChannelWatchParts } from "./watch.ts";

/** The watches of channels, by channel, up to a maximum number. */
export class ChannelWatches<Watch> extends Map<string, Watch> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  /** The channel's watch, or a new one. Throws `RelayError` CAPACITY if there are too many. */
  of(channel: string, begin: () => Watch): Watch {
    const known = this.get(channel);
    if (known) return known;
    if (this.size >= this.#max) throw atCapacity("channels");
    const watch = begin();
    this.set(channel, watch);
    return watch;
  }
}

interface ChannelsParts extends ChannelWatchParts {
  settings: ChannelWatchParts["settings"] & {
    /** The maximum number of rooms; it also limits the number of channels. */
    maxRooms: number;
  };
}

/** The channels that are watched on an instance, for viewers. */
export interface WatchedChannels {
  /**
   * Watches a channel, by its name as `parseChannel` returns it, until the watch is disposed of. All watchers
   * of a channel share one. Throws `RelayError` CAPACITY if there are too many channels.
   */
  watch(channel: string): WatchedChannel;
}

/** The watched channels of an instance that reads the channel pages itself. */
export class Channels implements WatchedChannels {
  readonly #parts: ChannelsParts;
  readonly #watches: ChannelWatches<ChannelWatch>;
  readonly #closed = new AbortController();

  constructor(parts: ChannelsParts) {
    this.#parts = parts;
    this.#watches = new ChannelWatches(parts.settings.maxRooms);
    parts.telemetry.sources.channels = () =>
      this.#watches.values().reduce((count, { isWatched }) => count + Number(isWatched), 0);
  }

  watch(channel: string): ChannelWatch {
    // Drop only idle watches: one without watchers stays for one interval, so that a viewer who returns costs
    // no look.
    for (const [name, { isIdle }] of this.#watches) if (isIdle) this.#watches.delete(name);
    const begin = () => new ChannelWatch(channel, this.#parts, this.#closed.signal);
    return this.#watches.of(channel, begin).join();
  }

  /** Stops watching all channels. */
  close(): void {
    this.#closed.abort();
  }
}
