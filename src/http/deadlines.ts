/**
 * Ends connections that may stay open for a time, all for the same time: the first to come is the first to
 * end, so one timer is enough for any number of them.
 */
import type { Clock } from "../base/clock.ts";

interface Ending {
  end(): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #stopped: AbortSignal;
  /** When each is due, on the monotonic clock, in the order in which they came. */
  readonly #dueAt = new Map<Ending, number>();
  #isRunning = false;

  /** `ms`: how long a connection may stay open. */
  constructor(clock: Clock, ms: number, stopped: AbortSignal) {
    this.#clock = clock;
    this.#ms = ms;
    this.#stopped = stopped;
  }

  /** Ends the connection when its time is over, unless it is deleted before. */
  add(connection: Ending): void {
    this.#dueAt.set(connection, this.#clock.monotonic() + this.#ms);
    if (!this.#isRunning) void this.#run();
  }

  delete(connection: Ending): void {
    this.#dueAt.delete(connection);
  }

  /** Until nobody waits any more. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next && !this.#stopped.aborted; next = this.#next()) {
      const [connection, dueAt] = next;
      const leftMs = dueAt - this.#clock.monotonic();
      if (leftMs > 0) await this.#clock.sleep(leftMs, this.#stopped).catch(() => {});
      else {
        this.#dueAt.delete(connection);
        connection.end();
      }
    }
    this.#isRunning = false;
  }

  #next(): [Ending, number] | undefined {
    return this.#dueAt.entries().next().value;
  }
}
