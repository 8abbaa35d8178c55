/**
 * The feeds of a room: its messages in one form and through one filter. All viewers of a feed are sent the
 * same buffers.
 */

import type { Form, Packet } from "./form.ts";
import type { MessageFilter } from "./message-filter.ts";

/**
 * Maximum number of filters of a room for which frames are packed once and shared. Each filter costs one
 * more packing (and compression) of every batch.
 */
const MAX_FILTERS = 64;

export class Feed {
  /** Feeds with the same key are sent the same. */
  readonly key: string;
  readonly form: Form;
  readonly filter: MessageFilter;
  /** Whether several viewers may be sent the same buffers. Otherwise the feed has a single viewer. */
  readonly isShared: boolean;
  viewers = 0;
  #reported: { cursor: number; packet: Packet } | undefined;

  constructor(form: Form, filter: MessageFilter, isShared: boolean) {
    this.key = keyOf(form, filter);
    this.form = form;
    this.filter = filter;
    this.isShared = isShared;
  }

  get isFiltered(): boolean {
    return !this.filter.isEverything;
  }

  /** A keepalive, after a frame with the unreported cursor if there is one. Most viewers share one packet. */
  keepalive(unreported: number | undefined): Packet {
    if (unreported === undefined) return this.form.keepalive;
    if (this.#reported?.cursor !== unreported)
      this.#reported = { cursor: unreported, packet: this.form.keepaliveAt(unreported) };
    return this.#reported.packet;
  }
}

function keyOf(form: Form, filter: MessageFilter): string {
  return `${form.key} ${filter.key}`;
}

export class Feeds {
  readonly #shared = new Map<string, Feed>();
  readonly #alone = new Set<Feed>();

  /** The feed of a new viewer. Call `leave` when the viewer has left. */
  join(form: Form, filter: MessageFilter): Feed {
    let feed = this.#shared.get(keyOf(form, filter));
    if (!feed) {
      feed = new Feed(form, filter, this.#mayShare(filter));
      if (feed.isShared) this.#shared.set(feed.key, feed);
      else this.#alone.add(feed);
    }
    feed.viewers += 1;
    return feed;
  }

  leave(feed: Feed): void {
    feed.viewers -= 1;
    if (feed.viewers > 0) return;
    if (feed.isShared) this.#shared.delete(feed.key);
    else this.#alone.delete(feed);
  }

  /** The numbers of viewers, for the metrics. */
  *census() {
    for (const { form, isFiltered, viewers } of this.#shared.values())
      yield { form: form.name, filter: isFiltered ? ("shared" as const) : ("none" as const), viewers };
    for (const { form, viewers } of this.#alone) yield { form: form.name, filter: "alone" as const, viewers };
  }

  #mayShare(filter: MessageFilter): boolean {
    if (filter.isEverything) return true;
    const filtered = this.#shared.values().filter((feed) => feed.isFiltered);
    const filters = new Set(filtered.map((feed) => feed.filter.key));
    return filters.has(filter.key) || filters.size < MAX_FILTERS;
  }
}
