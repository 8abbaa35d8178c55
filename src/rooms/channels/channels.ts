/**
 * The channels that are watched on this instance, for viewers and for recordings: one watch for all watchers
 * of a channel. Further channels than rooms are refused with CAPACITY, except for recordings. Strangers can
 * name channels that do not exist: only the newest of those are kept once nobody watches them.
 */
import { dropOldest } from "../../base/maps.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { WatchedChannel } from "./broadcasts.ts";
import { Watchers } from "./watchers.ts";

/** Channels to remember as known. */
const MAX_KNOWN = 1000;
/** Unknown channels to remember until their next look is due: the newest. */
const MAX_UNKNOWN = 20;

/** A watch of a channel that several watchers share. */
interface SharedWatch extends WatchedChannel {
  readonly watchers: Watchers;
  /** Whether nobody watches it, and it is not kept for a watcher that returns. */
  readonly isIdle: boolean;
  /** Whether its pages have shown that the channel exists. Strangers choose the number of all others. */
  readonly isKnown: boolean;
  /** Adds a watcher of this address. Disposing removes one. */
  join(address: string): this;
}

/** The channels that are watched on an instance, for viewers. */
export interface WatchedChannels {
  /**
   * Watches a channel, by its name as `parseChannel` returns it, until the watch is disposed of. All watchers
   * of a channel share one. `address`: the viewer's, or its network; empty for a recording, which is never
   * refused. Throws `RelayError` CAPACITY if there are too many channels.
   */
  watch(channel: string, address: string): WatchedChannel;
}

export class Channels<Watch extends SharedWatch> implements WatchedChannels {
  readonly #begin: (channel: string) => Watch;
  readonly #max: number;
  /** Channels that pages have shown, and that were watched before. */
  readonly #known = new Set<string>();
  readonly #watches = new Map<string, Watch>();
  readonly #closed = new AbortController();

  /**
   * `maxRooms`: the maximum number of rooms, which also limits the number of channels. `begin`: creates the
   * watch of a channel for its first watcher, with the count of them. `isKnown`: whether pages have shown the
   * channel before.
   */
  constructor(
    telemetry: Telemetry,
    maxRooms: number,
    begin: (channel: string, watchers: Watchers, isKnown: boolean) => Watch,
  ) {
    this.#begin = (channel) => {
      const watchers = new Watchers(this.#closed.signal, () => this.#forgetUnknown());
      return begin(channel, watchers, this.#known.has(channel));
    };
    this.#max = maxRooms;
    telemetry.channels.watch(() =>
      this.#watches.values().reduce((count, { watchers }) => count + Number(watchers.count > 0), 0),
    );
  }

  watch(channel: string, address: string): Watch {
    let knownCount = 0;
    for (const [name, { isIdle, isKnown }] of this.#watches) {
      if (isIdle && isKnown) this.#known.add(name);
      if (isIdle) this.#watches.delete(name);
      else if (isKnown) knownCount += 1;
    }
    dropOldest(this.#known, MAX_KNOWN);
    const isNew = !this.#watches.has(channel);
    if (isNew && address !== "" && knownCount >= this.#max) throw atCapacity("channels");
    const watch = this.#watches.getOrInsertComputed(channel, () => this.#begin(channel));
    return watch.join(address);
  }

  /** Strangers choose the names of unknown channels: of those that nobody watches, the newest are kept. */
  #forgetUnknown(): void {
    const unknown = [...this.#watches].filter(
      ([, { watchers, isKnown }]) => watchers.count === 0 && !isKnown,
    );
    for (const [name] of unknown.slice(0, -MAX_UNKNOWN)) this.#watches.delete(name);
  }

  /** Stops watching all channels. */
  close(): void {
    this.#closed.abort();
  }
}
