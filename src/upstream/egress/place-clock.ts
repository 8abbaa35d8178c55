/**
 * Estimates the clock of the place where instances reserve their calls. Each answer carries the place's time
 * at some moment between request and answer. The intersection of all these intervals is narrower than the
 * quickest answer, and its middle is exact if both ways take equally long. So all instances agree on a moment
 * regardless of their distance from the place, and an answer that was delayed on either way does not mislead.
 */

/** Maximum rate at which clocks are adjusted (NTP's 500 ppm), in milliseconds per millisecond. */
const DRIFT = 0.0005;

export class PlaceClock {
  /** Bounds of its lead over the local monotonic clock, in milliseconds. */
  #least = Number.POSITIVE_INFINITY;
  #most = Number.NEGATIVE_INFINITY;
  #heardAt = 0;

  /**
   * Adds a measurement: the place showed `time` at some moment between the two. Returns false if that
   * contradicts the earlier ones, and for the first: then this one replaces them, and may mislead.
   */
  heard(time: number, sentAt: number, receivedAt: number): boolean {
    const driftMs = (receivedAt - this.#heardAt) * DRIFT;
    const least = Math.max(this.#least - driftMs, time - receivedAt);
    const most = Math.min(this.#most + driftMs, time - sentAt);
    const agrees = least <= most;
    this.#least = agrees ? least : time - receivedAt;
    this.#most = agrees ? most : time - sentAt;
    this.#heardAt = receivedAt;
    return agrees;
  }

  /** Minimum duration of request and answer, in milliseconds; 0 before the first. */
  get tripMs(): number {
    return Math.max(0, this.#most - this.#least);
  }

  /** The moment at which the place shows that time, on the local monotonic clock. */
  whenItShows(time: number): number {
    return time - (this.#least + this.#most) / 2;
  }
}
