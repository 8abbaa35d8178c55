/** The cursors that live answers of a log carry for caches (Durable Streams protocol, section 10.1). */
import type { Clock } from "../base/clock.ts";

/** The protocol's epoch for cursors, and the length of an interval. */
const EPOCH_MS = Date.UTC(2024, 9, 9);
const INTERVAL_MS = 20_000;
/** Connections share events, with the cursors in them, for a second; on a busy machine, for longer. */
const SHARED_MS = INTERVAL_MS / 2;
/** How far a cursor is put ahead of the client's own, at most, in seconds. */
const MAX_JITTER_S = 3600;
/**
 * A longer number, which no service gives out, counts as none: each power of two is a form of events of its
 * own, and a client must not choose among more than some seventy.
 */
export const MAX_CURSOR_DIGITS = 20;
const CURSOR = new RegExp(`^\\d{1,${MAX_CURSOR_DIGITS}}$`);

/**
 * A cursor is the number of the current interval, or a higher one, beyond the client's own: a `bigint`, as
 * that may be long. All clients that come with the same cursor in one interval get the same, so that they go
 * on sharing their requests.
 */
export class CacheCursors {
  readonly #clock: Pick<Clock, "now" | "random">;
  #jitter = { interval: -1n, intervals: 1n };

  constructor(clock: Pick<Clock, "now" | "random">) {
    this.#clock = clock;
  }

  current(): bigint {
    return this.#agoBy(0);
  }

  /** The current cursor of that many milliseconds ago. */
  #agoBy(ms: number): bigint {
    return BigInt(Math.floor((this.#clock.now() - ms - EPOCH_MS) / INTERVAL_MS));
  }

  /** The lowest cursor for a client that came with this one; 0 if any will do. */
  minFor(sent: string | undefined): bigint {
    const own = ownCursor(sent);
    return own < this.current() ? 0n : own + this.#jitterNow();
  }

  /**
   * How far the cursors of a connection with events are ahead of the current one, in intervals: 0, or the
   * first power of two that leads beyond the client's own. So whatever clients send, few bytes differ. An
   * event may have been made for another connection, just before the current interval began.
   */
  stepFor(sent: string | undefined): bigint {
    const ahead = ownCursor(sent) - this.#agoBy(SHARED_MS);
    if (ahead < 0n) return 0n;
    let step = 1n;
    while (step <= ahead) step *= 2n;
    return step;
  }

  /** How far the cursor of a client is put ahead in the current interval, in intervals. */
  #jitterNow(): bigint {
    const interval = this.current();
    if (this.#jitter.interval !== interval) {
      const aheadMs = 1000 * (1 + Math.floor(this.#clock.random() * MAX_JITTER_S));
      this.#jitter = { interval, intervals: BigInt(Math.max(1, Math.floor(aheadMs / INTERVAL_MS))) };
    }
    return this.#jitter.intervals;
  }
}

/** The cursor that a client came with; -1 if it has none. */
function ownCursor(sent: string | undefined): bigint {
  return sent !== undefined && CURSOR.test(sent) ? BigInt(sent) : -1n;
}
