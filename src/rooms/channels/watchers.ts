/** Those who watch one channel, counted: its watch begins with the first of them, and ends with the last. */
export class Watchers {
  #count = 0;
  #signal: AbortSignal;
  readonly #closed: AbortSignal;
  readonly #onUnwatched: () => void;
  #unwatched = new AbortController();

  /** `closed` ends the watch for all of them. `onUnwatched` is called each time the last one leaves. */
  constructor(closed: AbortSignal, onUnwatched: () => void) {
    this.#signal = closed;
    this.#closed = closed;
    this.#onUnwatched = onUnwatched;
  }

  get count(): number {
    return this.#count;
  }

  /** Ends the watch that the latest first one has begun. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Adds one. Returns whether it is the first, with which a watch begins. */
  add(): boolean {
    this.#count += 1;
    if (this.#count > 1) return false;
    this.#unwatched = new AbortController();
    this.#signal = AbortSignal.any([this.#unwatched.signal, this.#closed]);
    return true;
  }

  remove(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#unwatched.abort("nobody waits");
    this.#onUnwatched();
  }
}
