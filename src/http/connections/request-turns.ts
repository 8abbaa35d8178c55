/**
 * The turns in which requests are served: `atOnce` at a time, and `waiting` more in line, which hold little.
 * Any further one is refused with CAPACITY.
 */
import { Semaphore } from "../../base/semaphore.ts";
import { atCapacity, type CapacityCause } from "../../protocol/capacity.ts";
import type { RequestBound } from "../route-bounds.ts";

export class RequestTurns {
  readonly #most: number;
  readonly #refusedFor: CapacityCause;
  readonly #turns: Semaphore;
  #accepted = 0;

  /** `refusedFor`: why further requests are refused. */
  constructor({ atOnce, waiting }: RequestBound, refusedFor: CapacityCause) {
    this.#most = atOnce + waiting;
    this.#refusedFor = refusedFor;
    this.#turns = new Semaphore(atOnce);
  }

  /** Runs the work of a request, some of it in a turn, or throws `RelayError` CAPACITY: the line is full. */
  async accept<T>(work: () => Promise<T>): Promise<T> {
    if (this.#accepted >= this.#most) throw atCapacity(this.#refusedFor);
    this.#accepted += 1;
    try {
      return await work();
    } finally {
      this.#accepted -= 1;
    }
  }

  /** Runs work of an accepted request when its turn comes. Rejects also with the signal's reason. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(work, signal);
  }

  /** Accepts a request, and serves it in one turn. */
  serve<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.accept(() => this.run(work, signal));
  }
}
