/**
 * Notices when a live chat stays silent for so long that its token may be dead: there are tokens that bring nothing,
 * without an error, from some moment on or from the first poll. Then a fresh page is worth a call, but not many.
 */

/** How long a lively chat may stay silent before a fresh page is asked for, in milliseconds. */
export const QUIET_AFTER_MS = 60_000;
/** A chat that brought nothing yet may be silent for so many times as long. */
const UNPROVED_FACTOR = 10;
/** The wait doubles up to this while pages bring nothing new. */
const MAX_QUIET_MS = 30 * 60_000;
/** The chat counts as quiet after this multiple of `quietMs`. */
const QUIET_FACTOR = 2;
/** A slow interval alone does not make a chat silent. */
const MIN_EMPTY_POLLS = 20;

export class QuietChat {
  readonly #quietMs: number;
  #waitMs: number;
  #emptyPolls = 0;
  /** When something new last came, a page was last asked for, or the reading began. */
  #since: number;
  /** When something new last came, or the reading began. */
  #newAt: number;

  constructor(quietMs: number, now: number) {
    this.#quietMs = quietMs;
    this.#waitMs = UNPROVED_FACTOR * quietMs;
    this.#since = now;
    this.#newAt = now;
  }

  /** An answer brought so many new messages. */
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

  /** Whether to ask for a fresh page now. */
  isDue(now: number): boolean {
    return this.#emptyPolls >= MIN_EMPTY_POLLS && now - this.#since >= this.#waitMs;
  }

  /** A page was asked for: the next one is due after twice the wait. */
  pageAsked(now: number): void {
    this.#emptyPolls = 0;
    this.#since = now;
    this.#waitMs = Math.min(MAX_QUIET_MS, 2 * this.#waitMs);
  }
}
