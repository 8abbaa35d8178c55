/**
 * The clock of the place where instances reserve their calls, as one of them knows it. Each answer tells what it showed
 * at some moment between question and answer. What all answers allow is narrower than the quickest of them, and its
 * middle is right where the way there takes as long as the way back: so all instances mean the same moment, however far
 * each is from the place, and an answer that was held up on either way does not mislead.
 */

/** Clocks are set right by going faster or slower by so much at most (NTP's 500 ppm), in milliseconds each. */
const DRIFT = 0.0005;

export class PlaceClock {
  /** By how much it is ahead of the monotonic clock here: at least, and at most. */
  #least = Number.POSITIVE_INFINITY;
  #most = Number.NEGATIVE_INFINITY;
  #heardAt = 0;

  /**
   * It showed `time` at some moment between the two. False where that does not agree with what was heard before, as
   * with the first: then it counts alone, and may mislead.
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

  /** How long question and answer are under way at least; 0 before the first. */
  get tripMs(): number {
    return Math.max(0, this.#most - this.#least);
  }

  /** The moment at which it shows that time, on the monotonic clock here. */
  whenItShows(time: number): number {
    return time - (this.#least + this.#most) / 2;
  }
}
