/**
 * The featured message of a room as bytes, for the viewers that ask for it: one frame for each form, which
 * all of them share. A slow viewer gets only the last of several changes.
 */
import type { Featured } from "../store/featured.ts";
import type { Form, Packet } from "./form.ts";

export class FeaturedFrames {
  /** Resolves once it is known which message is featured. Rejects as `Store.featured` does. */
  readonly known: Promise<void>;
  readonly #videoId: string;
  #featured: Featured | undefined;
  /** How many messages were featured so far, and how often none was. */
  #changes = 0;
  readonly #packets = new Map<Form, Packet>();

  /**
   * Reads the `values` until they end. `changed`: called at each one but the first. `broken`: they have ended
   * with an error, later than with the first one.
   */
  constructor(
    videoId: string,
    values: AsyncIterable<Featured | undefined>,
    changed: () => Promise<void>,
    broken: (error: unknown) => void,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.known = promise;
    this.#videoId = videoId;
    const read = async () => {
      for await (const featured of values) {
        this.#featured = featured;
        this.#packets.clear();
        this.#changes += 1;
        if (this.#changes > 1) await changed();
        resolve();
      }
    };
    read().then(resolve, (error) => {
      reject(error);
      if (this.#changes > 0) broken(error);
    });
  }

  /** What a new viewer takes its frames from. */
  place(): FeaturedPlace {
    let seen = 0;
    return {
      next: (form) => {
        if (seen === this.#changes) return undefined;
        seen = this.#changes;
        return this.#packets.getOrInsertComputed(form, () => form.featured(this.#videoId, this.#featured));
      },
    };
  }
}

/** What one viewer has got of a room's featured messages. */
export interface FeaturedPlace {
  /** The frame that it gets next; undefined if it has the latest. */
  next(form: Form): Packet | undefined;
}
