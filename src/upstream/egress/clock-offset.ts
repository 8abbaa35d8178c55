/**
 * Estimates the offset of the database's clock, as NTP does: each answer carries the database's time at some
 * moment between request and answer, and so bounds the offset. All bounds together are narrower than the
 * quickest round trip, and their middle is exact if both ways take equally long. So all instances agree on a
 * moment regardless of their distance from the database, and an answer that was delayed on either way does
 * not mislead.
 */

/** Maximum rate at which clocks are adjusted (NTP's 500 ppm), in milliseconds per millisecond. */
const DRIFT = 0.0005;

export class ClockOffset {
  /** Bounds of the offset to the local monotonic clock, in milliseconds. */
  #minMs = Number.POSITIVE_INFINITY;
  #maxMs = Number.NEGATIVE_INFINITY;
  #observedAt = 0;

  /**
   * Adds a measurement: the database's clock showed `time` at some moment between the two. Returns false for
   * the first, and for one that contradicts the earlier ones: it replaces them, and may mislead.
   */
  observe(time: number, sentAt: number, receivedAt: number): boolean {
    const driftMs = (receivedAt - this.#observedAt) * DRIFT;
    const minMs = Math.max(this.#minMs - driftMs, time - receivedAt);
    const maxMs = Math.min(this.#maxMs + driftMs, time - sentAt);
    const agrees = minMs <= maxMs;
    this.#minMs = agrees ? minMs : time - receivedAt;
    this.#maxMs = agrees ? maxMs : time - sentAt;
    this.#observedAt = receivedAt;
    return agrees;
  }

  /** The width of the bounds, in milliseconds: no more than the last round trip; 0 before the first. */
  get roundTripMs(): number {
    return Math.max(0, this.#maxMs - this.#minMs);
  }

  /** The moment at which the database's clock shows that time, on the local monotonic clock. */
  localTimeOf(time: number): number {
    return time - (this.#minMs + this.#maxMs) / 2;
  }
}
