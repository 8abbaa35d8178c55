/**
 * Ends connections when their tokens expire. Tokens name times in seconds, so one check per second is enough
 * for any number of connections.
 */
import { pause } from "../../base/clock.ts";
import { background, type LoopParts } from "../../telemetry/background.ts";

const SECOND_MS = 1000;

interface Connection {
  end(): void;
}

export class Expiries {
  readonly #parts: LoopParts;
  readonly #stopped: AbortSignal;
  /** By the second at which their tokens have expired. */
  readonly #connections = new Map<number, Set<Connection>>();
  #isRunning = false;

  constructor(parts: LoopParts, stopped: AbortSignal) {
    this.#parts = parts;
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
    if (!this.#isRunning) void background("ends of tokens", this.#parts, this.#stopped, () => this.#run());
    return () => {
      others.delete(connection);
      if (others.size === 0 && this.#connections.get(second) === others) this.#connections.delete(second);
    };
  }

  /** Until nobody waits any more. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#connections.size > 0 && !this.#stopped.aborted) {
      const untilNextMs = SECOND_MS - (this.#parts.clock.now() % SECOND_MS);
      await pause(this.#parts.clock, untilNextMs, this.#stopped);
      const now = this.#second();
      for (const [second, due] of this.#connections) {
        if (second > now) continue;
        for (const connection of due) {
          due.delete(connection); // so that one whose end fails does not keep the others
          connection.end();
        }
        this.#connections.delete(second);
      }
    }
    this.#isRunning = false;
  }

  #second(): number {
    return Math.floor(this.#parts.clock.now() / SECOND_MS);
  }
}
