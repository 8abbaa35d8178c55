/** Lets a screen reader announce new rows only while they arrive slowly enough to be heard. */

const WINDOW_MS = 3000;
const MAX_PER_SECOND = 2;

export class LiveRegion {
  readonly #log: HTMLElement;
  #arrivals: number[] = [];
  #quietFrom = Number.POSITIVE_INFINITY;

  constructor(log: HTMLElement) {
    this.#log = log;
    setInterval(() => this.#update(), 500);
  }

  /** A backfill begins: its rows are not announced. */
  opened(): void {
    this.#quietFrom = performance.now() + WINDOW_MS;
    this.#update();
  }

  came(count: number): void {
    const now = performance.now();
    for (let each = 0; each < Math.min(count, 100); each += 1) this.#arrivals.push(now);
    this.#update();
  }

  #update(): void {
    const now = performance.now();
    this.#arrivals = this.#arrivals.filter((at) => at > now - WINDOW_MS);
    const isSlow = this.#arrivals.length <= (MAX_PER_SECOND * WINDOW_MS) / 1000;
    const live = isSlow && now >= this.#quietFrom ? "polite" : "off";
    if (this.#log.getAttribute("aria-live") !== live) this.#log.setAttribute("aria-live", live);
  }
}
