/** Statistics of one process's readers: the faults by kind, and the measured times. */
import { Delays } from "./delays.ts";

export class LoadStats {
  /** From the call to the init frame. */
  readonly openings = new Delays();
  /** From a message being said upstream to its reader having it; of readers that ask for details alone. */
  readonly deliveries = new Delays();
  readonly #faults = new Map<string, number>();

  /** Something that must not happen, in words without figures, so that equal ones add up. */
  fault(what: string): void {
    this.#faults.set(what, (this.#faults.get(what) ?? 0) + 1);
  }

  get faults(): Record<string, number> {
    return Object.fromEntries(this.#faults);
  }
}
