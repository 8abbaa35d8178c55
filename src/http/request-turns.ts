/** The turns in which requests are served: a few at a time, and those that wait for theirs hold little. */
import { Semaphore } from "../base/semaphore.ts";
import type { FullCause } from "../protocol/capacity.ts";
import { callsAtOnce } from "./calls-at-once.ts";
import type { RequestBound } from "./route-bounds.ts";

export class RequestTurns {
  /** Runs the work of a request, some of it in a turn. Throws `RelayError` CAPACITY while too many wait. */
  readonly admit: ReturnType<typeof callsAtOnce>;
  readonly #turns: Semaphore;

  constructor({ atOnce, waiting }: RequestBound, full: FullCause) {
    this.admit = callsAtOnce(atOnce + waiting, full);
    this.#turns = new Semaphore(atOnce);
  }

  /** Runs work of an admitted request when its turn comes. Rejects also with the signal's reason. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(work, signal);
  }

  /** Admits a request, and serves it in one turn. */
  serve<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.admit(() => this.run(work, signal));
  }
}
