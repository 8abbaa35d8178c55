/**
 * Estimates the clock of the place where instances reserve their calls. Each answer carries the place's time
 * at some moment between request and answer, and so bounds its clock. All bounds together are narrower than
 * the quickest round trip, and their middle is exact if both ways take equally long. So all instances agree
 * on a moment regardless of their distance from the place, and an answer that was delayed on either way does
 * not mislead.
 */

/** Maximum rate at which clocks are adjusted (NTP's 500 ppm), in milliseconds per millisecond. */
const DRIFT = 0.0005;

export class PlaceClock {
  /** Bounds of its lead over the local monotonic clock, in milliseconds. */
  #minLead = Number.POSITIVE_INFINITY;
  #maxLead = Number.NEGATIVE_INFINITY;
  #observedAt = 0;

  /**
   * Adds a measurement: the place showed `time` at some moment between the two. Returns false for the
   * first, and for one that contradicts the earlier ones: it replaces them, and may mislead.
   */
  observe(time: number, sentAt: number, receivedAt: number): boolean {
    const driftMs = (receivedAt - this.#observedAt) * DRIFT;
    const minLead = Math.max(this.#minLead - driftMs, time - receivedAt);
    const maxLead = Math.min(this.#maxLead + driftMs, time - sentAt);
    const agrees = minLead <= maxLead;
    this.#minLead = agrees ? minLead : time - receivedAt;
    this.#maxLead = agrees ? maxLead : time - sentAt;
    this.#observedAt = receivedAt;
    return agrees;
  }

  /** Minimum duration of request and answer, in milliseconds; 0 before the first. */
  get roundTripMs(): number {
    return Math.max(0, this.#maxLead - this.#minLead);
  }

  /** The moment at which the place shows that time, on the local monotonic clock. */
  localTimeOf(time: number): number {
    return time - (this.#minLead + this.#maxLead) / 2;
  }
}
