/**
 * Readers of `/v1/log` that poll are not in their room between an answer and their next request. They count
 * as viewers for some seconds nevertheless, so that a crowd that polls keeps its room open, and one that has
 * left does not.
 */

/** How long a reader is expected back, in seconds. */
const BACK_WITHIN_S = 10;

export class PollingReaders {
  /** The numbers of readers by the second of their answers, the earliest first: a dozen entries at most. */
  readonly #answered = new Map<number, number>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** A reader was answered. `now`: milliseconds on a monotonic clock. */
  answered(now: number): void {
    const second = Math.floor(now / 1000);
    this.#answered.set(second, (this.#answered.get(second) ?? 0) + 1);
    this.#count += 1;
  }

  /** A reader asks: the one that was answered first, as far as the room can know, is back. */
  asked(): void {
    const [second, readers = 0] = this.#answered.entries().next().value ?? [];
    if (second === undefined) return;
    if (readers > 1) this.#answered.set(second, readers - 1);
    else this.#answered.delete(second);
    this.#count -= 1;
  }

  /** Forgets the readers that have not come back. Returns whether there were any. Call it once a second. */
  expire(now: number): boolean {
    const before = this.#count;
    for (const [second, readers] of this.#answered) {
      if (now / 1000 - second < BACK_WITHIN_S) break;
      this.#answered.delete(second);
      this.#count -= readers;
    }
    return this.#count < before;
  }
}
