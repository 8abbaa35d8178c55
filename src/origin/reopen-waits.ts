/**
 * The waits before a stream of the origin is opened again: each is random, because the streams of all rooms
 * and channels break together, but at least as long as the origin has asked for, up to 30 s.
 */

import { type Clock, pause } from "../base/clock.ts";
import { backoffMs } from "../base/retry.ts";
import { RelayError } from "../protocol/errors.ts";

const WAITS = { firstMs: 500, maxMs: 5000 };
/** Maximum wait that the origin can ask for. */
const MAX_RETRY_AFTER_MS = 30_000;

export class ReopenWaits {
  readonly #clock: Clock;
  #tries = 0;
  #leastMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Waits: until `opened` is called, each time up to twice as long as before. Resolves early if the signal
   * aborts.
   */
  async next(signal: AbortSignal): Promise<void> {
    const ms = Math.max(this.#leastMs, backoffMs(WAITS, this.#tries++) * this.#clock.random());
    this.#leastMs = 0;
    await pause(this.#clock, ms, signal);
  }

  /** The stream was opened, so the next wait is a short one. */
  opened(): void {
    this.#tries = 0;
  }

  /** The stream could not be opened, or broke. */
  failed(error: unknown): void {
    const retryAfterMs = error instanceof RelayError ? error.retryAfterMs : undefined;
    this.#leastMs = Math.min(MAX_RETRY_AFTER_MS, retryAfterMs ?? 0);
  }
}
