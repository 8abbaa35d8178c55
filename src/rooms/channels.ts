/** The channels that are watched on this instance, for viewers and for recordings. */
import { RelayError } from "../protocol/errors.ts";
import type { WatchedChannel } from "./channel-states.ts";
import { ChannelWatch, type ChannelWatchParts } from "./channel-watch.ts";

/** The `Retry-After` when the maximum number of channels is reached. */
const RETRY_MS = 30_000;

export interface ChannelsParts extends ChannelWatchParts {
  settings: ChannelWatchParts["settings"] & {
    /** The maximum number of channels, as of rooms. */
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

/** Those of an instance that reads channels itself. */
export class Channels implements WatchedChannels {
  readonly #parts: ChannelsParts;
  readonly #watches = new Map<string, ChannelWatch>();
  readonly #closed = new AbortController();

  constructor(parts: ChannelsParts) {
    this.#parts = parts;
    parts.telemetry.sources.channels = () =>
      this.#watches.values().reduce((count, { isWatched }) => count + Number(isWatched), 0);
  }

  watch(channel: string): ChannelWatch {
    // Others are kept for one interval, so that a viewer that comes back costs no look.
    for (const [name, { isIdle }] of this.#watches) if (isIdle) this.#watches.delete(name);
    let watch = this.#watches.get(channel);
    if (!watch) {
      if (this.#watches.size >= this.#parts.settings.maxRooms) {
        throw new RelayError("CAPACITY", "Too many channels are watched.", { retryAfterMs: RETRY_MS });
      }
      watch = new ChannelWatch(channel, this.#parts, this.#closed.signal);
      this.#watches.set(channel, watch);
    }
    return watch.join();
  }

  /** Looks at no channel any more. */
  close(): void {
    this.#closed.abort();
  }
}
