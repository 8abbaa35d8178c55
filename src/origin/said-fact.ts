/** A fact of a chat as the streams of the origin say it, one after the other. */
import { isDeepStrictEqual } from "node:util";
import { type Clock, nap } from "../base/clock.ts";
import { unlessAborted } from "../base/deadline.ts";
import type { Fact } from "../store/port.ts";

/** The maximum wait for the first word of it. */
const FIRST_WORD_MS = 2000;

export class SaidFact {
  readonly #clock: Clock;
  /** Undefined before the first word. */
  #fact: Fact | undefined;
  /** Resolves at the first word, or at the end of a stream that did not have it. */
  readonly #first = Promise.withResolvers<void>();
  /** Resolves at the next change. */
  #changed = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call it with each fact of a stream. A new stream repeats the fact, so an equal one changes nothing. */
  say(fact: Fact): void {
    if (isDeepStrictEqual(fact, this.#fact)) return;
    this.#fact = fact;
    this.#first.resolve();
    this.#changed.resolve();
  }

  /** Call it at the end of a stream: a room that is over there says nothing. */
  over(): void {
    this.#first.resolve();
  }

  /**
   * Yields the fact, then each change; first undefined if it has not been said in time. At most one at a time
   * may follow: a second would replace the promise for which the first waits. A `Room` has one per name.
   */
  async *follow(signal: AbortSignal): AsyncGenerator<Fact | undefined, void, void> {
    if (!this.#fact) await nap(this.#clock, FIRST_WORD_MS, this.#first.promise, signal);
    while (!signal.aborted) {
      this.#changed = Promise.withResolvers();
      yield this.#fact;
      await unlessAborted(this.#changed.promise, signal).catch(() => {});
    }
  }
}
