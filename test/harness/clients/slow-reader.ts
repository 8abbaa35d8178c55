/**
 * Passes on a response's body as slowly as its client wants, and reads no more than that, so that the
 * sender's window fills.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ReaderLike } from "eventsource";

/**
 * The number of bytes that a trickling client reads at a time. A prime, so that reads rarely end with a frame
 * or a character.
 */
export const SLOW_READ_BYTES = 47;
export const SLOW_READ_MS = 10;

export type Next = { done: false; value: Uint8Array } | { done: true };

export class SlowReader implements ReaderLike {
  readonly #take: () => Promise<Next>;
  readonly #signal: AbortSignal;
  /** Bytes that were read and not passed on yet. */
  #rest: Uint8Array = new Uint8Array();
  /** On the clock of `performance.now()`. */
  #stallsUntil = 0;
  #tricklesUntil = 0;

  /** `signal` ends every wait; reads then fail with an `AbortError`. */
  constructor(take: () => Promise<Next>, signal: AbortSignal) {
    this.#take = take;
    this.#signal = signal;
  }

  stall(ms: number): void {
    this.#stallsUntil = performance.now() + ms;
    this.#tricklesUntil = 0;
  }

  trickle(ms: number): void {
    this.#tricklesUntil = performance.now() + ms;
    this.#stallsUntil = 0;
  }

  async read(): Promise<Next> {
    const next = this.#rest.length > 0 ? { done: false as const, value: this.#rest } : await this.#take();
    const bytes = await this.#turn();
    if (next.done) return next;
    this.#rest = next.value.subarray(bytes);
    return { done: false, value: next.value.subarray(0, bytes) };
  }

  async cancel(): Promise<void> {}

  /** Waits while it is slow. Returns how many bytes may be passed on. */
  async #turn(): Promise<number> {
    for (;;) {
      const now = performance.now();
      if (now < this.#stallsUntil) await this.#wait(this.#stallsUntil - now);
      else if (now >= this.#tricklesUntil) return Number.POSITIVE_INFINITY;
      else {
        await this.#wait(SLOW_READ_MS);
        return SLOW_READ_BYTES;
      }
    }
  }

  async #wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal });
  }
}
