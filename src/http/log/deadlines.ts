/**
 * Ends connections that may stay open for a time, all for the same time: the first to come is the
 * first to end, so one timer is enough for any number of them.
 */
import type { Clock } from "../../clock.ts";

interface Waiting {
  readonly dueAt: number;
  readonly end: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #ms: number;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  #isRunning = false;

  readonly #stopped: AbortSignal;

  /** `ms`: how long a connection may stay open. */
  constructor(clock: Clock, ms: number, stopped: AbortSignal) {
    this.#clock = clock;
    this.#ms = ms;
    this.#stopped = stopped;
  }

  /** Calls `end` when the time is over, unless the result is called before. */
  add(end: () => void): () => void {
    const waiting = { dueAt: this.#clock.monotonic() + this.#ms, end };
    this.#waiting.add(waiting);
    if (!this.#isRunning) void this.#run();
    return () => void this.#waiting.delete(waiting);
  }

  /** Until nobody waits any more. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next && !this.#stopped.aborted; next = this.#next()) {
      const leftMs = next.dueAt - this.#clock.monotonic();
      if (leftMs > 0) await this.#clock.sleep(leftMs, this.#stopped).catch(() => {});
      else {
        this.#waiting.delete(next);
        next.end();
      }
    }
    this.#isRunning = false;
  }

  #next(): Waiting | undefined {
    return this.#waiting.values().next().value;
  }
}
