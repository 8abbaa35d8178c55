/**
 * Notices when a live chat is quiet for so long that its token may be dead: some tokens bring nothing,
 * without an error, from some moment on or from the first poll. Then it is worth loading a fresh page, but
 * not often.
 */

/** How long a lively chat may be quiet before a fresh page is loaded, in milliseconds. */
export const QUIET_AFTER_MS = 60_000;
/** A chat that has brought nothing yet may be quiet for this multiple of `quietMs`. */
const UNPROVED_FACTOR = 10;
/** Maximum wait, which doubles while pages bring nothing new. */
const MAX_QUIET_MS = 30 * 60_000;
/** The chat counts as quiet after this multiple of `quietMs`. */
const QUIET_FACTOR = 2;
/** Minimum number of empty polls: a slow interval alone does not make a chat quiet. */
const MIN_EMPTY_POLLS = 20;

export class QuietChat {
  readonly #quietMs: number;
  #waitMs: number;
  #emptyPolls = 0;
  /** When something new last came, a page was last requested, or reading began. */
  #since: number;
  /** When something new last came, or reading began. */
  #newAt: number;

  constructor(quietMs: number, now: number) {
    this.#quietMs = quietMs;
    this.#waitMs = UNPROVED_FACTOR * quietMs;
    this.#since = now;
    this.#newAt = now;
  }

  /** An answer brought `added` new messages. */
  observe(added: number, now: number): void {
    this.#emptyPolls += 1;
    if (added === 0) return;
    this.#emptyPolls = 0;
    this.#since = now;
    this.#newAt = now;
    this.#waitMs = this.#quietMs;
  }

  /** Whether nothing new has come for minutes. */
  isQuiet(now: number): boolean {
    return now - this.#newAt >= QUIET_FACTOR * this.#quietMs;
  }

  /** Whether to load a fresh page now. */
  isDue(now: number): boolean {
    return this.#emptyPolls >= MIN_EMPTY_POLLS && now - this.#since >= this.#waitMs;
  }

  /** A page was requested: the next one is due after twice the wait. */
  pageAsked(now: number): void {
    this.#emptyPolls = 0;
    this.#since = now;
    this.#waitMs = Math.min(MAX_QUIET_MS, 2 * this.#waitMs);
  }
}
