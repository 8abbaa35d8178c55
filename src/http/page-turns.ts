/**
 * The turns in which pages of stored messages are made, whatever route they are of: a few at a time, and the
 * requests that wait for theirs hold no messages.
 */
import { Semaphore } from "../base/semaphore.ts";
import { callsAtOnce } from "./calls-at-once.ts";

const PAGES_AT_ONCE = 4;
const MOST_WAITING = 500;

export class PageTurns {
  /** Runs the work of a request. Throws `RelayError` CAPACITY while too many wait. */
  readonly admit = callsAtOnce(PAGES_AT_ONCE + MOST_WAITING, "pages");
  readonly #turns = new Semaphore(PAGES_AT_ONCE);

  /** Makes one page when its turn comes. Settles as `make` does; rejects with the signal's reason. */
  run<T>(make: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(make, signal);
  }
}
