/**
 * Notices when an answer comes so late (after a restart, a cooldown, a store that failed) that something may be
 * missing in it: the upstream holds the last ten seconds of a live chat, its page the newest messages whatever their age.
 */

/** How much later than its interval an answer may come, in milliseconds: half of what the upstream holds. */
export const OVERDUE_MS = 5000;
/** A page costs a call: a room that is late for want of calls must not ask for more of them each time. */
const PAGE_INTERVAL_MS = 60_000;

export class Lateness {
  readonly #overdueMs: number;
  /** When the last answer came, that of a page included. */
  #answeredAt: number;
  #pageAskedAt = Number.NEGATIVE_INFINITY;

  constructor(overdueMs: number, answeredAt: number) {
    this.#overdueMs = overdueMs;
    this.#answeredAt = answeredAt;
  }

  /** An answer came. By how many milliseconds it was late, where its page is to be asked for; else undefined. */
  observe(now: number, intervalMs: number): number | undefined {
    const lateMs = now - this.#answeredAt - intervalMs;
    this.#answeredAt = now;
    if (lateMs < this.#overdueMs || now - this.#pageAskedAt < PAGE_INTERVAL_MS) return undefined;
    this.#pageAskedAt = now;
    return lateMs;
  }
}
