/**
 * Ends connections when their tokens expire. Tokens name whole seconds, so one check per second is enough for
 * any number of connections.
 */
import { type Clock, pause } from "../../base/clock.ts";

const SECOND_MS = 1000;

interface Connection {
  end(): void;
}

export class Expiries {
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  /** By the second at which their tokens have expired. */
  readonly #connections = new Map<number, Set<Connection>>();
  #isRunning = false;

  constructor(clock: Clock, stopped: AbortSignal) {
    this.#clock = clock;
    this.#stopped = stopped;
  }

  /**
   * Ends the connection at this wall time, in milliseconds, unless the result is called before. The opening
   * of a chat may have taken longer than the token was valid: then the connection ends within a second.
   */
  add(connection: Connection, expiresAt: number): () => void {
    const second = Math.max(Math.ceil(expiresAt / SECOND_MS), this.#second());
    const others = this.#connections.getOrInsertComputed(second, () => new Set());
    others.add(connection);
    if (!this.#isRunning) void this.#run();
    return () => {
      others.delete(connection);
      if (others.size === 0 && this.#connections.get(second) === others) this.#connections.delete(second);
    };
  }

  /** Until nobody waits any more. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#connections.size > 0 && !this.#stopped.aborted) {
      const untilNextMs = SECOND_MS - (this.#clock.now() % SECOND_MS);
      await pause(this.#clock, untilNextMs, this.#stopped);
      const now = this.#second();
      for (const [second, due] of this.#connections) {
        if (second > now) continue;
        this.#connections.delete(second);
        for (const connection of due) connection.end();
      }
    }
    this.#isRunning = false;
  }

  #second(): number {
    return Math.floor(this.#clock.now() / SECOND_MS);
  }
}
