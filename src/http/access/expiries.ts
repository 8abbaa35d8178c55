/**
 * Ends connections when their tokens expire. Tokens name whole seconds, so one look a second at the
 * connections of that second is enough for any number of them.
 */
import type { Clock } from "../../base/clock.ts";

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
    for (let past = this.#second(); this.#connections.size > 0 && !this.#stopped.aborted; ) {
      const untilNextMs = SECOND_MS - (this.#clock.now() % SECOND_MS);
      await this.#clock.sleep(untilNextMs, this.#stopped).catch(() => {});
      const now = this.#second();
      // A clock that was set ahead by years has passed more seconds than there are connections.
      const due =
        now - past > this.#connections.size
          ? this.#connections.keys().filter((at) => at <= now)
          : seconds(past, now);
      for (const second of [...due]) this.#end(second);
      past = now;
    }
    this.#isRunning = false;
  }

  #second(): number {
    return Math.floor(this.#clock.now() / SECOND_MS);
  }

  #end(second: number): void {
    const due = this.#connections.get(second) ?? [];
    this.#connections.delete(second);
    for (const connection of due) connection.end();
  }
}

/** The whole numbers from the first to the last. */
function* seconds(first: number, last: number): Generator<number> {
  for (let second = first; second <= last; second++) yield second;
}
