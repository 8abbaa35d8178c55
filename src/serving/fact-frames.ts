/**
 * One fact of a room as bytes, for the viewers that ask for it: one frame for each form, which all of them
 * share. A slow viewer gets only the last of several changes.
 */
import type { Fact } from "../store/port.ts";
import type { Form, Packet } from "./form.ts";

export class FactFrames {
  /** Resolves after the first value, even an undefined one. Rejects as `Store.fact` does. */
  readonly known: Promise<void>;
  readonly #videoId: string;
  /** Undefined if it is not known. */
  #fact: Fact | undefined;
  /** How often it was read: as it was first, and at each change. */
  #changes = 0;
  readonly #packets = new Map<Form, Packet>();

  /**
   * Reads the `values` until they end. `changed`: called at each one but the first. `broken`: they have ended
   * with an error, later than with the first one.
   */
  constructor(
    videoId: string,
    values: AsyncIterable<Fact | undefined>,
    changed: () => Promise<void>,
    broken: (error: unknown) => void,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.known = promise;
    this.#videoId = videoId;
    const read = async () => {
      for await (const fact of values) {
        this.#fact = fact;
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

  /** The latest fact; undefined if it is not known. */
  get fact(): Fact | undefined {
    return this.#fact;
  }

  /** What a new viewer takes its frames from. */
  place(): FactPlace {
    let seen = 0;
    return {
      next: (form) => {
        const fact = this.#fact;
        if (seen === this.#changes || !fact) return undefined;
        seen = this.#changes;
        return this.#packets.getOrInsertComputed(form, () => form.fact(this.#videoId, fact));
      },
    };
  }
}

/** What one viewer has got of a room's fact. */
export interface FactPlace {
  /** The frame that it gets next; undefined if it has the latest. */
  next(form: Form): Packet | undefined;
}
