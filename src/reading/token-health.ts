/**
 * Suspects the token of a live chat: some tokens bring nothing, without an error, from some moment on or from
 * the first poll. Then it is worth loading a fresh page, but not often: the chat may only be quiet.
 */
import { backoffMs } from "../base/retry.ts";

/** How long the token of a lively chat may bring nothing before it is suspected, in milliseconds. */
export const SUSPECT_AFTER_MS = 60_000;
/** A token that has brought nothing yet has this multiple of `suspectMs`. */
const UNPROVED_FACTOR = 10;
/** Maximum wait, which doubles while pages bring nothing new. */
const MAX_WAIT_MS = 30 * 60_000;
/** The chat counts as quiet after this multiple of `suspectMs`. */
const QUIET_FACTOR = 2;
/** Minimum number of empty polls: a slow interval alone makes no token suspect. */
const MIN_EMPTY_POLLS = 20;

export class TokenHealth {
  readonly #suspectMs: number;
  /** How long it may bring nothing before the first page is loaded, and the pages loaded since. */
  #firstMs: number;
  #pages = 0;
  #emptyPolls = 0;
  /** When something new last came, a page was last requested, or reading began. */
  #since: number;
  /** When something new last came, or reading began. */
  #newAt: number;

  constructor(suspectMs: number, now: number) {
    this.#suspectMs = suspectMs;
    this.#firstMs = UNPROVED_FACTOR * suspectMs;
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
    this.#firstMs = this.#suspectMs;
    this.#pages = 0;
  }

  /** Whether nothing new has come for minutes. */
  isQuiet(now: number): boolean {
    return now - this.#newAt >= QUIET_FACTOR * this.#suspectMs;
  }

  /** Whether the token may be dead, so that a fresh page should be loaded now. */
  isSuspect(now: number): boolean {
    const waitMs = backoffMs({ firstMs: this.#firstMs, maxMs: MAX_WAIT_MS }, this.#pages);
    return this.#emptyPolls >= MIN_EMPTY_POLLS && now - this.#since >= waitMs;
  }

  /** A page was requested: the token is suspected again after twice the wait. */
  pageAsked(now: number): void {
    this.#emptyPolls = 0;
    this.#since = now;
    this.#pages += 1;
  }
}
