/** The channels that are watched at an edge: the origin chooses their streams. */
import type { Clock } from "../clock.ts";
import { RelayError } from "../protocol/errors.ts";
import type { WatchedChannels } from "../rooms/channels.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { OriginChannelWatch } from "./channel-watch.ts";
import type { Origin } from "./origin.ts";

/** The `Retry-After` when the maximum number of channels is reached. */
const RETRY_MS = 30_000;

export interface OriginChannelsParts {
  origin: Origin;
  clock: Clock;
  telemetry: Telemetry;
  settings: {
    /** The maximum number of channels, as of rooms. */
    maxRooms: number;
  };
}

export class OriginChannels implements WatchedChannels {
  readonly #parts: OriginChannelsParts;
  readonly #watches = new Map<string, OriginChannelWatch>();
  readonly #closed = new AbortController();

  constructor(parts: OriginChannelsParts) {
    this.#parts = parts;
    parts.telemetry.sources.channels = () => this.#watches.size;
  }

  watch(channel: string): OriginChannelWatch {
    let watch = this.#watches.get(channel);
    if (!watch) {
      if (this.#watches.size >= this.#parts.settings.maxRooms)
        throw new RelayError("CAPACITY", "Too many channels are watched.", { retryAfterMs: RETRY_MS });
      const left = () => void this.#watches.delete(channel);
      watch = new OriginChannelWatch(channel, this.#parts, this.#closed.signal, left);
      this.#watches.set(channel, watch);
    }
    return watch.join();
  }

  /** Watches no channel any more. */
  close(): void {
    this.#closed.abort();
  }
}
