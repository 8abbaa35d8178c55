/**
 * Whether the store works, as the operations on it tell. Every room tries again by itself, so one line tells of all
 * their failures: when they begin, once a minute while they last, and when the store works again.
 */
import type { Clock } from "../clock.ts";
import type { Logger } from "./log.ts";

/** From one error line to the next: also where the store fails and works by turns, as at the edge of a full disk. */
const REMIND_MS = 60_000;

/** What succeeds only if the store takes writes; any other success tells of its own kind alone. */
const PROOFS: ReadonlySet<string> = new Set(["append", "finish", "check"]);

export class StoreOutage {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** The operations that have failed, and not succeeded since. */
  readonly #failing = new Set<string>();
  #began = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#failing.size === 0;
  }

  /** An operation failed; `why` says what to do where that is known. */
  failed(what: string, why: string): void {
    const now = this.#clock.monotonic();
    if (this.isOver) this.#began = now;
    this.#failing.add(what);
    if (now < this.#toldAt + REMIND_MS) return;
    this.#toldAt = now;
    const forMs = Math.round(now - this.#began);
    this.#log.error(
      { what, why, forMs },
      "the store failed, see `why`: polling pauses and viewers stay connected until it works again",
    );
  }

  succeeded(what: string): void {
    if (this.isOver) return;
    if (PROOFS.has(what)) this.#failing.clear();
    else this.#failing.delete(what);
    if (!this.isOver || this.#toldAt < this.#began) return;
    this.#log.info({ awayMs: Math.round(this.#clock.monotonic() - this.#began) }, "the store works again");
  }
}
