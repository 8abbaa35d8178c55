/**
 * Collects messages and delivers them in batches: a busy chat costs one layout per batch, and a batch is
 * small enough not to delay a click. It uses a timer instead of an animation frame because a hidden page gets
 * no animation frames.
 */

/** The pause between two batches: looks immediate to a reader. */
const WAIT_MS = 100;
/** Maximum messages per batch: a few milliseconds of work. */
const MAX_AT_ONCE = 40;
/** Maximum messages waiting, for pages whose timers the browser throttles. */
const MAX_WAITING = 500;

export class Batch<Item> {
  readonly #handle: (items: Item[]) => void;
  readonly #waiting: Item[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #handedOnAt = Number.NEGATIVE_INFINITY;

  constructor(handle: (items: Item[]) => void) {
    this.#handle = handle;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= MAX_WAITING) this.#handOn(MAX_AT_ONCE);
    else if (this.#timer === undefined) {
      const waitMs = Math.max(0, this.#handedOnAt + WAIT_MS - performance.now());
      this.#timer = setTimeout(() => this.#handOn(MAX_AT_ONCE), waitMs);
    }
  }

  /** Delivers everything that waits. */
  flush(): void {
    this.#handOn(MAX_WAITING);
  }

  #handOn(most: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#handedOnAt = performance.now();
    const items = this.#waiting.splice(0, most);
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#handOn(MAX_AT_ONCE));
    if (items.length > 0) this.#handle(items);
  }
}
