/**
 * How long the upstream has been silent for a caller: a room, or all calls of an egress. A single lost call
 * does not count: the silence is known only once the call could have been repeated.
 */
import type { Clock } from "../../base/clock.ts";

/**
 * An instance that has not reached the upstream for a room for this long gives it to another one that has
 * viewers of it.
 */
export const OUT_MS = 10_000;
/** A call that was lost has been repeated, and answered, in this time after its deadline. */
const RETRIED_MS = 1000;

export class Silence {
  readonly #clock: Clock;
  /** When the upstream last answered, or the caller last had to wait for something else. */
  #answeredAt: number;
  /** When the caller first wanted to call since then; undefined if it did not. */
  #askedAt: number | undefined;
  /**
   * When its first call since then failed before an answer began, as in a network that loses packets;
   * undefined if the last call had an answer.
   */
  #unansweredAt: number | undefined;

  /** The silence begins now. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#answeredAt = clock.monotonic();
  }

  /** Milliseconds since the last answer. Without calls, the value has no meaning. */
  get ms(): number {
    return this.#clock.monotonic() - this.#answeredAt;
  }

  /**
   * For how long the upstream has not answered a room, in milliseconds:
   * - 0 while this may be a single lost call: for its time limit, `callMs`, and a second for its repetition.
   * - The room's own silence, once a call of the room has failed.
   * - The silence of its `egress`, at most the room's own, if only calls of other rooms have failed: the
   *   room's call waits behind them.
   */
  knownBeside(egress: Silence, callMs: number): number {
    const now = this.#clock.monotonic();
    if (now < (this.#askedAt ?? now) + callMs + RETRIED_MS) return 0;
    if (this.#unansweredAt !== undefined) return this.ms;
    return egress.#unansweredAt === undefined ? 0 : Math.min(this.ms, egress.ms);
  }

  /**
   * For how long the upstream has not answered, in milliseconds; 0 while the failed calls since then may be a
   * single lost one, which is then repeated.
   */
  get knownMs(): number {
    const failedMs = this.#clock.monotonic() - (this.#unansweredAt ?? Number.POSITIVE_INFINITY);
    return failedMs < RETRIED_MS ? 0 : this.ms;
  }

  /** The caller wants to call. */
  asked(): void {
    this.#askedAt ??= this.#clock.monotonic();
  }

  /** The upstream answered, or the caller may not call for now, whatever the upstream does. */
  end(): void {
    this.#answeredAt = this.#clock.monotonic();
    this.#askedAt = undefined;
    this.#unansweredAt = undefined;
  }

  /** A call failed before an answer began. */
  unanswered(): void {
    this.#unansweredAt ??= this.#clock.monotonic();
  }

  /**
   * The caller moves from an egress that has lost the upstream. Its silence goes on, because the next egress
   * may not reach the upstream either. Test: "counts, after a move to another egress, from the first failed
   * call of the old egress".
   */
  continue(left: Silence): void {
    const now = this.#clock.monotonic();
    this.#askedAt = Math.min(this.#askedAt ?? now, left.#unansweredAt ?? now);
    this.#unansweredAt ??= now;
  }
}
