/**
 * The time limits of connections that may stay in some state for a time, all for the same time: the first to
 * come is the first whose time is over, so one timer is enough for any number of them.
 */
import { pause } from "../../base/clock.ts";
import { background, type LoopParts } from "../../telemetry/background.ts";

export class StayLimit<Connection> {
  readonly #parts: LoopParts;
  readonly #ms: number;
  readonly #stopped: AbortSignal;
  readonly #over: (connection: Connection) => void;
  /** When each is due, on the monotonic clock, in the order in which they came. */
  readonly #dueAt = new Map<Connection, number>();
  #isRunning = false;

  /** `ms`: how long a connection may stay; `over`: called if it is not deleted by then. */
  constructor(parts: LoopParts, ms: number, stopped: AbortSignal, over: (connection: Connection) => void) {
    this.#parts = parts;
    this.#ms = ms;
    this.#stopped = stopped;
    this.#over = over;
  }

  /** Starts the connection's time, unless it runs already. */
  add(connection: Connection): void {
    if (this.#dueAt.has(connection)) return;
    this.#dueAt.set(connection, this.#parts.clock.monotonic() + this.#ms);
    if (this.#isRunning) return;
    void background("time limits of connections", this.#parts, this.#stopped, () => this.#run());
  }

  delete(connection: Connection): void {
    this.#dueAt.delete(connection);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await undefined; // the caller has added the first one, and has still to begin it
    for (let next = this.#next(); next && !this.#stopped.aborted; next = this.#next()) {
      const [connection, dueAt] = next;
      const leftMs = dueAt - this.#parts.clock.monotonic();
      if (leftMs > 0) await pause(this.#parts.clock, leftMs, this.#stopped);
      else {
        this.#dueAt.delete(connection);
        this.#over(connection);
      }
    }
    this.#isRunning = false;
  }

  #next(): [Connection, number] | undefined {
    return this.#dueAt.entries().next().value;
  }
}
