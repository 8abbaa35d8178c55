/**
 * The pause after throttling: as long as the upstream asks for, else doubled each time that throttling
 * continues. The doubling restarts once the throttled kind of call succeeds, or after as much time without
 * throttling as the last pause took.
 */

import type { Clock } from "../../base/clock.ts";
import { type BackoffWaits, backoffMs } from "../../base/retry.ts";

/** The longest pause that doubling reaches. */
const MAX_COOLDOWN_MS = 10 * 60_000;
/** A longer `Retry-After` counts as a mistake: the service must recover by itself. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Two reports of one pause may differ by this much. */
const SAME_PAUSE_MS = 100;

/** A call that was throttled. */
interface Throttled {
  kind: string;
  /** On the monotonic clock. */
  startedAt: number;
  retryAfterMs: number | undefined;
}

export class Cooldown {
  readonly #clock: Clock;
  readonly #waits: BackoffWaits;
  #beganAt = Number.NEGATIVE_INFINITY;
  #until = Number.NEGATIVE_INFINITY;
  #count = 0;
  #kind: string | undefined;

  /** `firstMs`: the first pause if the upstream asks for none. */
  constructor(clock: Clock, firstMs: number) {
    this.#clock = clock;
    this.#waits = { firstMs, maxMs: MAX_COOLDOWN_MS };
  }

  /** The end of the pause, on the monotonic clock. */
  get until(): number {
    return this.#until;
  }

  /** A call of this kind succeeded. */
  succeeded(kind: string): void {
    if (kind === this.#kind) this.#count = 0;
  }

  /** Returns whether this began or extended the pause. */
  extend({ kind, startedAt, retryAfterMs }: Throttled): boolean {
    const now = this.#clock.monotonic();
    // Calls that were in flight together report the same throttling: a later one counts only if it names a
    // wait.
    const goesOn = startedAt >= this.#beganAt;
    if (!goesOn && retryAfterMs === undefined) return false;
    if (now - this.#until > this.#until - this.#beganAt) this.#count = 0;
    const doubled = backoffMs(this.#waits, this.#count);
    const until = now + (retryAfterMs === undefined ? doubled : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
    if (goesOn) {
      this.#count += 1;
      this.#beganAt = now;
      this.#kind = kind;
    }
    if (until <= this.#until) return false;
    this.#until = until;
    return true;
  }

  /** Adopts the rest of another instance's pause. Returns whether this began or extended the pause. */
  adopt(leftMs: number): boolean {
    const until = this.#clock.monotonic() + leftMs;
    if (leftMs <= 0 || until <= this.#until + SAME_PAUSE_MS) return false;
    this.#until = until;
    return true;
  }
}
