/**
 * Estimates how long the next call of a live chat takes, from the last ones. One answer may show the chat at
 * its call, and the next one at its arrival. So a slow call must start earlier, or messages may be missing.
 */
import type { CallTimes } from "../base/clock.ts";
import { TOLERANCE } from "../upstream/egress/chat-load.ts";

/** The number of calls to remember. */
const REMEMBERED = 10;

export class SlowCalls {
  readonly #windowMs: number;
  #tookMs: readonly number[] = [];
  #excessMs = 0;

  /** `windowMs`: how long the upstream keeps messages. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /**
   * By how much the next call may exceed the tolerance, in milliseconds; 0 while calls are fast. It may be as
   * slow as the last one or the second slowest: one slow call among ten is an accident. It counts as half a
   * window at most, because polls do not overlap.
   */
  get excessMs(): number {
    return this.#excessMs;
  }

  observe({ startedAt, answeredAt }: CallTimes): void {
    const tookMs = answeredAt - startedAt;
    this.#tookMs = [...this.#tookMs, tookMs].slice(-REMEMBERED);
    const [, second = 0] = this.#tookMs.toSorted((one, other) => other - one);
    const slowMs = Math.min(this.#windowMs / 2, Math.max(second, tookMs));
    this.#excessMs = Math.max(0, slowMs - TOLERANCE * this.#windowMs);
  }
}
