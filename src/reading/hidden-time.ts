/**
 * How long a chat has been hidden. A chat that is hidden for too long is over for good, so the upstream's
 * clock decides: that of the service or its store may be wrong by years at any start.
 */
import type { ClockWitness } from "../base/clock-witness.ts";

export class HiddenTime {
  readonly #witness: Pick<ClockWitness, "now">;
  readonly #hiddenMs: number;

  /** `hiddenMs`: how long a chat may be hidden before it counts as over, in milliseconds. */
  constructor(witness: Pick<ClockWitness, "now">, hiddenMs: number) {
    this.#witness = witness;
    this.#hiddenMs = hiddenMs;
  }

  /** The upstream's wall milliseconds; those of the service if the upstream does not send its own. */
  get upstreamNow(): number {
    return this.#witness.now;
  }

  /**
   * Whether a chat that was last seen not to be hidden at this time is over. It is not if the time is not
   * known.
   */
  isTooLong(notHiddenAt: number | undefined): boolean {
    return notHiddenAt !== undefined && this.upstreamNow - notHiddenAt >= this.#hiddenMs;
  }
}
