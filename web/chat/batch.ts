/**
 * Collects what comes and hands it on together, so that a busy chat costs one layout for many messages, but not so
 * many at once that a click has to wait. It waits by a timer and not for an animation frame, which a hidden page
 * never gets.
 */

/** Short enough to look immediate. */
const WAIT_MS = 100;
/** At once: some milliseconds' work. */
const MAX_AT_ONCE = 40;
/** What waits is bounded, too, where timers are throttled. */
const MAX_WAITING = 500;

export class Batch<Item> {
  readonly #handle: (items: Item[]) => void;
  readonly #waiting: Item[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(handle: (items: Item[]) => void) {
    this.#handle = handle;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= MAX_WAITING) this.#handOn(MAX_AT_ONCE);
    else this.#timer ??= setTimeout(() => this.#handOn(MAX_AT_ONCE), WAIT_MS);
  }

  /** Hands on all that waits. */
  flush(): void {
    this.#handOn(MAX_WAITING);
  }

  #handOn(most: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const items = this.#waiting.splice(0, most);
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#handOn(MAX_AT_ONCE));
    if (items.length > 0) this.#handle(items);
  }
}
